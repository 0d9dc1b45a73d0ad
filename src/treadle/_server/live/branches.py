"""Branches of a conversation. Each is a fork of a log: a run in place of another one, from some record of it on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NewType

import msgspec
from msgspec import Struct

from treadle._engine.core.experiment import experiment_mark, experiment_of
from treadle._inspect.replay import last_before_model
from treadle._journal.base import RunInfo
from treadle._server.errors import bad_request, conflict
from treadle._types.events import Forked, Injected, Record, RunFinished, RunStarted
from treadle._types.ids import fresh_id
from treadle._types.messages import AudioPart, Content, FilePart, ImagePart, MediaPart, TextPart

OwnedRun = NewType("OwnedRun", str)
"""The id of a run that whoever asks may see (`owned.py`), or that the hub itself looks after."""


class RunFacts(Struct, frozen=True):
    """What never changes about a run."""

    user: str
    agent: str
    conversation: str
    parent: str
    follows: str = ""
    """The run of its conversation that it continues, as far as it says so."""
    origin: str = ""
    """The run whose log it was copied from."""
    model: str = ""
    preset: str = ""
    files: tuple[tuple[Literal["image", "audio", "file"], str, str], ...] = ()
    """Kind, type and name of what was sent with the question."""
    mark: str = ""
    """The seal of the server that started it."""


def facts_of(records: Sequence[Record]) -> RunFacts:
    first = records[0]
    started = first.event if isinstance(first.event, RunStarted) else RunStarted("")
    origin = next((record.event.origin for record in reversed(records) if isinstance(record.event, Forked)), "")
    return RunFacts(
        started.user,
        started.agent,
        started.conversation,
        first.parent,
        started.follows,
        origin,
        started.model,
        started.preset,
        tuple((KINDS[type(part)], part.mime, part.name) for part in question_files(started.question)),
        started.mark,
    )


KINDS: dict[type[MediaPart], Literal["image", "audio", "file"]] = {
    ImagePart: "image",
    AudioPart: "audio",
    FilePart: "file",
}


def question_files(question: Content) -> list[MediaPart]:
    return [] if isinstance(question, str) else [part for part in question if isinstance(part, MediaPart)]


class ForkPlan(Struct, frozen=True, kw_only=True):
    """What a fork keeps of a run, and what it puts in its place."""

    at: int | None = None
    """The last record that is kept; None for the last one before the run's last model call."""
    question: str = ""
    message: str = ""
    branch: bool = False
    """Whether it belongs to the same conversation, in place of the run."""


def kept_records(records: Sequence[Record], plan: ForkPlan, *, new_id: str, user: str, seal: str = "") -> list[Record]:
    """The records a fork begins with; the first one says whose it is and what is asked."""
    if (mark := experiment_mark(records)) is not None:
        raise conflict(f"this run is an experiment: fork the run it was made with, {experiment_of(mark)}")
    at = last_before_model(records) if plan.at is None else plan.at
    if not 0 <= at < len(records):
        raise conflict(f"`at` is {at}, but the run has the records 0 to {len(records) - 1}")
    if isinstance(records[at].event, RunFinished):
        raise conflict("a run cannot continue after its last record: choose an earlier one")
    if plan.question and at:
        raise bad_request("another question needs `at: 0`: what was found since belongs to the old one")
    started = records[0].event
    assert isinstance(started, RunStarted)
    changes: dict[str, object] = {"user": user, "mark": seal}
    if not plan.branch:
        changes |= {"conversation": new_id, "follows": ""}
    elif not started.conversation:  # it was not started by a server: it is the first of a conversation with its own id
        changes["conversation"] = records[0].run
    if plan.question:
        changes["question"] = _with_text(started.question, plan.question)
    kept = [
        msgspec.structs.replace(records[0], event=msgspec.structs.replace(started, **changes)),
        *records[1 : at + 1],
    ]
    if plan.message:  # recorded before the run starts, so that its next request has it
        kept.append(Record(records[0].run, at + 1, time.time(), Injected((fresh_id(),), (plan.message,))))
    return _as_of_now(kept) if plan.branch else kept


def _as_of_now(records: Sequence[Record]) -> list[Record]:
    """The same distances, ending now: a branch is younger than what it takes the place of."""
    later = max(0.0, time.time() - records[-1].time)
    return [msgspec.structs.replace(record, time=record.time + later) for record in records]


def _with_text(content: Content, text: str) -> Content:
    """Another text beside the same pictures."""
    if isinstance(content, str):
        return text
    return (TextPart(text), *(part for part in content if not isinstance(part, TextPart)))


async def parents(runs: Sequence[RunInfo], facts: Callable[[OwnedRun], Awaitable[RunFacts]]) -> dict[str, str]:
    """The run that each one continues ("" for none), of the runs of a conversation, oldest first."""
    known = {info.run_id for info in runs}
    found: dict[str, str] = {}
    before = ""
    for info in runs:
        its = await facts(OwnedRun(info.run_id))
        continued = its.follows if its.follows in known else before
        found[info.run_id] = found.get(its.origin, continued)
        before = info.run_id
    return found
