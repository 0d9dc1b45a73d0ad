"""Records as the events a client sees, each with an id from which the client can continue.

Pure: the same records give the same events, whenever and from wherever they are read. A stored record's events are
numbered by its `seq`; text that streams is numbered `seq.offset`, where `seq` is the record that opened the message and
`offset` the number of characters seen. So text need not be stored twice: it is cut again from the complete message.

Words of the loop may be the answer, or a thought before a call. They are sent as they come, as an answer that is
`provisional`; then either the answer is confirmed and continues where they end, or they are `retracted`. Whoever reads
the log later sees only what they turned out to be.

`detail="plain"` gives exactly the event names that the protocol documents (step, answer, reset, phase, step_progress,
inject, compact, error, done). `detail="full"` adds names of its own (`thought`, `output`, `activity`) and more phases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from treadle._engine.result import pending_calls
from treadle._server.live.fields import artifact_fields, call_started, usage_fields, waiting_fields
from treadle._server.live.positions import START, ClientEvent, Position
from treadle._types import events as ev
from treadle._types.messages import ToolCall, text_of
from treadle._types.state import CONVERSATION, RunState

Detail = Literal["plain", "full"]
Pairs = Iterator[tuple[str, dict[str, Any]]]
"""Event names with their payloads."""
ANSWERING = ("synthesis", "complete", "own_words")
"""Components (and sources of an answer) whose text streams as the answer."""
FORCED = ("final", "salvage")
"""Components whose text is the answer before the log says so."""


class Projection:
    """Feed it the records of one run in order; it gives the events of each."""

    def __init__(self, detail: Detail = "plain", seen: Position = START) -> None:
        self.full = detail == "full"
        self.state = RunState()
        self.finished = False
        self.whose: dict[str, Any] = {}
        """The run, its parent and its depth."""
        self._seen = seen
        """Where the client was when it connected: it may have seen provisional text that is sent to nobody else."""
        self._thinking = -1
        """The record of the model call whose words are provisional."""
        self._provisional = False
        """Whether such words were sent and nobody knows yet what they are."""
        self._open_text(-1)
        self._streams = False
        self._failing = False
        self._started_calls: set[str] = set()
        self._calls: dict[str, ToolCall] = {}

    def feed(self, record: ev.Record) -> list[ClientEvent]:
        self.state.apply(record)
        if not self.whose:
            self.whose = {"run_id": record.run, "parent": record.parent, "depth": record.depth}
        handler = _HANDLERS.get(type(record.event))
        if handler is None:
            return []
        rest = self._last_piece(record.event.text) if isinstance(record.event, ev.AnswerDone) else None
        # The second event of a record has offset 0, the third offset 1.
        pairs = enumerate(handler(self, record.event, record), -1)
        events = [ClientEvent(name, data, Position(record.seq, offset)) for offset, (name, data) in pairs]
        return [rest, *events] if rest is not None else events

    def answer_text(self, text: str, at: Position) -> Iterator[ClientEvent]:
        """Words that stream as the answer, and end at `at` in the open message."""
        if self.text_base >= 0:
            if (piece := self.piece(text)) is not None:
                yield piece
            return
        start = at.offset - len(text)
        if not self._provisional:
            self._provisional = True
            yield ClientEvent("answer", {"status": "start", "provisional": True}, Position(at.seq, start))
        self._sent.append(text)
        self._length += len(text)
        yield ClientEvent("answer", {"status": "delta", "content": text, "provisional": True}, at, start)

    def retraction(self, at: Position) -> Iterator[ClientEvent]:
        """The words that stream as the answer are not the answer; those after them may be."""
        if self._sent:
            yield ClientEvent("answer", {"status": "retracted"}, at)
        self._withdraw()

    def _withdraw(self) -> None:
        self._provisional = False
        self._sent, self._length, self._held = [], 0, ""

    def _not_the_answer(self) -> Pairs:
        """For an event after which provisional words, or an answer that is half written, do not count."""
        if self._provisional or (self._thinking >= 0 and self._seen.seq == self._thinking and self._seen.offset >= 0):
            yield "answer", {"status": "retracted"}
        self._thinking = -1
        self._open_text(-1)

    def piece(self, more: str) -> ClientEvent | None:
        """More text of the open answer. White space around an answer is not part of it: trailing space is held back."""
        if self.text_base < 0 or not self._streams:
            return None
        text = self._held + more
        text = text if self._length else text.lstrip()
        shown = text.rstrip()
        self._held = text[len(shown) :]
        return self._delta(shown)

    def _last_piece(self, text: str) -> ClientEvent | None:
        if self.text_base >= 0 and text.startswith("".join(self._sent)):
            return self._delta(text[self._length :])
        return None

    def _delta(self, text: str) -> ClientEvent | None:
        if not text:
            return None
        start = self._length
        self._sent.append(text)
        self._length += len(text)
        return ClientEvent(
            "answer", {"status": "delta", "content": text}, Position(self.text_base, self._length), start
        )

    def _open_text(self, base: int) -> None:
        """`base` is the record whose answer is written now; -1 when none is."""
        self.text_base = base
        self._provisional = False
        self._sent: list[str] = []
        self._length = 0
        self._held = ""

    def is_open(self, call_id: str) -> bool:
        """Whether a call has started and has no result yet."""
        return call_id in self._started_calls

    # ---- one method per event that is shown

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> Pairs:
        if event.component in CONVERSATION:
            yield "step", {"type": "thinking", "status": "start", "iteration": event.iteration}
            yield from self._not_the_answer()
            self._thinking = record.seq
        elif event.component in FORCED:
            self._thinking = record.seq
        elif self.full and event.component not in ANSWERING:
            yield "activity", {"component": event.component, "status": "start", "iteration": event.iteration}

    def on_think_failed(self, event: ev.ThinkFailed, record: ev.Record) -> Pairs:
        if event.component in ANSWERING and self.text_base >= 0:
            self._open_text(record.seq)
        elif self._provisional and (event.component in CONVERSATION or event.component in FORCED):
            self._withdraw()
        elif not self.full:
            return
        yield (
            "reset",
            {"component": event.component, "attempt": event.attempt, "error": event.error, "wait": event.wait},
        )

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> Pairs:
        if event.component in CONVERSATION:
            self._calls = {call.id: call for call in event.message.calls}
            reasoning = event.thought or event.message.reasoning
            yield "step", {"type": "thinking", "status": "done", "iteration": event.iteration, "reasoning": reasoning}
            if event.message.calls or event.problem:
                yield from self._not_the_answer()
        elif self.full and event.component not in ANSWERING:
            yield (
                "activity",
                {
                    "component": event.component,
                    "status": "done",
                    "iteration": event.iteration,
                    "elapsed": event.elapsed,
                },
            )

    def on_tool_started(self, event: ev.ToolStarted, record: ev.Record) -> Pairs:
        self._started_calls.add(event.call.id)
        yield call_started(event.iteration, event.call)

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> Pairs:
        if event.call_id not in self._started_calls:
            yield call_started(event.iteration, self._calls.get(event.call_id, ToolCall(event.call_id, event.name)))
        self._started_calls.discard(event.call_id)
        data: dict[str, Any] = {
            "type": "iteration",
            "status": "done",
            "iteration": event.iteration,
            "tool_name": event.name,
            "observation": text_of(event.content),
            "error": event.error or None,
            "iter_elapsed": event.elapsed,
            "call_id": event.call_id,
        }
        if event.artifacts:
            data["artifacts"] = [artifact_fields(artifact) for artifact in event.artifacts]
        if event.full is not None:
            data["truncated"] = True
        yield "step", data

    def on_injected(self, event: ev.Injected, record: ev.Record) -> Pairs:
        yield "inject", {"type": "inject", "content": "\n\n".join(event.texts), "ids": event.ids}
        if self.text_base >= 0:
            self._provisional = True
        yield from self._not_the_answer()

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> Pairs:
        if self._provisional:
            yield from self._not_the_answer()

    def on_context_compacted(self, event: ev.ContextCompacted, record: ev.Record) -> Pairs:
        data = {
            "original_messages": event.original_messages,
            "kept_messages": event.kept_messages,
            "reason": event.reason,
        }
        yield "compact", data | ({"summary": event.summary} if self.full else {})

    def on_phase(self, event: ev.PhaseChanged, record: ev.Record) -> Pairs:
        yield "phase", {"phase": event.phase}

    def on_tool_selection_started(self, event: ev.ToolSelectionStarted, record: ev.Record) -> Pairs:
        yield "phase", {"phase": "selecting_tools", "total_tools": event.total_tools}

    def on_dag_mode_chosen(self, event: ev.DagModeChosen, record: ev.Record) -> Pairs:
        yield "phase", {"phase": "mode", "mode": event.mode}

    def on_dag_planning(self, event: ev.DagPlanning, record: ev.Record) -> Pairs:
        yield "phase", {"phase": "planning"}

    def on_dag_planned(self, event: ev.DagPlanned, record: ev.Record) -> Pairs:
        notes = {"notes": event.notes} if event.notes else {}
        yield "phase", {"phase": "plan", "round": event.round, "steps": msgspec.to_builtins(event.steps), **notes}

    def on_dag_judged(self, event: ev.DagJudged, record: ev.Record) -> Pairs:
        data = {name: getattr(event, name) for name in event.__struct_fields__}
        yield "phase", {"phase": "verdict", **data}

    def on_plan_changed(self, event: ev.PlanChanged, record: ev.Record) -> Pairs:
        steps = [{"text": step.text, "done": step.done} for step in event.steps]
        yield "phase", {"phase": "checklist", "steps": steps, "iteration": event.iteration}

    def on_paused(self, event: ev.Paused, record: ev.Record) -> Pairs:
        waiting = pending_calls(self.state)
        calls = [waiting_fields(call) for call in waiting]
        parked = {"parked": event.parked} if event.parked else {}
        yield "phase", {"phase": "paused", "reason": event.reason, "calls": calls, **parked}

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> Pairs:
        yield "phase", {"phase": "resumed", "reason": event.reason}

    def on_approved(self, event: ev.Approved, record: ev.Record) -> Pairs:
        yield (
            "phase",
            {
                "phase": "approved" if event.allow else "refused",
                "call_id": event.call_id,
                "allow": event.allow,
                "by": event.by,
                "note": event.note,
                "always": event.always,
                **({"tool_args": event.args} if event.args is not None else {}),
            },
        )

    def on_tool_answered(self, event: ev.ToolAnswered, record: ev.Record) -> Pairs:
        yield "phase", {"phase": "answered", "call_id": event.call_id, "by": event.by, "error": event.error}

    def on_step_started(self, event: ev.StepStarted, record: ev.Record) -> Pairs:
        data = {"step": event.step, "status": "started", "task": event.task, "run": event.run, "round": event.round}
        yield "step_progress", data

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> Pairs:
        yield (
            "step_progress",
            {
                "step": event.step,
                "status": event.status,
                "result": event.result,
                "error": event.error or None,
                "elapsed": event.elapsed,
                "usage": usage_fields(event.usage),
                "round": event.round,
            },
        )

    def on_other(self, event: Any, record: ev.Record) -> Pairs:
        """What happened outside the loop: a phase of the same name, with `detail="full"` only."""
        if self.full:
            data: dict[str, Any] = msgspec.to_builtins(event)
            if isinstance(event, ev.ToolsChanged):
                data["tools"] = [tool.name for tool in event.tools]
            yield "phase", {**data, "phase": data.pop("type")}

    def on_answer_started(self, event: ev.AnswerStarted, record: ev.Record) -> Pairs:
        self._failing = event.source == "error"
        if self._failing:
            return
        if self._provisional and event.source not in ANSWERING:  # now it is known: it continues where it is
            yield "step", {"type": "answer", "status": "start"}
            self.text_base, self._provisional, self._streams = record.seq, False, False
            return
        if self.text_base >= 0:  # the process ended while the answer was being written
            yield "reset", {"component": event.source, "attempt": 1, "error": "restarted", "wait": None}
        else:
            yield "step", {"type": "answer", "status": "start"}
        self._open_text(record.seq)
        self._streams = event.source in ANSWERING
        yield "answer", {"status": "start"}

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> Pairs:
        if self.text_base < 0:
            return
        if "".join(self._sent) != event.text:  # a plug-in changed the answer after it streamed: the recorded one counts
            changed = {"component": event.source, "attempt": 1, "error": "the answer was changed", "wait": None}
            yield "reset", {**changed, "replaced": True}
            yield "answer", {"status": "delta", "content": event.text}
        self._open_text(-1)
        yield "answer", {"status": "done"}

    def on_run_finished(self, event: ev.RunFinished, record: ev.Record) -> Pairs:
        self.finished = True
        state = self.state
        failed = event.stop_reason in ("error", "empty") or (
            bool(event.error) and (self._failing or state.answer.done is None)
        )
        if failed:
            told = {"type": event.error_type or "error", "message": event.error or event.answer}
            yield "error", {**told, "stop_reason": event.stop_reason, "partial": event.answer}
        yield (
            "done",
            {
                "answer": "" if failed else event.answer,
                "iterations": state.iteration,
                "usage": usage_fields(state.usage),
                "elapsed": state.updated - state.created,
                "stop_reason": event.stop_reason,
                "success": event.success,
                "run_id": record.run,
                **({"unread": event.unread} if event.unread else {}),
            },
        )


_HANDLERS: dict[type, Callable[[Projection, Any, ev.Record], Pairs]] = {
    ev.ThinkStarted: Projection.on_think_started,
    ev.ThinkFailed: Projection.on_think_failed,
    ev.ThinkDone: Projection.on_think_done,
    ev.ToolStarted: Projection.on_tool_started,
    ev.ToolDone: Projection.on_tool_done,
    ev.Injected: Projection.on_injected,
    ev.MessageAdded: Projection.on_message_added,
    ev.ContextCompacted: Projection.on_context_compacted,
    ev.PhaseChanged: Projection.on_phase,
    ev.ToolSelectionStarted: Projection.on_tool_selection_started,
    ev.DagModeChosen: Projection.on_dag_mode_chosen,
    ev.DagPlanning: Projection.on_dag_planning,
    ev.DagPlanned: Projection.on_dag_planned,
    ev.DagJudged: Projection.on_dag_judged,
    ev.AnswerOnly: Projection.on_other,
    ev.MessageRetracted: Projection.on_other,
    ev.PlanChanged: Projection.on_plan_changed,
    ev.Paused: Projection.on_paused,
    ev.Resumed: Projection.on_resumed,
    ev.Approved: Projection.on_approved,
    ev.ToolAnswered: Projection.on_tool_answered,
    ev.StepStarted: Projection.on_step_started,
    ev.StepDone: Projection.on_step_done,
    ev.Observed: Projection.on_other,
    ev.Reflected: Projection.on_other,
    ev.ModelSwitched: Projection.on_other,
    ev.DialectDemoted: Projection.on_other,
    ev.ToolsChanged: Projection.on_other,
    ev.ReplyCapped: Projection.on_other,
    ev.ProviderToolsUsed: Projection.on_other,
    ev.AnswerStarted: Projection.on_answer_started,
    ev.AnswerDone: Projection.on_answer_done,
    ev.RunFinished: Projection.on_run_finished,
}
