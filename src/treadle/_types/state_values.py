"""The values a run's state is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from treadle._types.usage import Counters as Counters
from treadle._types.usage import Spent as Spent
from treadle._types.usage import Step as Step


class Entry(Struct, frozen=True, gc=False):
    """A message in the window, and the record and component that put it there."""

    message: Message
    seq: int
    component: str


class OpenCall(Struct, gc=False):
    """A call of the last reply: asked for, perhaps under way, perhaps finished; not yet shown to the model."""

    call: ToolCall
    started: bool = False
    made: ToolCall | None = None
    """The call as it was executed."""
    effect: str = "unsafe"
    """What its tool said, when it was started, about running it again."""
    done: ev.ToolDone | None = None
    seq: int = -1
    """The record of `done`."""


class ReplyConstraint(Struct, frozen=True, gc=False):
    """What the next reply is held to, where the dialect can."""

    must_act: bool = False
    barred: frozenset[str] = frozenset()
    think: bool = False


UNCONSTRAINED = ReplyConstraint()


class DagState(Struct, gc=False):
    """Where a DAG run stands."""

    mode: str = ""
    plan: ev.DagPlanned | None = None
    verdicts: list[ev.DagJudged] = []
    steps: dict[str, ev.StepDone] = {}
    """Ended steps, by the key of their work."""
    runs: dict[str, str] = {}
    """The run of each step that has begun."""
    planning: bool = False
    """Whether a new plan is being made."""
    judged: bool = False
    """Whether the current plan's round has its verdict already."""

    def on_dag_mode_chosen(self, event: ev.DagModeChosen, record: ev.Record) -> None:
        self.mode = event.mode

    def on_dag_planning(self, event: ev.DagPlanning, record: ev.Record) -> None:
        self.planning = True

    def on_dag_planned(self, event: ev.DagPlanned, record: ev.Record) -> None:
        self.plan, self.planning, self.judged = event, False, False

    def on_dag_judged(self, event: ev.DagJudged, record: ev.Record) -> None:
        self.verdicts.append(event)
        self.judged = True

    def on_step_started(self, event: ev.StepStarted, record: ev.Record) -> None:
        self.runs[event.step] = event.run

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        self.steps[event.key or event.step] = event


def groups(window: Iterable[Entry]) -> Iterator[list[Entry]]:
    """The window as units that must stay together: a reply with calls and its results, or a single message."""
    group: list[Entry] = []
    for entry in window:
        if isinstance(entry.message, ToolMessage) and group:
            group.append(entry)
            continue
        if group:
            yield group
        group = [entry]
    if group:
        yield group


def flat(parts: Iterable[Any]) -> str:
    """Content parts as one text."""
    return "\n".join(str(getattr(part, "text", "") or "[image]") for part in parts)


def compacted(window: Iterable[Entry], event: ev.ContextCompacted, seq: int) -> list[Entry]:
    """The window after a compaction that is record `seq`."""
    covers, unpinned = set(event.covers), set(event.unpinned)
    kept: list[Entry] = []
    summary_placed = not event.summary
    for entry in window:
        if entry.seq in covers and entry.component != "question":
            if not summary_placed:
                kept.append(Entry(UserMessage(event.summary, kind="summary"), seq, "summary"))
                summary_placed = True
            continue
        message = entry.message
        if entry.seq in event.replaced and not isinstance(message, AssistantMessage) and hasattr(message, "content"):
            message = msgspec.structs.replace(message, content=event.replaced[entry.seq])
        if entry.seq in unpinned and isinstance(message, UserMessage) and entry.component != "question":
            message = msgspec.structs.replace(message, pinned=False)
        kept.append(entry if message is entry.message else Entry(message, entry.seq, entry.component))
    return kept
