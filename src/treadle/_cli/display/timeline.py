"""A run as items to display: what has happened, and what is going on now. Only this module reads records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from treadle._cli.display.text import one_line, plain_json, plural, seconds, spent
from treadle._types import events as ev
from treadle._types.messages import ToolCall, text_of
from treadle._types.state import CONVERSATION
from treadle._types.usage import NO_USAGE

_ACTIVITIES = {
    "planner": "planning",
    "selection": "choosing tools",
    "observer": "checking progress",
    "analysis": "analysing the task",
    "reflection": "reflecting",
    "rewrite": "understanding the question",
    "synthesis": "writing the answer",
    "complete": "writing the answer",
    "own_words": "writing the answer",
    "final": "writing the answer",
    "context": "compacting the context",
}


MAX_CITED = 5


class Line(Struct, frozen=True):
    kind: Literal["thought", "note", "warning", "you", "plan", "divider"]
    text: str
    depth: int = 0


class Card(Struct):
    """A tool call, from its start to its result."""

    call: ToolCall
    depth: int
    began: float
    output: str = ""
    done: ev.ToolDone | None = None


class Answer(Struct, frozen=True):
    text: str
    source: str


Item = Line | Card | Answer


class Timeline:
    """Turns records into items; its attributes say what the run is doing now."""

    def __init__(self, run_id: str, past: Iterable[ev.Record] = ()) -> None:
        """`past` are earlier records, which are not shown again."""
        self.run_id = run_id
        self.activity = "starting"
        self.model = ""
        self.iteration = 0
        self.usage = NO_USAGE
        self.running: dict[tuple[str, str], Card] = {}
        self.streamed = ""
        """What the model has written so far in its current reply."""
        self.answering: bool = False
        """Whether that is the answer, as far as anybody knows yet; else it is a thought."""
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._early_output: dict[tuple[str, str], str] = {}
        self._depths: dict[str, int] = {run_id: 0}
        for record in past:
            for _ in self.feed(record):
                pass
        self.began = time.time()

    def status(self, *, cost: bool = True) -> str:
        """What the run is doing now, for how long, and what it has cost so far."""
        parts = [self.activity]
        if self.iteration:
            parts.append(f"step {self.iteration}")
        parts.append(seconds(max(0.0, time.time() - self.began)))
        if cost and self.model:
            parts.append(one_line(self.model, 40))
        if cost and self.usage.total_tokens:
            parts.append(spent(self.usage))
        return " · ".join(parts)

    def feed(self, record: ev.Record) -> Iterator[Item]:
        event, depth = record.event, self._depths.get(record.run, 1)
        match event:
            case ev.RunStarted():
                self._depths[record.run] = event.depth
                if record.run == self.run_id:
                    self.model = event.model
            case ev.TextStreamed() | ev.AnswerDelta() | ev.AnswerRetracted() | ev.Reset():
                if record.run == self.run_id:  # runs inside it write at the same time: their thoughts come as lines
                    self._writing(event)
            case ev.ThinkStarted() | ev.ThinkFailed() | ev.ThinkDone():
                yield from self._thinking(event, record.run, depth)
            case ev.ToolStarted() | ev.ToolOutput() | ev.ToolDone():
                yield from self._acting(event, record, depth)
            case ev.Approved():
                call = self._calls.get((record.run, event.call_id))
                yield Line("note", _decision(event, call.name if call else event.tool or event.call_id), depth)
            case ev.ToolAnswered():
                by = f" by {event.by}" if event.by else ""
                yield Line("note", f"{event.tool or event.call_id} was answered{by}", depth)
            case ev.ModelSwitched():
                if record.run == self.run_id:
                    self.model = event.model
                yield from _line_of(event, depth)
            case ev.AnswerStarted():
                if record.run == self.run_id:
                    self.activity = "writing the answer"
            case ev.AnswerDone() if record.run == self.run_id:
                self.streamed, self.answering = "", False
                yield Answer(event.text, event.source)
            case _:
                yield from _line_of(event, depth)

    def _writing(self, event: ev.TextStreamed | ev.AnswerDelta | ev.AnswerRetracted | ev.Reset) -> None:
        if isinstance(event, ev.Reset | ev.AnswerRetracted):
            self.streamed, self.answering = "", False  # words before a call come again, as the line of a thought
            return
        answering = isinstance(event, ev.AnswerDelta)
        if answering != self.answering:
            self.streamed, self.answering = "", answering
        self.streamed += event.text

    def _thinking(self, event: ev.ThinkStarted | ev.ThinkFailed | ev.ThinkDone, run: str, depth: int) -> Iterator[Item]:
        if isinstance(event, ev.ThinkStarted):
            self.activity = _ACTIVITIES.get(event.component, "thinking")
            self._early_output.clear()
            if run == self.run_id:
                self.streamed, self.answering = "", False
                self.iteration = max(self.iteration, event.iteration)
            return
        self.usage += event.usage
        if isinstance(event, ev.ThinkFailed):
            if event.options:  # nothing failed: the model is asked again for what it wanted
                return
            again = "" if event.wait is None else f"; next attempt in {seconds(event.wait)}"
            yield Line("warning", f"attempt {event.attempt} failed: {one_line(event.error, 200)}{again}", depth)
            return
        if run == self.run_id and not self.answering:
            self.streamed = ""
        if event.component not in CONVERSATION:
            return
        for call in event.message.calls:
            self._calls[run, call.id] = call
        if event.problem:
            yield Line("warning", f"invalid reply: {one_line(event.problem, 200)}", depth)
        elif (thought := (event.thought or event.message.reasoning).strip()) and thought != (
            event.answer or ""
        ).strip():
            yield Line("thought", thought, depth)

    def _acting(
        self, event: ev.ToolStarted | ev.ToolOutput | ev.ToolDone, record: ev.Record, depth: int
    ) -> Iterator[Item]:
        if isinstance(event, ev.ToolStarted):
            self.activity = "working"
            early = self._early_output.pop((record.run, event.call.name), "")
            self.running[record.run, event.call.id] = Card(event.call, depth, record.time, early)
            return
        key = (record.run, event.call_id)
        if isinstance(event, ev.ToolOutput):
            self._add_output(event, record.run)
            return
        call = self._calls.pop(key, None) or ToolCall(event.call_id, event.name)
        card = self.running.pop(key, None) or Card(call, depth, record.time)
        card.done = event
        yield card

    def _add_output(self, event: ev.ToolOutput, run: str) -> None:
        """A call that runs before the model has finished its reply has no id yet, only a name."""
        by_name = (card for (of, _), card in self.running.items() if of == run and card.call.name == event.name)
        card = self.running.get((run, event.call_id)) or next(by_name, None)
        if card is not None:
            card.output += event.text
        else:
            self._early_output[run, event.name] = self._early_output.get((run, event.name), "") + event.text


def _line_of(event: ev.Event, depth: int) -> Iterator[Item]:
    match event:
        case ev.Injected():
            for text in event.texts:
                yield Line("you", text, depth)
        case ev.PlanChanged():
            marks = "\n".join(f"[{'x' if step.done else ' '}] {one_line(step.text, 300)}" for step in event.steps)
            yield Line("plan", marks, depth)
        case ev.ContextCompacted():
            yield Line(
                "divider",
                f"context compacted: {plural(event.original_messages, 'message')} to {event.kept_messages}",
                depth,
            )
        case ev.ToolsChanged():
            names = ", ".join(tool.name for tool in event.tools)
            yield Line("note", f"tools now: {names or 'none'} ({event.reason})", depth)
        case ev.ModelSwitched():
            yield Line(
                "warning", f"switched from {event.previous} to {event.model}: {one_line(event.reason, 160)}", depth
            )
        case ev.DialectDemoted():
            yield Line("warning", f"switched to the dialect {event.dialect}: {one_line(event.reason, 160)}", depth)
        case ev.ProviderToolsUsed():
            yield from _of_provider(event, depth)
        case ev.Observed() if event.looping or not event.progressing:
            yield Line("note", f"observer: {one_line(event.correction or event.reasoning, 200)}", depth)
        case ev.Reflected():
            yield Line("note", f"reflection: {one_line(event.text, 300)}", depth)
        case ev.StepStarted():
            yield Line("note", f"step {event.step} started: {one_line(event.task, 200)}", depth)
        case ev.StepDone():
            outcome = one_line(event.error or event.result, 200)
            yield Line("note", f"step {event.step} {event.status} in {seconds(event.elapsed)}: {outcome}", depth)
        case ev.PhaseChanged() if event.phase.startswith(("handed over to ", "background ")):
            yield Line("note", one_line(event.phase, 200), depth)
        case ev.Resumed(reason="forked"):
            yield Line("divider", "forked", depth)
        case ev.Resumed():
            yield Line("divider", f"resumed ({event.reason})" if event.reason else "resumed", depth)
        case _:
            pass


def _of_provider(event: ev.ProviderToolsUsed, depth: int) -> Iterator[Item]:
    """What the provider did while it wrote the reply, and what the reply cites."""
    for call in event.calls:
        asked = f": {one_line(call.input, 200)}" if call.input else ""
        failed = f" failed ({one_line(call.error, 100)})" if call.error else ""
        yield Line("warning" if failed else "note", f"{call.tool} at the provider{failed}{asked}", depth)
    if event.citations:
        named = [one.title or one.url or one.file for one in event.citations]
        more = f" and {len(named) - MAX_CITED} more" if len(named) > MAX_CITED else ""
        yield Line("note", f"cited: {'; '.join(one_line(name, 80) for name in named[:MAX_CITED])}{more}", depth)


def _decision(event: ev.Approved, tool: str) -> str:
    changed = f" with the arguments {one_line(plain_json(event.args), 200)}" if event.args is not None else ""
    always = " for this run" if event.always else ""
    decision = f"allowed{always}{changed}" if event.allow else "refused"
    by = f" by {event.by}" if event.by else ""
    return f"{tool} {decision}{by}{f': {one_line(event.note, 200)}' if event.note else ''}"


def ending(stop_reason: str, iterations: int, elapsed: float, cost: str, run_id: str) -> str:
    """The last line under a run."""
    what = "" if stop_reason in ("answer", "final_tool") else f"{stop_reason} · "
    return f"{what}{plural(iterations, 'step')} · {seconds(elapsed)} · {cost} · run {run_id[:8]}"


def observation(done: ev.ToolDone) -> str:
    text = text_of(done.content)
    names = ", ".join(artifact.name for artifact in done.artifacts)
    return f"{text}\n[{names}]" if names else text
