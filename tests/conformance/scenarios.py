"""The scenarios of the conformance suite: what a model says, independent of how it is written and who started the run.

A script has one entry per reply of the loop: a text is the answer, `use(...)` a call, a list several calls, `BROKEN` a
reply that is cut in the middle of a call, an exception a failure. `Scene` writes them in the dialect of the run and
plays the helpers beside the loop (planner, judge, analysis, synthesis) as somebody who adds nothing of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit import add, echo
from treadle import Budget, RetryPolicy, ScriptedModel, ToolContext, ToolResponse, tool
from treadle._dialects.base import Decision
from treadle._dialects.registry import get_dialect
from treadle._engine.context import RunContext
from treadle._engine.settings import Settings
from treadle._models.scripted import to_reply
from treadle._types.errors import RequestRefusedError, TransientModelError
from treadle._types.messages import ToolCall, ToolMessage, text_of
from treadle._types.request import RawCall, Reply, Request
from treadle._types.state import CONVERSATION

QUESTION = "What is it?"
SECRET = "hunter2-not-for-you"
LOOKING, KNOWING = "I look.", "I know it."
"""The thoughts in dialects that have them."""
FORCED = "As far as I know: three."
FORCED_BY = ("final", "salvage")
"""Components that write the answer when the loop may not go on."""


class Broken:
    """A reply that is cut in the middle of a call."""


BROKEN = Broken()


class Sum(Struct, frozen=True):
    total: int


class Scenario(Struct, frozen=True):
    script: tuple[Any, ...]
    settings: dict[str, Any] = {}
    """Settings of the agent that does the work."""
    output_type: Any = None
    act: str = ""
    """What the caller does when the tool `meet` is reached: `cancel`, or a message."""


def use(name: str, /, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def busy() -> Exception:
    return TransientModelError("HTTP 503: busy", status=503)


def refused() -> Exception:
    return RequestRefusedError("HTTP 400: refused", status=400)


SCENARIOS: dict[str, Scenario] = {
    "direct answer": Scenario(("Hello.",)),
    "one call": Scenario((use("add", a=1, b=2), "It is 3.")),
    "two calls in one reply": Scenario(([use("add", a=1, b=2), use("echo", text="hi")], "3 and hi.")),
    "chain of three": Scenario((use("add", a=1, b=2), use("add", a=3, b=3), use("echo", text="6"), "It is 6.")),
    "failing tool": Scenario((use("fail"), "It failed.")),
    "unknown tool": Scenario((use("nope", x=1), "There is no such tool.")),
    "wrong arguments, then right ones": Scenario((use("add", a="x", b=2), use("add", a=1, b=2), "It is 3.")),
    "tool time-out": Scenario((use("slow"), "It took too long.")),
    "unreadable reply, then repaired": Scenario((BROKEN, use("add", a=1, b=2), "It is 3.")),
    "empty replies": Scenario(("",) * 12),
    "limit": Scenario((use("echo", text="1"), use("echo", text="2"), use("echo", text="3")), {"max_iterations": 2}),
    "budget": Scenario(
        (use("echo", text="1"), use("echo", text="2"), "never"),
        {"budget": Budget(tool_calls=1), "on_budget": "force_answer"},
    ),
    "model error, then retry": Scenario((busy, use("add", a=1, b=2), "It is 3.")),
    "permanent model error": Scenario((use("add", a=1, b=2), *(refused,) * 12)),
    "final tool": Scenario((use("deliver", what="parcel"),)),
    "structured output": Scenario((use("add", a=1, b=2), '{"total": 3}'), output_type=Sum),
    "cancelled in a call": Scenario((use("meet"), "never"), act="cancel"),
    "message while it works": Scenario((use("meet"), "Yes, briefly."), act="Be brief."),
    "approval": Scenario((use("erase", path="a"), "Erased.")),
    "secret in the answer": Scenario((f"The word is {SECRET}.",)),
    "white space and other letters": Scenario(("\n  Grüße,\n\n\tнаука 科学 🧵  \n",)),  # noqa: RUF001
}


# ---- the tools, the same in every scenario


@tool
async def fail() -> str:
    """Fail."""
    raise ValueError("boom")


@tool(timeout=0.02)
async def slow() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


@tool
async def deliver(what: str) -> ToolResponse:
    """Give the user the answer."""
    return ToolResponse(f"Here is the {what}.", final_answer=True)


@tool(approval="ask")
async def erase(path: str) -> str:
    """Erase a file."""
    return f"erased {path}"


Act = Callable[[RunContext], Awaitable[None]]
_acts: list[Act] = []


@tool
async def meet(context: ToolContext) -> str:
    """Wait for the caller."""
    await _acts[-1](context.run.outermost)
    await asyncio.sleep(0)  # a stop takes effect where the tool waits
    return "met"


@contextmanager
def acting(act: Act) -> Iterator[None]:
    """What the caller does when the tool `meet` is reached."""
    _acts.append(act)
    try:
        yield
    finally:
        _acts.pop()


TOOLS = [add, echo, fail, slow, deliver, erase, meet]


def quick(settings: Settings) -> dict[str, Any]:
    """Settings with which nothing waits before it is tried again."""
    return {"retry": RetryPolicy(base=0.0), "repair": replace(settings.repair, backoff=0.0)}


# ---- the model


class Scene(ScriptedModel):
    """Plays a scenario in a dialect. Every reply is kept, so that another surface can be given the same ones."""

    def __init__(self, scenario: Scenario, dialect: str) -> None:
        native = dialect in ("auto", "auto:json", "native")
        self._dialect = None if native else get_dialect(dialect)
        self.writes_code = dialect == "code"
        self._entries = scenario.script
        super().__init__(self._reply)
        self.rewind()

    def rewind(self) -> None:
        self._at = 0
        self._said = ""
        self.requests.clear()
        self.replies: list[Any] = []

    @property
    def answered(self) -> int:
        """How many requests were answered."""
        return sum(isinstance(reply, Reply) for reply in self.replies)

    def _reply(self, request: Request) -> Any:
        entry = self._entry(request)
        if callable(entry):
            entry = entry()
        reply = entry if isinstance(entry, Exception) else to_reply(entry, request, len(self.requests))
        self.replies.append(reply)
        return reply

    def _entry(self, request: Request) -> Any:
        if any(offered.name == "worker" for offered in request.tools):
            results = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
            return results[-1] if results else use("worker", user_prompt=QUESTION, reasoning="r", context="c")
        if request.component in CONVERSATION:
            insists = self._said and "rest on no source" in text_of(request.messages[-1].content)
            return self._in_dialect(self._said if insists else self._following())
        return self._helper(request)

    def _following(self) -> Any:
        entry = self._entries[self._at]
        self._at += 1
        delivered = "Here is the parcel." if isinstance(entry, dict) and entry["name"] == "deliver" else ""
        self._said = entry if isinstance(entry, str) else delivered
        return entry

    def _in_dialect(self, entry: Any) -> Any:
        if isinstance(entry, Broken):
            if self._dialect is None:
                return Reply(calls=(RawCall("cut", "add", '{"a": 1, "b'),), finish="length")
            text = self._dialect.write(_decision(use("add", a=1, b=2)))
            return Reply(text=text[: len(text) // 2], finish="length")
        if callable(entry) or self._dialect is None or not entry:
            return entry
        return self._dialect.write(_decision(entry))

    def _helper(self, request: Request) -> Any:
        """Whoever is asked beside the loop adds nothing of its own."""
        forced = request.component in FORCED_BY
        asked = request.tools[0].name if request.tools and not forced else request.component
        good = bool(self._said.strip())
        match asked:
            case "make_plan":
                return use("make_plan", steps=[{"id": "a", "task": QUESTION}])
            case "plan":
                return use("plan", steps=[{"text": "Answer.", "done": False}])
            case "observation":
                return use("observation", is_progressing=True, is_in_loop=False, reasoning="fine")
            case "judge":
                return use(
                    "judge", achieved=good, confidence=1.0 if good else 0.0, final_answer=self._said if good else ""
                )
            case "synthesis" | "complete":
                return self._said.strip() or "Nothing."
            case _:
                return FORCED if forced else "Go on."


def _decision(entry: Any) -> Decision:
    if isinstance(entry, str):
        return Decision(KNOWING, answer=entry)
    calls = entry if isinstance(entry, list) else [entry]
    return Decision(LOOKING, tuple(ToolCall(f"c{n}", made["name"], made["args"]) for n, made in enumerate(calls)))
