"""View items as the events a client sees, each with an id from which the client can continue.

Pure: the same records give the same events, whenever and from wherever they are read. A stored record's events are
numbered by its `seq`; text that streams is numbered `seq.offset`, where `seq` is the record that opened the message and
`offset` the number of characters seen. So text need not be stored twice: it is cut again from the complete message.

Words of the loop may be the answer, or a thought before a call. They are sent as they come, as an answer that is
`provisional`; then either the answer is confirmed and continues where they end, or they are `retracted`. Whoever reads
the log later sees only what they turned out to be.

`detail="plain"` gives exactly the event names that the protocol documents (step, answer, reset, phase, step_progress,
inject, compact, error, done). `detail="full"` adds names of its own (`thought`, `output`, `activity`) and more phases.
`detail="items"` gives the view items themselves: `items`, those that a record added or changed, and `piece`, more text
of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast

import msgspec

from treadle._server.live.positions import START, ClientEvent, Position
from treadle._types import events as ev
from treadle._types.state import CONVERSATION, RunState
from treadle._types.usage import Usage
from treadle._view import items as it
from treadle._view.fold import RunView

Detail = Literal["plain", "full", "items"]
Streamed = ev.AnswerDelta | ev.AnswerRetracted | ev.TextStreamed | ev.ToolOutput
Pairs = Iterator[tuple[str, dict[str, Any]]]
"""Event names with their payloads."""
ANSWERING = ("synthesis", "complete", "own_words")
"""Components (and sources of an answer) whose text streams as the answer."""
FORCED = ("final", "salvage")
"""Components whose text is the answer before the log says so."""
_PLAIN_TOPICS = frozenset(("phase", "selecting_tools", "mode", "planning", "verdict", "resumed"))
"""The notices that are sent without `detail="full"`, too."""


class Projection:
    """Feed it the records of one run in order; it gives the events of each."""

    def __init__(self, detail: Detail = "plain", seen: Position = START) -> None:
        self.full = detail == "full"
        self.items = detail == "items"
        self.view = RunView()
        self.finished = False
        self.whose: dict[str, Any] = {}
        """The run, its parent and its depth."""
        self._seen = seen
        """Where the client was when it connected: it may have seen provisional text that is sent to nobody else."""
        self._thinking = -1
        """The record of the model call whose words are provisional."""
        self._open_text(-1)
        self._streams = False
        self._costs: list[it.Put] = []
        """What the text that streams has cost by now: sent with the next record."""

    @property
    def state(self) -> RunState:
        """The fold of the records so far."""
        return self.view.state

    def feed(self, record: ev.Record) -> list[ClientEvent]:
        if not self.whose:
            self.whose = {"run_id": record.run, "parent": record.parent, "depth": record.depth}
        changes = cast("Sequence[it.Put]", self.view.feed(record))  # what streams is not recorded
        self.finished = self.state.finished is not None
        if isinstance(record.event, ev.AnswerPartial):  # shown as text that streams, by whoever has no better source
            self._costs = [change for change in changes if isinstance(change.item, it.Cost)]
            return []
        changes, self._costs = [*self._costs, *changes], []
        if self.items:
            return self._changed_items(changes, record.seq)
        rest = self._last_piece(record.event.text) if isinstance(record.event, ev.AnswerDone) else None
        pairs: list[tuple[str, dict[str, Any]]] = []
        for change in changes:
            if (draw := _DRAWN.get(type(change.item))) is not None:
                pairs.extend(draw(self, change.item, change.before, record.seq))
        # The second event of a record has offset 0, the third offset 1.
        events = [
            ClientEvent(name, data, Position(record.seq, offset)) for offset, (name, data) in enumerate(pairs, -1)
        ]
        return [rest, *events] if rest is not None else events

    # ---- what streams between records

    def live(self, source: Streamed, text: str, at: Position) -> Iterator[ClientEvent]:
        """Text that ends at `at` in the open message, of an event that is `source` but for its text.

        Calls that run in parallel write in turn, so their output is numbered together, after the record it followed.
        """
        start = at.offset - len(text)
        if self.items:
            yield from self._changes(source, text, at)
            return
        match source:
            case ev.AnswerDelta():
                yield from self._answer_text(text, at)
            case ev.AnswerRetracted():
                yield from self._retraction(at)
            case ev.TextStreamed():
                whose = {"component": source.component, "iteration": source.iteration, "reasoning": source.reasoning}
                if self.full:
                    yield ClientEvent("thought", {"content": text, **whose}, at, start)
            case ev.ToolOutput():
                whose = {"call_id": source.call_id, "tool_name": source.name}
                if self.full and self._is_open(source.call_id):  # else its result has been shown
                    yield ClientEvent("output", {"content": text, **whose}, at, start)

    # ---- items

    def _changed_items(self, changes: Sequence[it.Put], seq: int) -> list[ClientEvent]:
        changed = [change.item for change in changes]
        thoughts = [item for item in changed if isinstance(item, it.Thought) and self._ends_draft(item)]
        if any(self._left_draft(item, seq) for item in thoughts):
            changed.append(it.Answer("answer", "retracted"))
        return [ClientEvent("items", {"items": changed}, Position(seq))] if changed else []

    def _changes(self, source: Streamed, text: str, at: Position) -> Iterator[ClientEvent]:
        event = source if isinstance(source, ev.AnswerRetracted) else msgspec.structs.replace(source, text=text)
        record = ev.Record(str(self.whose.get("run_id", "")), at.seq, 0.0, event, offset=max(1, at.offset))
        start = at.offset - len(text)
        for change in self.view.feed(record):
            if isinstance(change, it.More):
                data = {"item": change.id, "content": change.text, "reasoning": change.reasoning}
                yield ClientEvent("piece", data, at, start)
            else:
                yield ClientEvent("items", {"items": [change.item]}, Position(at.seq, start), opens=True)

    # ---- text of the answer

    def _answer_text(self, text: str, at: Position) -> Iterator[ClientEvent]:
        """Words that stream as the answer, and end at `at` in the open message."""
        if self.text_base >= 0:
            if (piece := self.piece(text)) is not None:
                yield piece
            return
        start = at.offset - len(text)
        if not self._is_draft():
            yield ClientEvent("answer", {"status": "start", "provisional": True}, Position(at.seq, start))
        self._live(ev.AnswerDelta(text, provisional=True))
        self._sent.append(text)
        self._length += len(text)
        yield ClientEvent("answer", {"status": "delta", "content": text, "provisional": True}, at, start)

    def _retraction(self, at: Position) -> Iterator[ClientEvent]:
        """The words that stream as the answer are not the answer; those after them may be."""
        if self._sent:
            yield ClientEvent("answer", {"status": "retracted"}, at)
        if self._is_draft():
            self._live(ev.AnswerRetracted(""))
        self._forget_text()

    def _live(self, event: ev.Event) -> None:
        self.view.feed(ev.Record("", max(0, self.state.seq), 0.0, event, offset=1))

    def _is_draft(self) -> bool:
        """Return whether words were sent of which nobody knows yet whether they are the answer."""
        return self.view.answer is not None and self.view.answer.state == "draft"

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
        self._forget_text()

    def _forget_text(self) -> None:
        self._sent: list[str] = []
        self._length = 0
        self._held = ""

    def _is_open(self, call_id: str) -> bool:
        """Return whether a call has started and has no result yet."""
        call = self.view.call(call_id)
        return call is not None and call.state == "running"

    # ---- one method per kind of item

    def on_thought(self, item: it.Thought, before: it.Item | None, seq: int) -> Pairs:
        status = "start" if item.state == "open" else item.state
        if status == "void" or (status == "start" and before is not None):
            return
        if item.component in CONVERSATION:
            data = {"type": "thinking", "status": status, "iteration": item.iteration}
            yield "step", data if status == "start" else {**data, "reasoning": item.text or item.reasoning}
            if self._ends_draft(item) and self._left_draft(item, seq):
                yield "answer", {"status": "retracted"}
        elif item.component in FORCED:
            self._thinking = seq if status == "start" else self._thinking
        elif self.full and item.component not in ANSWERING:
            data = {"component": item.component, "status": status, "iteration": item.iteration}
            yield "activity", data if status == "start" else {**data, "elapsed": item.elapsed}

    def _ends_draft(self, item: it.Thought) -> bool:
        """Return whether words that streamed as the answer before this are not the answer."""
        if item.component not in CONVERSATION or (item.attempts and item.state == "open"):
            return False
        return item.state == "open" or bool(item.calls or item.problem)

    def _left_draft(self, item: it.Thought, seq: int) -> bool:
        """Return whether this client alone has seen such words, on an earlier connection."""
        seen = self._thinking >= 0 and self._seen.seq == self._thinking and self._seen.offset >= 0
        self._thinking = seq if item.state == "open" else -1
        return seen and not self._sent

    def on_answer(self, item: it.Answer, before: it.Item | None, seq: int) -> Pairs:
        match item.state:
            case "open" if item.source != "error":
                yield from self._answer_started(item, before, seq)
            case "final" if self.text_base >= 0:
                if "".join(self._sent) != item.text:  # it was changed after it streamed: the recorded one counts
                    changed = {"component": item.source, "attempt": 1, "error": "the answer was changed", "wait": None}
                    yield "reset", {**changed, "replaced": True}
                    yield "answer", {"status": "delta", "content": item.text}
                self._open_text(-1)
                yield "answer", {"status": "done"}
            case "retracted":
                self._open_text(-1)
                yield "answer", {"status": "retracted"}
            case "void":
                self._forget_text()
            case _:
                pass

    def _answer_started(self, item: it.Answer, before: it.Item | None, seq: int) -> Pairs:
        draft = isinstance(before, it.Answer) and before.state == "draft"
        if draft and item.source not in ANSWERING:  # now it is known: it continues where it is
            yield "step", {"type": "answer", "status": "start"}
            self.text_base, self._streams = seq, False
            return
        if self.text_base >= 0:  # the process ended while the answer was being written
            yield "reset", {"component": item.source, "attempt": 1, "error": "restarted", "wait": None}
        else:
            yield "step", {"type": "answer", "status": "start"}
        self._open_text(seq)
        self._streams = item.source in ANSWERING
        yield "answer", {"status": "start"}

    def on_retry(self, item: it.Retry, before: it.Item | None, seq: int) -> Pairs:
        if item.component in ANSWERING and self.text_base >= 0:
            self._open_text(seq)
        elif not self.full and not (self._sent and self.text_base < 0 and item.component in (*CONVERSATION, *FORCED)):
            return
        data = {"component": item.component, "attempt": item.attempt, "error": item.error, "wait": item.wait}
        yield "reset", data

    def on_call(self, item: it.Call, before: it.Item | None, seq: int) -> Pairs:
        was = before.state if isinstance(before, it.Call) else ""
        if item.state == "running":  # also when it is run again after a restart
            if was != "running" or item.began != cast("it.Call", before).began:
                yield call_started(item)
        elif item.ended and was not in it.ENDED and (item.error or item.state != "cancelled"):
            if was != "running":
                yield call_started(item)
            artifacts = [artifact_fields(artifact) for artifact in item.artifacts]
            yield (
                "step",
                {
                    "type": "iteration",
                    "status": "done",
                    "iteration": item.iteration,
                    "tool_name": item.tool,
                    "observation": item.content,
                    "error": item.error or None,
                    "iter_elapsed": item.elapsed,
                    "call_id": item.call_id,
                    **({"artifacts": artifacts} if artifacts else {}),
                    **({"truncated": True} if item.truncated else {}),
                },
            )

    def on_interrupt(self, item: it.Interrupt, before: it.Item | None, seq: int) -> Pairs:
        yield "inject", {"type": "inject", "content": "\n\n".join(item.texts), "ids": item.message_ids}

    def on_compaction(self, item: it.Compaction, before: it.Item | None, seq: int) -> Pairs:
        counts = {"original_messages": item.original_messages, "kept_messages": item.kept_messages}
        yield "compact", {**counts, "reason": item.reason, **({"summary": item.summary} if self.full else {})}

    def on_plan(self, item: it.Plan, before: it.Item | None, seq: int) -> Pairs:
        steps = [{name: value for name, value in msgspec.to_builtins(step).items() if value} for step in item.steps]
        notes = {"notes": item.notes} if item.notes else {}
        yield "phase", {"phase": "plan", "round": item.round, "steps": steps, **notes}

    def on_plan_step(self, item: it.PlanStep, before: it.Item | None, seq: int) -> Pairs:
        if item.state != "waiting":
            yield "step_progress", step_fields(item)

    def on_checklist(self, item: it.Checklist, before: it.Item | None, seq: int) -> Pairs:
        steps = [{"text": step.text, "done": step.done} for step in item.steps]
        yield "phase", {"phase": "checklist", "steps": steps, "iteration": item.iteration}

    def on_pause(self, item: it.Pause, before: it.Item | None, seq: int) -> Pairs:
        calls = [waiting_fields(call) for call_id in item.calls if (call := self.view.call(call_id)) is not None]
        parked = {"parked": item.parked} if item.parked else {}
        yield "phase", {"phase": "paused", "reason": item.reason, "calls": calls, **parked}

    def on_decision(self, item: it.Decision, before: it.Item | None, seq: int) -> Pairs:
        yield "phase", decision_fields(item)

    def on_provider_use(self, item: it.ProviderUse, before: it.Item | None, seq: int) -> Pairs:
        if self.full:
            fields = msgspec.to_builtins(item)
            yield "phase", {"phase": "provider_tools_used", **{name: fields[name] for name in _OF_PROVIDER}}

    def on_notice(self, item: it.Notice, before: it.Item | None, seq: int) -> Pairs:
        if self.full or item.topic in _PLAIN_TOPICS:
            yield "phase", {"phase": item.topic, **item.fields}

    def on_end(self, item: it.End, before: it.Item | None, seq: int) -> Pairs:
        if item.failed:
            told = {"type": item.error_type or "error", "message": item.error or item.partial}
            yield "error", {**told, "stop_reason": item.stop_reason, "partial": item.partial}
        yield "done", {**done_fields(item), "usage": usage_fields(self.state.usage), "run_id": self.whose["run_id"]}


_OF_PROVIDER = ("component", "iteration", "calls", "citations")
_DRAWN: dict[type, Callable[[Projection, Any, it.Item | None, int], Pairs]] = {
    it.Thought: Projection.on_thought,
    it.Answer: Projection.on_answer,
    it.Retry: Projection.on_retry,
    it.Call: Projection.on_call,
    it.Interrupt: Projection.on_interrupt,
    it.Compaction: Projection.on_compaction,
    it.Plan: Projection.on_plan,
    it.PlanStep: Projection.on_plan_step,
    it.Checklist: Projection.on_checklist,
    it.Pause: Projection.on_pause,
    it.Decision: Projection.on_decision,
    it.ProviderUse: Projection.on_provider_use,
    it.Notice: Projection.on_notice,
    it.End: Projection.on_end,
}


# ---- items as fields


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {**{name: getattr(usage, name) for name in Usage.__struct_fields__}, "total_tokens": usage.total_tokens}


def artifact_fields(artifact: it.ArtifactLine) -> dict[str, Any]:
    return {name: getattr(artifact, name) for name in it.ArtifactLine.__struct_fields__}


def waiting_fields(call: it.Call) -> dict[str, Any]:
    fields = {"call_id": call.call_id, "tool_name": call.tool, "tool_args": call.args, "why": call.why}
    return {**fields, "external": True} if call.external else fields


def call_started(call: it.Call) -> tuple[str, dict[str, Any]]:
    what = {"tool_name": call.tool, "tool_args": call.args, "call_id": call.call_id}
    return "step", {"type": "iteration", "status": "start", "iteration": call.iteration, **what}


def decision_fields(item: it.Decision) -> dict[str, Any]:
    if item.decided == "answered":
        return {"phase": "answered", "call_id": item.call_id, "by": item.by, "error": item.failed}
    return {
        "phase": "approved" if item.decided == "allowed" else "refused",
        "call_id": item.call_id,
        "allow": item.decided == "allowed",
        "by": item.by,
        "note": item.note,
        "always": item.always,
        **({"tool_args": item.args} if item.args is not None else {}),
    }


def step_fields(item: it.PlanStep) -> dict[str, Any]:
    if item.state == "running":
        started = {"step": item.step, "status": "started", "task": item.task}
        return {**started, "run": item.run, "round": item.round}
    return {
        "step": item.step,
        "status": item.state,
        "result": item.result,
        "error": item.error or None,
        "elapsed": item.elapsed,
        "usage": usage_fields(item.usage),
        "round": item.round,
    }


def done_fields(item: it.End) -> dict[str, Any]:
    return {
        "answer": item.answer,
        "iterations": item.iterations,
        "elapsed": item.elapsed,
        "stop_reason": item.stop_reason,
        "success": item.success,
        **({"unread": item.unread} if item.unread else {}),
        **({"ledger": msgspec.to_builtins(item.ledger)} if item.ledger else {}),
    }
