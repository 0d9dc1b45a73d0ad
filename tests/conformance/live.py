"""What a person sees while a run works, and when: the same run in every preset and on every surface.

The model and the tool write one word at a time, and then wait until the surface has shown it. So nothing here depends
on how fast the machine is: a word that a surface keeps back never comes, and of every other it is known how long it
took. `mist` are the words of a thought, `rain` those of a tool, `snow` those of the answer.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from io import StringIO
from typing import Any

from msgspec import Struct

from conformance.modes import MODES, PRESETS, agent_of, preset_of
from conformance.scenarios import BROKEN, QUESTION, Broken, Scenario, Scene, use
from server.protocols.facades import FACADES, answer_in
from server.serving import Client, parse, settled
from treadle import Agent, Tool, ToolResponse, presets, tool
from treadle._agent.presets import local_user
from treadle._dialects.base import Decision
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._engine.surfaces.text_view import CLOSE, OPEN
from treadle._types import events as ev
from treadle._types.messages import ToolCall, ToolMessage
from treadle._types.request import CallDelta, RawCall, Reply, Request, StreamPart, TextDelta
from treadle._types.state import ANSWERING, CONVERSATION

THOUGHT, TOOL, ANSWER = "mist", "rain", "snow"
STEMS = {THOUGHT: "thought", TOOL: "tool", ANSWER: "answer"}
WORD = re.compile(r"(?:mist|rain|snow)\d")
PIECE = re.compile(rf".*?{WORD.pattern}|.+", re.DOTALL)
MANY = 3


ARGUMENTS = '{"user_prompt": "?", "reasoning": "r", "context": "c"}'


def words(stem: str) -> str:
    return " ".join(f"{stem}{number}" for number in range(MANY))


class Screen:
    """What has been shown so far, and when each word came; filled by one thread and looked at by another."""

    def __init__(self, wanted: frozenset[str], patience: float) -> None:
        self.text = ""
        self.taken: dict[str, float] = {}
        """How long each word took that was waited for; those that did not come in time are not here."""
        self.given: dict[str, float] = {}
        """When each of them was given, by the clock on the wall."""
        self._wanted = set(wanted)
        self._patience = patience
        self._changed = threading.Condition()

    def show(self, text: str) -> None:
        with self._changed:
            self.text += text
            self._changed.notify_all()

    def draw(self, text: str) -> None:
        """Show all of it anew."""
        with self._changed:
            self.text = text
            self._changed.notify_all()

    async def shown(self, text: str) -> None:
        """Wait until the last word of a text is there, if words of its kind are waited for."""
        found = WORD.findall(text)
        if not found or found[-1][:-1] not in self._wanted:
            return
        begun, self.given[found[-1]] = time.perf_counter(), time.time()
        while found[-1] not in self.text:
            if time.perf_counter() - begun > self._patience:
                self._wanted.discard(found[-1][:-1])  # the rest will not come either
                return
            await asyncio.sleep(0.0005)
        self.taken.setdefault(found[-1], time.perf_counter() - begun)


class Live(Scene):
    """Plays a scenario one word at a time: what it thinks, the call of a tool, the answer."""

    def __init__(self, scenario: Scenario, preset: str, screen: Screen, *, inside: bool) -> None:
        self._screen = screen
        settings = presets.get(preset).settings
        self._brief = settings.answer != "direct"
        """The loop ends with words of its own, and another request writes the answer."""
        self._inside = inside
        """The answer of the scenario is not that of the run that was started, and neither are its thoughts."""
        self._thought = "musing" if inside else words(THOUGHT)
        super().__init__(scenario, settings.dialect)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        reply = self.keep(request)
        for piece in PIECE.findall(reply.text) if request.stream else ():
            yield TextDelta(piece)
            await self._screen.shown(piece)
        for index, call in enumerate(reply.calls if request.stream else ()):
            yield CallDelta(index, call.id, call.name)
            for piece in PIECE.findall(call.arguments):
                yield CallDelta(index, arguments=piece)
                await self._screen.shown(piece)
            yield CallDelta(index, done=True)
        yield reply

    def _entry(self, request: Request) -> Any:
        if request.component not in CONVERSATION or not any(one.name == "worker" for one in request.tools):
            return super()._entry(request)
        if any(isinstance(message, ToolMessage) for message in request.messages):
            return words(ANSWER)
        return Reply(words(THOUGHT), (RawCall("w", "worker", ARGUMENTS),), finish="calls")

    def _in_dialect(self, entry: Any) -> Any:
        if isinstance(entry, Broken):
            if self._dialect is None:
                return super()._in_dialect(entry)
            text = self._written(use("talk"))
            return Reply(text=text[: len(text) // 2], finish="length")
        if isinstance(entry, str):
            said = "done" if self._brief or self._inside else words(ANSWER)
            return self._dialect.write(Decision("", answer=said)) if self._dialect else said
        if self._dialect is None:
            return Reply(self._thought, (RawCall("c1", entry["name"], "{}"),), finish="calls")
        return self._written(entry)

    def _written(self, entry: Any) -> str:
        assert self._dialect is not None
        return self._dialect.write(Decision(self._thought, (ToolCall("c1", entry["name"], {}),)))

    def _helper(self, request: Request) -> Any:
        helped = super()._helper(request)
        if request.component in ANSWERING:
            return words(ANSWER)
        return use("judge", achieved=True, confidence=1.0, final_answer=words(ANSWER)) if _judges(request) else helped


def _judges(request: Request) -> bool:
    return bool(request.tools) and request.tools[0].name == "judge"


SCENARIOS = {
    "work": Scenario((use("talk"), "answer")),
    "final tool": Scenario((use("deliver"),)),
    "repaired": Scenario((BROKEN, use("talk"), "answer")),
}


def tools_for(screen: Screen) -> list[Tool]:
    async def say(stem: str) -> AsyncIterator[str]:
        for word in words(stem).split():
            piece = word if word.endswith("0") else f" {word}"
            yield piece
            await screen.shown(piece)

    @tool(effect="pure")
    async def talk() -> AsyncIterator[str]:
        """Say something bit by bit."""
        async for piece in say(TOOL):
            yield piece

    @tool(effect="pure")
    async def deliver() -> ToolResponse:
        """Give the user the answer, bit by bit."""
        return ToolResponse(say(ANSWER), final_answer=True)

    return [talk, deliver]


class Stage(Struct, frozen=True):
    """An agent in a variant, its model, and the screen both wait for."""

    agent: Agent
    model: Live
    screen: Screen


def stage(variant: str, scenario: str, wanted: frozenset[str], patience: float) -> Stage:
    screen, preset, played = Screen(wanted, patience), preset_of(variant), SCENARIOS[scenario]
    model = Live(played, preset, screen, inside=variant in ("plan", "child"))
    return Stage(agent_of(variant, preset, played, model, tools_for(screen)), model, screen)


class Shown(Struct, frozen=True):
    """What came of one run on one surface."""

    taken: dict[str, float]
    """How long each kind of words took at most, of those that came one by one."""
    times: int
    """How often the answer stands there in the end."""
    answer: str
    """What the pieces of the answer amount to."""


def seen(screen: Screen, answer: str, times: int) -> Shown:
    taken: dict[str, float] = {}
    for stem, kind in STEMS.items():
        found = [seconds for word, seconds in screen.taken.items() if word.startswith(stem)]
        if len(found) == MANY:
            taken[kind] = max(found)
    return Shown(taken, times, answer)


# ---- in this process


def by_await(made: Stage) -> Shown:
    answer = made.agent.run_sync(QUESTION).answer
    return Shown({}, answer.count(words(ANSWER)), answer)


def by_stream(made: Stage) -> Shown:
    answer: list[str] = []

    async def work() -> None:
        async for event in made.agent.stream(QUESTION):
            match event:
                case ev.AnswerDelta(text=text):
                    answer.append(text)
                case ev.AnswerRetracted() | ev.Reset():
                    answer.clear()
                case _:
                    pass
            if isinstance(event, ev.AnswerDelta | ev.TextStreamed | ev.ToolOutput):
                made.screen.show(event.text)

    asyncio.run(work())
    return seen(made.screen, "".join(answer), "".join(answer).count(words(ANSWER)))


def _by_strings(pieces: Callable[[Agent], AsyncIterator[Any]]) -> Callable[[Stage], Shown]:
    def watch(made: Stage) -> Shown:
        async def work() -> None:
            async for piece in pieces(made.agent):
                made.screen.show(piece if isinstance(piece, str) else piece[0])

        asyncio.run(work())
        return seen(made.screen, made.screen.text.rpartition(BREAK)[2], made.screen.text.count(words(ANSWER)))

    return watch


def _by_text(*, markers: bool) -> Callable[[Stage], Shown]:
    def watch(made: Stage) -> Shown:
        for piece in made.agent.text(QUESTION, skip_special_tokens=not markers):
            made.screen.show(piece)
        text = made.screen.text
        answer = text.partition(OPEN)[2].partition(CLOSE)[0] if markers else text[text.rfind(words(ANSWER)) :]
        return seen(made.screen, answer, text.count(words(ANSWER)))

    return watch


# ---- over HTTP: what counts as shown is in the bytes that have come


def _reading(made: Stage, client: Client, method: str, path: str, body: Any, until: bytes = b"\0") -> bytes:
    connection = client.connect()
    headers = {"content-type": "application/json"} if body is not None else {}
    connection.request(method, path, json.dumps(body).encode() if body is not None else None, headers)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    read = b""
    while line := response.readline():
        read += line
        made.screen.show(line.decode())
        if until in line:
            break
    connection.close()
    return read


def by_events(made: Stage, client: Client, name: str) -> Shown:
    run_id = client.start(QUESTION, agent=name, settings={"stream_thoughts": True})
    sent = _reading(made, client, "GET", f"/api/runs/{run_id}/events?detail=full", None)
    events = settled(list(parse(sent.splitlines(keepends=True))))
    pieces = "".join(
        e["data"]["content"] for e in events if e["data"].get("status") == "delta" and not e["data"]["depth"]
    )
    return seen(made.screen, pieces, pieces.count(words(ANSWER)))


def facade(protocol: str) -> Callable[[Stage, Client, str], Shown]:
    def watch(made: Stage, client: Client, name: str) -> Shown:
        path, body = FACADES[protocol]
        body = {**body, "model": name} if "model" in body else body
        sent = _reading(made, client, "POST", path.replace("worker", name), body)
        answer = answer_in(protocol, sent)
        return seen(made.screen, answer.rpartition(BREAK)[2], answer.count(words(ANSWER)))

    return watch


# ---- the terminal program's two displays that show a run while it works


class _Terminal(StringIO):
    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._screen.show(text)
        return len(text)


def by_terminal(made: Stage) -> Shown:
    from treadle._cli.display.live import LiveDisplay
    from treadle._cli.driving.conductor import Conductor

    made.agent.settings = made.agent.settings.with_changes({"stream_thoughts": True})  # as `treadle run` does

    async def work() -> None:
        run = made.agent.prepare(QUESTION, user=local_user(made.agent))
        await Conductor(can_ask=False).drive(made.agent, run, LiveDisplay(run.id, _Terminal(made.screen)))

    asyncio.run(work())
    kept = "".join(line for line in _drawn(made.screen.text) if THOUGHT not in line)
    return seen(made.screen, kept[kept.find(words(ANSWER)) :][: len(words(ANSWER))], kept.count(words(ANSWER)))


def _drawn(text: str) -> list[str]:
    """The lines that a terminal shows in the end."""
    lines = [""]
    for part in re.findall(r"\x1b\[\??\d*[A-Za-z]|\x1b\[[\d;]*m|\r|\n|[^\x1b\r\n]+", text):
        if part == "\x1b[1A":
            lines = lines[:-1] or [""]
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\n":
            lines.append("")
        elif not part.startswith(("\x1b", "\r")):
            lines[-1] += part
    return lines


IN_PROCESS: dict[str, Callable[[Stage], Shown]] = {
    "await": by_await,
    "stream": by_stream,
    "stream_text": _by_strings(lambda agent: agent.stream_text(QUESTION)),
    "deltas": _by_strings(lambda agent: agent.deltas(QUESTION)),
    "text": _by_text(markers=False),
    "text with markers": _by_text(markers=True),
    "terminal": by_terminal,
}
OVER_HTTP: dict[str, Callable[[Stage, Client, str], Shown]] = {
    "events": by_events,
    **{name: facade(name) for name in FACADES},
}


# ---- what is not shown as it comes, and why


class Kept(Struct, frozen=True):
    """Words that a surface does not show one by one."""

    kinds: frozenset[str]
    surfaces: frozenset[str]
    variants: frozenset[str]
    reason: str


LOOPS = frozenset(("loop", "code", *PRESETS))
_ALL = frozenset((*MODES, *PRESETS))
_FACADES = frozenset(FACADES)
_PLAIN = frozenset(("stream_text", "deltas", *_FACADES))
"""Surfaces that give the answer and nothing else as it comes."""
_EVERYWHERE = frozenset((*IN_PROCESS, *OVER_HTTP, "page"))
_THINKING = {"terminal", "events", "page"}
"""Surfaces that ask for the thoughts of the loop (`stream_thoughts`), whatever the preset says."""
_NOBODY_KNOWS = "before the reply ends nobody knows whether its words are the answer"


def _kept(kinds: str, surfaces: Iterable[str], variants: Iterable[str], reason: str) -> Kept:
    return Kept(frozenset(kinds.split()), frozenset(surfaces), frozenset(variants), reason)


KEPT = (
    _kept("thought tool answer", ("await",), _ALL, "waits for the end"),
    _kept("tool", _PLAIN, _ALL, "gives the answer; of a tool its result at most"),
    _kept("answer thought", _PLAIN, ("research",), "the answer may be taken back: it comes whole, when it is checked"),
    _kept("thought", _PLAIN, ("planned",), "gives the answer; a thought that has a field of its own is none"),
    _kept("thought", _EVERYWHERE - _THINKING, ("two_phase",), "the loop is not streamed (`stream_thoughts`)"),
    _kept("thought", _EVERYWHERE, ("reflective",), "the dialect has no thoughts"),
    _kept("thought", _EVERYWHERE, ("plan",), "the thoughts are those of its steps, which have events of their own"),
    _kept(
        "thought answer", ("text with markers",), ("loop", "strict", "coding", "research", "child", "plan"),
        _NOBODY_KNOWS,
    ),
    _kept("thought", ("text with markers",), ("document",), _NOBODY_KNOWS),
    _kept(
        "tool", ("stream", "text", "text with markers", "events", "page"), ("plan", "document", "child"),
        "runs inside write side by side: whole results; `stream_records` and their own events have each word",
    ),
)  # fmt: skip
OFTEN = {("terminal", "document"): 2}
"""How often the answer stands there, where it is not once: it is also the result of the last component."""


def kept(surface: str, variant: str) -> frozenset[str]:
    found = [one.kinds for one in KEPT if surface in one.surfaces and variant in one.variants]
    return frozenset().union(*found)


def plays(variant: str, scenario: str) -> frozenset[str]:
    """The kinds of words that a scenario has in a variant; none where it is not played."""
    if scenario == "work":
        return frozenset(STEMS.values())
    if variant not in LOOPS:
        return frozenset()
    return frozenset(("thought", "answer") if scenario == "final tool" else ("tool", "answer"))


def wanted(surface: str, variant: str, scenario: str) -> frozenset[str]:
    """The kinds of words that are to be shown one by one."""
    return plays(variant, scenario) - kept(surface, variant)


def staged(surface: str, variant: str, scenario: str, patience: float) -> Stage:
    kinds = wanted(surface, variant, scenario)
    return stage(variant, scenario, frozenset(stem for stem, kind in STEMS.items() if kind in kinds), patience)


def faults(surface: str, variant: str, scenario: str, shown: Shown) -> list[str]:
    """What is wrong with what came of a run."""
    where = f"{scenario}, {variant}, {surface}"
    missing = sorted(wanted(surface, variant, scenario) - set(shown.taken))
    found = [f"{where}: words of the {kind} do not come one by one" for kind in missing]
    if shown.answer.strip() != words(ANSWER):
        found.append(f"{where}: the pieces of the answer are {shown.answer!r}")
    if shown.times != (often := OFTEN.get((surface, variant), 1)):
        found.append(f"{where}: the answer stands there {shown.times} times, not {often}")
    return found
