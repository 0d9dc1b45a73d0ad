"""How each surface runs a scenario, and what it shows of it, as one `Outcome`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager, chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from conformance.scenarios import KNOWING, LOOKING, QUESTION, Scenario, Scene, acting, quick
from kit import go
from server.serving import Client, parse, settled
from treadle import Agent, RunResult, presets
from treadle._agent.presets import local_user
from treadle._dialects.code import PYTHON
from treadle._engine.context import RunContext, execution_of
from treadle._engine.run import Run
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._engine.surfaces.text_view import CLOSE, OPEN
from treadle._types import events as ev
from treadle._types.errors import TreadleError
from treadle._types.state import CONVERSATION
from virtual_time import go_virtual

T = TypeVar("T")


class Outcome(Struct, frozen=True, omit_defaults=True):
    """What a surface shows of a run; None is what it cannot show."""

    answer: str | None = None
    stop_reason: str | None = None
    success: bool | None = None
    raised: str | None = None
    """The error that came instead of a result."""
    iterations: int | None = None
    tokens: int | None = None
    events: tuple[str, ...] | None = None
    """What happened in the run that the caller started, in order."""
    work: tuple[str, ...] | None = None
    """What happened in the run that did the work."""
    unpaid: int | None = None
    """Replies of the model that the usage does not count."""
    unread: int | None = None
    """Messages of the caller that came too late."""


# ---- the names of events that every surface has a word for


class Kinds:
    """Feed it events in order. Calls that run side by side may end in any order: their ends are sorted."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._ends: list[str] = []
        self._open: set[str] = set()

    def add(self, kind: str) -> None:
        self._flush()
        self._kinds.append(kind)

    def start(self, call_id: str, name: str) -> None:
        self._open.add(call_id)
        self.add(f"call {name}")

    def end(self, call_id: str, name: str, error: object) -> None:
        if call_id not in self._open:  # it was refused
            self.add(f"call {name}")
        self._open.discard(call_id)
        self._ends.append(f"{'error' if error else 'result'} {name}")

    def _flush(self) -> None:
        self._kinds += sorted(self._ends)
        self._ends = []

    def all(self) -> tuple[str, ...]:
        self._flush()
        return tuple(self._kinds)


def kinds_of(events: Iterable[Any]) -> tuple[str, ...]:
    kinds = Kinds()
    for event in events:
        match event:
            case ev.ThinkDone(component=component) if component in CONVERSATION:
                kinds.add("think")
            case ev.ToolStarted(call=call):
                kinds.start(call.id, call.name)
            case ev.ToolDone():
                kinds.end(event.call_id, event.name, event.error)
            case ev.Injected():
                kinds.add("message")
            case ev.Paused():
                kinds.add("paused")
            case ev.Approved():
                kinds.add("approved")
            case ev.AnswerDone(source=source) if source != "error":
                kinds.add("answer")
            case ev.RunFinished():
                kinds.add("end")
            case _:
                pass
    return kinds.all()


def without_code(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The work without the calls of `python`: in code mode, all other calls come from inside one."""
    return tuple(kind for kind in kinds if not kind.endswith(f" {PYTHON}"))


# ---- what each surface can show of what `await` shows


def shown_by(surface: str, outcome: Outcome) -> Outcome:
    answer, reason = outcome.answer, outcome.stop_reason or ""
    match surface:
        case "stream":
            return Outcome(answer, reason, outcome.success, outcome.raised, events=outcome.events)
        case "deltas":
            return Outcome("" if reason == "cancelled" else answer, raised=outcome.raised)
        case "text":
            return Outcome("" if reason == "cancelled" or outcome.raised else answer, raised=outcome.raised)
        case "sse":
            counts = {"iterations": outcome.iterations, "tokens": outcome.tokens, "events": outcome.events}
            return Outcome(answer, reason, outcome.success, **counts)
        case "terminal":
            return Outcome("" if reason in SILENT else answer, EXITS.get(reason, "0" if outcome.success else "1"))
        case _:
            if reason in REFUSED or outcome.raised:
                return Outcome("", REFUSED.get(reason, "run_failed"))
            return Outcome(answer, "length" if reason in ("limit", "budget") else "stop", tokens=outcome.tokens)


SILENT = ("error", "empty", "cancelled")
"""Ends without an answer: what there is instead goes to stderr, or into the error."""
EXITS = {"limit": "3", "budget": "3", "stuck": "3", "paused": "4", "cancelled": "130", "empty": "1", "error": "1"}
REFUSED = {"error": "run_failed", "cancelled": "cancelled", "empty": "empty_answer", "paused": "approval_required"}


# ---- in this process


def handle(context: RunContext) -> Run:
    """The run that a caller holds in his hands."""
    return Run(execution_of(context))


def in_process(scenario: Scenario) -> AbstractContextManager[None]:
    async def act(root: RunContext) -> None:
        run = handle(root)
        if scenario.act == "cancel":
            run.cancel()
        else:
            run.send(scenario.act)

    return acting(act)


def run_loop(scene: Scene, work: Coroutine[Any, Any, T]) -> T:
    """By virtual time; except code, which runs in a process of its own, for which a clock must not run ahead."""
    return go(work) if scene.writes_code else go_virtual(work)[0]


def by_await(agent: Agent, scene: Scene, scenario: Scenario, depth: int) -> Outcome:
    records: list[ev.Record] = []

    async def drive(run: Run) -> RunResult:
        run.subscribe(records.append, live=False)
        return await agent.launch(run)

    async def work() -> Outcome:
        raised = ""
        run = agent.prepare(QUESTION, user=local_user(agent))
        try:
            result = await drive(run)
            if result.stop_reason == "paused":
                run = await agent.load(run, approve=True)
                result = await drive(run)
        except TreadleError as error:
            raised, result = type(error).__name__, run.result()
        return Outcome(
            answer=result.answer,
            stop_reason=result.stop_reason,
            success=result.success,
            raised=raised,
            iterations=result.iterations,
            tokens=result.usage.total_tokens,
            events=kinds_of(record.event for record in records if record.depth == 0),
            work=without_code(kinds_of(record.event for record in records if record.depth == depth)),
            unpaid=scene.answered - result.usage.requests,
            unread=len(result.unread),
        )

    with in_process(scenario):
        return run_loop(scene, work())


def by_stream(agent: Agent, scene: Scene, scenario: Scenario, depth: int) -> Outcome:
    events: list[Any] = []

    async def work() -> str:
        try:
            async for event in agent.stream(QUESTION):
                events.append(event)  # noqa: PERF401 - those before an error count
        except TreadleError as error:
            return type(error).__name__
        return ""

    with in_process(scenario):
        raised = run_loop(scene, work())
    finished = next((event for event in events if isinstance(event, ev.RunFinished)), None)
    return Outcome(
        answer=finished.answer if finished else "",
        stop_reason=finished.stop_reason if finished else "paused",
        success=bool(finished and finished.success),
        raised=raised,
        events=kinds_of(events),
    )


def by_deltas(agent: Agent, scene: Scene, scenario: Scenario, depth: int) -> Outcome:
    pieces: list[tuple[str, int]] = []

    async def work() -> str:
        try:
            async for piece in agent.deltas(QUESTION):
                pieces.append(piece)  # noqa: PERF401
        except TreadleError as error:
            return type(error).__name__
        return ""

    with in_process(scenario):
        raised = run_loop(scene, work())
    text = "".join(text for text, _ in pieces)
    return Outcome(answer=text[said.end() :] if (said := THOUGHTS.match(text)) else text, raised=raised)


THOUGHTS = re.compile(rf"(?:(?:{re.escape(LOOKING)}|{re.escape(KNOWING)})(?:{BREAK}|$))*")
"""Words before a call, or before what is marked as the answer, may come first, followed by an empty line."""


def by_text(agent: Agent, scene: Scene, scenario: Scenario, depth: int) -> Outcome:
    shown: list[str] = []
    raised = answer = ""

    def read() -> str:
        generator = agent.text(QUESTION)
        while True:
            try:
                shown.append(next(generator))
            except StopIteration as end:
                return end.value

    with in_process(scenario):
        try:
            answer = read()
        except TreadleError as error:
            raised = type(error).__name__
    text = "\n" + "".join(shown).replace(OPEN, "").replace(CLOSE, "")
    times = text.count(f"\n{answer}") - ("worker" in agent.toolkit)  # of which it is the result, too
    return Outcome(answer="" if times < 1 else answer if times == 1 or not answer else text, raised=raised)


# ---- over HTTP


class Served:
    """The server of the suite and its agents: one for each scenario in each variant."""

    def __init__(self, client: Client, scenes: Mapping[str, Scene]) -> None:
        self.client = client
        self._scenes = scenes

    def over_http(self, name: str, scenario: Scenario) -> AbstractContextManager[None]:
        self._scenes[name].rewind()

        async def act(root: RunContext) -> None:
            path = f"/api/runs/{root.id}"
            if scenario.act == "cancel":
                await asyncio.to_thread(self.client.post, f"{path}/cancel")
            else:
                await asyncio.to_thread(self.client.post, f"{path}/messages", {"text": scenario.act})
                # It is stored, and looked for now and then: a run as quick as this one would not look before its end.
                await execution_of(root).inbox.fetch(at_once=True)

        return acting(act)

    def by_sse(self, name: str, scenario: Scenario) -> Outcome:
        with self.over_http(name, scenario):
            run_id = self.client.start(QUESTION, agent=name)
            if any("erase" in str(entry) for entry in scenario.script):
                self.client.wait(run_id, "paused")
                self.client.post(f"/api/runs/{run_id}/approvals", {"all": True})
            events = settled(self.client.events(run_id))
        done = events[-1]["data"]
        failed = next((event["data"] for event in events if event["event"] == "error"), {})
        pieces = "".join(e["data"]["content"] for e in events if e["data"].get("status") == "delta")
        whole = done["answer"] or failed.get("partial", "")
        return Outcome(
            answer=whole if not pieces or pieces == whole else pieces,
            stop_reason=done["stop_reason"],
            success=done["success"],
            iterations=done["iterations"],
            tokens=done["usage"]["total_tokens"],
            events=_kinds_of_sse(events),
        )

    def by_facade(self, name: str, scenario: Scenario) -> Outcome:
        with self.over_http(name, scenario):
            answer = self.client.ask("POST", "/v1/chat/completions", _chat(name))
        if answer.status != 200:
            return Outcome(answer="", stop_reason=answer.json["error"]["type"])
        (choice,) = answer.json["choices"]
        return Outcome(
            answer=choice["message"]["content"],
            stop_reason=choice["finish_reason"],
            tokens=answer.json["usage"]["total_tokens"],
        )

    def by_facade_stream(self, name: str, scenario: Scenario) -> Outcome:
        with self.over_http(name, scenario):
            body = {**_chat(name), "stream": True, "stream_options": {"include_usage": True}}
            answer = self.client.ask("POST", "/v1/chat/completions", body)
        if answer.status != 200:  # it failed before its first word
            return Outcome(answer="", stop_reason=answer.json["error"]["type"])
        lines = [line for line in answer.data.splitlines(keepends=True) if line.strip() != b"data: [DONE]"]
        chunks = [event["data"] for event in parse(lines)]
        if error := next((chunk["error"] for chunk in chunks if "error" in chunk), None):
            return Outcome(answer="", stop_reason=error["type"])
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        return Outcome(
            answer="".join(choice["delta"].get("content") or "" for choice in choices),
            stop_reason=next(choice["finish_reason"] for choice in choices if choice["finish_reason"]),
            tokens=chunks[-1]["usage"]["total_tokens"],
        )


def _chat(name: str) -> dict[str, Any]:
    return {"model": name, "messages": [{"role": "user", "content": QUESTION}]}


def _kinds_of_sse(events: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    kinds = Kinds()
    for event in events:
        data = event["data"]
        match event["event"], data.get("type") or data.get("phase"), data.get("status"):
            case "step", "thinking", "done":
                kinds.add("think")
            case "step", "iteration", "start":
                kinds.start(data["call_id"], data["tool_name"])
            case "step", "iteration", "done":
                kinds.end(data["call_id"], data["tool_name"], data["error"])
            case "inject", _, _:
                kinds.add("message")
            case "phase", ("paused" | "approved") as phase, _:
                kinds.add(phase)
            case "answer", _, "done":
                kinds.add("answer")
            case "done", _, _:
                kinds.add("end")
            case _:
                pass
    return kinds.all()


# ---- the terminal program


def script_of(replies: Iterable[Any]) -> list[Any]:
    """The replies of a scene as a script file has them."""
    return [
        {"error": str(reply), "status": getattr(reply, "status", None)}
        if isinstance(reply, Exception)
        else {
            "text": reply.text,
            "calls": [{"id": c.id, "name": c.name, "args": json.loads(c.arguments)} for c in reply.calls],
        }
        for reply in replies
    ]


def options_of(preset: str, scenario: Scenario) -> list[str]:
    """The settings of a scenario as options of the program."""
    settings = {**quick(presets.get(preset).settings), **scenario.settings}
    fields: dict[str, Any] = {}
    for name, value in settings.items():
        inside = {f"{name}.{key}": part for key, part in asdict(value).items()} if isinstance(value, Struct) else {}
        fields |= inside or {name: value}
    given = {name: value for name, value in fields.items() if value is not None}
    return [part for name, value in given.items() for part in ("--set", f"{name}={json.dumps(value)}")]


def by_terminal(folder: Path, preset: str, replies: Iterable[Any], scenario: Scenario) -> Outcome:
    """`treadle run` in this process, with its output in a pipe."""
    from treadle._cli.main import main

    write_script(folder, replies)

    def program(*arguments: str) -> tuple[int, str]:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main([*arguments, "--journal", str(folder / "journal.db")])
        return code, out.getvalue()

    with in_process(scenario), chdir(folder):  # some presets copy the folder they start in
        code, out = program("run", QUESTION, *arguments_of(folder, preset, scenario))
        if code == 4:
            code, out = program("runs", "approve", "last", "--all")
    return Outcome(answer=out.removesuffix("\n"), stop_reason=str(code))


def arguments_of(folder: Path, preset: str, scenario: Scenario) -> list[str]:
    model = ["--model", f"scripted:{folder / 'script.json'}", "--tools", "conformance.scenarios:TOOLS"]
    return [*model, "--preset", preset, *options_of(preset, scenario)]


def write_script(folder: Path, replies: Iterable[Any]) -> None:
    (folder / "script.json").write_text(json.dumps(script_of(replies)))
