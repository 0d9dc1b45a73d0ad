"""Prefix stability: between declared breaks every request extends the last of its component, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, echo, go
from treadle import Agent, RetryPolicy, ScriptedModel, tool
from treadle._engine.context import execution_of
from treadle._engine.plugin import Plugin
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.memory.citations import Citations
from treadle._plugins.memory.plugin import Memory
from treadle._plugins.memory.store import Memo, MemoryStore
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.observer import Observer
from treadle._plugins.thinking.planner import Planner
from treadle._plugins.thinking.reflection import Reflection
from treadle._plugins.thinking.rewrite import QuestionRewrite
from treadle._types.errors import TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request

from .scenes import DIALECTS, TEXT_ONLY, CountingModel, answer_in, components, count, in_dialect, structured

STEPS = 24
ADVISERS = {
    "rewrite",
    "memory_rank",
    "analysis",
    "planner",
    "reflection",
    "observer",
    "compaction",
    "complete",
    "memory_summary",
}


@tool(effect="pure")
async def find(query: str) -> dict[str, Any]:
    """Find passages."""
    number = int(query.split()[-1])
    return {
        "query": query,
        "chunks": [{"id": number, "document": "a.txt", "position": number, "text": f"passage {number} " * 20}],
    }


def everyone(dialect: str, store: MemoryStore) -> list[Any]:
    return [QuestionRewrite(), Memory(store), TaskAnalysis(), Planner(), Reflection(), Observer(), Citations()]


def cast(dialect: str, awkward: bool = False) -> Any:
    turns = 0

    def reply(request: Request) -> Any:
        nonlocal turns
        match request.component:
            case "loop" | "repair":
                turns += 1
                if turns > STEPS:
                    return answer_in(dialect, f"It is so [ID:{STEPS - 1}].")
                if turns == 7:
                    return in_dialect(dialect, "echo", text="long " * 3_000)
                if turns == 12 and dialect != "native":
                    return "]["
                return in_dialect(dialect, "find", query=f"number {turns}")
            case "planner":
                if awkward and turns % 5 == 0:
                    return "no plan"
                return structured(request, {"steps": [{"text": f"step {n}", "done": n < turns} for n in range(1, 5)]})
            case "observer":
                return structured(
                    request, {"is_progressing": turns != 9, "is_in_loop": False, "reasoning": f"at {turns}"}
                )
            case "memory_rank":
                return structured(request, {"ranking": [0]})
            case "reflection" if awkward and turns % 4 == 0:
                return TransientModelError("busy", status=503)
            case name:
                return f"{name} {turns} " + "word " * 30

    return reply


@pytest.mark.parametrize("awkward", [False, True], ids=["smooth", "awkward"])
@pytest.mark.parametrize("structured_by", ["calls", "schema", "text"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_plugin_on_in_every_dialect(dialect: str, structured_by: str, awkward: bool, tmp_path: Any):
    abilities = {"calls": {}, "schema": {"tool_call": False}, "text": TEXT_ONLY}[structured_by]
    if dialect == "native":
        abilities = {"forced_tool": structured_by == "calls"}
    store = MemoryStore(tmp_path / "memory.db")
    store.add({"before": Memo(0, "ann", "agent", "number 1?", "yes", "number 1 was found")})
    model = CountingModel(cast(dialect, awkward), abilities=abilities)
    agent = Agent(
        model, [find, echo], dialect=dialect, plugins=everyone(dialect, store), max_iterations=60, context_budget=6_000,
        max_observation_chars=3_000, answer="complete", retry=RetryPolicy(attempts=1),
    )  # fmt: skip
    history = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"turn {n}"} for n in range(6)]
    held: list[Any] = []

    async def main() -> Any:
        held.append(agent.start("Which number 1?", history=history, user="ann"))
        return await held[0]

    result = go(main(), limit=60)
    assert result.stop_reason == "answer", result.answer
    assert set(components(model)) >= ADVISERS
    broken = prefix_breaks(model.requests, held[0].records)
    assert not broken, broken[0].describe()
    assert max(count(request) for request in model.requests) <= 6_000
    # Most requests of each adviser do extend the one before: a break for every call would make the rule worthless.
    undeclared = prefix_breaks(model.requests)
    for component in ("loop", "planner", "reflection"):
        calls = components(model).count(component)
        breaks = sum(found.component == component for found in undeclared)
        assert breaks <= calls * (0.5 if awkward else 0.25), (component, breaks, calls)


async def test_a_break_is_found_and_the_component_named():
    class Meddler(Plugin):
        """Changes a message of the past behind the log's back."""

        name = "meddler"

        async def before_round(self, run: Any) -> None:
            if run.state.iteration == 2:
                messages = execution_of(run).current.renderer.messages
                index = next(
                    index
                    for index, message in enumerate(messages)
                    if isinstance(message, UserMessage) and message.kind == "note"
                )
                messages[index] = UserMessage("the time is now 12:01", kind="note")

    model = ScriptedModel([call("echo", text="1"), call("echo", text="2"), "done"])
    run: Any = None
    from treadle._types.events import MessageAdded

    class Clock(Plugin):
        name = "clock"

        async def on_start(self, run: Any) -> None:
            await run.emit(MessageAdded(UserMessage("the time is now 12:00", kind="note"), "clock"))

    run = Agent(model, [echo], plugins=[Clock(), Meddler()]).start("q")
    await run
    broken = prefix_breaks(model.requests, run.records)
    assert len(broken) == 1
    assert (broken[0].component, broken[0].number, broken[0].origin) == ("loop", 2, "clock")
    assert "12:00" in broken[0].before
    assert "12:01" in broken[0].after
    assert "put there by clock" in broken[0].describe()


async def test_declared_breaks_are_no_breaks():
    model = ScriptedModel([call("echo", text="1"), call("add", a=1, b=2), "done"])

    class Swap(Plugin):
        name = "swap"

        async def after_round(self, run: Any) -> None:
            if run.state.iteration == 1:
                await run.offer_tools(["add"], "no more echo")

    held: list[Any] = []
    held.append(Agent(model, [echo, add], plugins=[Swap()]).start("q"))
    await held[0]
    assert prefix_breaks(model.requests, held[0].records) == []
    assert [broken.index for broken in prefix_breaks(model.requests)] == [-1]
