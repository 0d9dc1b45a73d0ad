"""Looking at a run again: replay its requests from the log, fork it at any step, and say where each byte came from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from treadle._dialects.registry import dialect_for
from treadle._engine.core.experiment import experiment_mark, experiment_of
from treadle._engine.requests.render import Renderer, digest_of
from treadle._engine.settings import Settings
from treadle._journal.base import Journal
from treadle._types.errors import ConfigError
from treadle._types.events import Event, Forked, Record, RunFinished, ThinkDone, ThinkStarted, TreeSaved
from treadle._types.ids import fresh_id
from treadle._types.messages import Message, SystemMessage
from treadle._types.request import Request
from treadle._types.state import CONVERSATION, RunState


class Difference(Struct, frozen=True):
    """The first place where a request, rendered again, is not what was sent."""

    seq: int
    component: str
    message: int
    """Which message of the request; -1 when the tools or the format differ, not a message."""
    sent: str = ""
    rendered: str = ""

    def __str__(self) -> str:
        where = f"message {self.message}" if self.message >= 0 else "tools, format or parameters"
        return f"the request of record {self.seq} differs in its {where} (from: {self.component})" + _first_difference(
            self.sent, self.rendered
        )


class Replay(Struct, frozen=True):
    requests: int
    difference: Difference | None = None

    @property
    def same(self) -> bool:
        return self.difference is None


Origins = Sequence[tuple[tuple[int, ...], str]]


class Rendering(Struct, frozen=True):
    """A request as the log says it was sent, and as it comes out of the same log now.

    Its messages and their origins are the renderer's own lists, which grow with the next request: read them before.
    """

    record: Record
    event: ThinkStarted
    request: Request
    digest: str
    parts: tuple[str, ...]
    raw_origins: Origins

    @property
    def origins(self) -> list[tuple[tuple[int, ...], str]]:
        """The records and the component of each message. Those of an earlier conversation have numbers below zero in
        the state; they stand in the first record."""
        return [(tuple(dict.fromkeys(max(0, seq) for seq in seqs)), of) for seqs, of in self.raw_origins]


def renderings(records: Sequence[Record]) -> Iterator[Rendering]:
    """Fold the log and render every request of it again. No model is called."""
    state = RunState()
    renderer: Renderer | None = None
    for record in records:
        event = record.event
        if isinstance(event, ThinkStarted):
            if event.component in CONVERSATION:
                if renderer is None or renderer.dialect.name != state.dialect or renderer.profile is not state.profile:
                    renderer = _renderer(state)
                rendered = renderer.render(
                    state, component=event.component, must_answer=bool(state.constraints.answer_only)
                )
                yield Rendering(record, event, rendered.request, rendered.digest, rendered.parts, renderer.origins)
            else:
                yield _advice(record, event, state)
        state.apply(record)


def replay(records: Sequence[Record]) -> Replay:
    """Compare every request of a run, byte for byte, with what its log renders to now."""
    count = 0
    for rendering in renderings(records):
        count += 1
        if rendering.digest != rendering.event.digest:
            return Replay(count, _difference(rendering))
    return Replay(count)


class Segment(Struct, frozen=True):
    """A stretch of a request: whose it is and what it cost."""

    start: int
    end: int
    component: str
    records: tuple[int, ...]
    tokens: float
    text: str


def blame(records: Sequence[Record], seq: int) -> list[Segment]:
    """The request that record `seq` sent, each byte with the records and the component it came from.

    The tokens are the provider's count for this request, shared out by size.
    """
    rendering = next((r for r in renderings(records) if r.record.seq == seq), None)
    if rendering is None:
        requests = [record.seq for record in records if isinstance(record.event, ThinkStarted)]
        raise ConfigError(f"record {seq} is not a model request; those are: {', '.join(map(str, requests))}")
    of = rendering.request.component
    later = (record.event for record in records if record.seq > seq)
    done = next((event for event in later if isinstance(event, ThinkDone) and event.component == of), None)
    pieces: list[tuple[str, tuple[int, ...], str]] = []
    for message, (seqs, component) in zip(rendering.request.messages, rendering.origins, strict=True):
        pieces.extend(_pieces(message, seqs, component, records))
    if rendering.request.tools:
        pieces.append(("tools", (), msgspec.json.encode(rendering.request.tools).decode()))
    total = sum(len(text.encode()) for _, _, text in pieces) or 1
    tokens = done.usage.input_tokens if done is not None else 0
    segments: list[Segment] = []
    index = 0
    for component, seqs, text in pieces:
        size = len(text.encode())
        segments.append(Segment(index, index + size, component, seqs, tokens * size / total, text))
        index += size
    return segments


async def fork(journal: Journal, run_id: str, at: int | None = None, *, new_id: str = "") -> str:
    """Copy a run's records before step `at` (its iteration number; the last one when not given) into a new run, which
    `Agent.resume` resumes. So a run that failed goes on from where it was."""
    records = await journal.load(run_id)
    if at is None:
        return await fork_at_record(journal, records, last_before_model(records) + 1, new_id=new_id)
    cut = next(
        (
            r.seq
            for r in records
            if isinstance(r.event, ThinkStarted) and r.event.component == "loop" and r.event.iteration == at
        ),
        None,
    )
    if cut is None:
        steps = sorted(
            {r.event.iteration for r in records if isinstance(r.event, ThinkStarted) and r.event.component == "loop"}
        )
        raise ConfigError(f"run {run_id} has no step {at}; its steps are {', '.join(map(str, steps)) or 'none'}")
    return await fork_at_record(journal, records, cut, new_id=new_id)


async def fork_at_record(
    journal: Journal,
    records: Sequence[Record],
    cut: int,
    *,
    new_id: str = "",
    events: Sequence[Event] = (),
    parent: str = "",
) -> str:
    """The records before `cut`, under a new id and without a parent of their own; `events` follow, in the same write:
    there is no moment at which the fork is there and they are not."""
    if (mark := experiment_mark(records)) is not None:
        raise ConfigError(f"this run is an experiment: fork the run it was made with, {experiment_of(mark)}")
    fork_id = new_id or fresh_id()
    kept = [r for r in records if r.seq < cut and not isinstance(r.event, RunFinished)]
    if not kept:
        raise ConfigError("a fork needs at least the first record of the run")
    depth = 1 if parent else 0
    last, now = kept[-1].seq, time.time()
    added = [Forked(records[0].run, cut), *events]
    copied = [(r.seq, r.time, r.event) for r in kept]
    copied += [(last + 1 + index, now, event) for index, event in enumerate(added)]
    await journal.append([Record(fork_id, *place, parent, 0, depth) for place in copied])
    if trees := [record.event.tree for record in kept if isinstance(record.event, TreeSaved)]:
        from treadle._workspace.places import share  # few runs have files

        share(journal, records[0].run, fork_id, trees[-1])
    return fork_id


def last_before_model(records: Sequence[Record]) -> int:
    """The record before the last model call of the loop: everything that was found until then is kept."""
    calls = [
        record.seq
        for record in records
        if isinstance(record.event, ThinkStarted) and record.event.component in CONVERSATION
    ]
    return calls[-1] - 1 if calls else 0


def _renderer(state: RunState) -> Renderer:
    started = state.started
    if started is None:
        raise ConfigError("the log does not begin with the start of a run")
    settings = Settings().with_recorded(started.settings, {})
    return Renderer(dialect_for(state.dialect, settings.complete_name), settings, state.profile)


def _advice(record: Record, event: ThinkStarted, state: RunState) -> Rendering:
    by_seq = {entry.seq: entry for entry in state.conversation.window}
    messages: list[Message] = []
    origins: list[tuple[tuple[int, ...], str]] = []
    for sent in event.messages:
        entry = by_seq.get(sent.seq) if sent.message is None else None
        message = sent.message or (entry.message if entry else None)
        if message is not None:
            messages.append(message)
            origins.append(((max(0, sent.seq),), entry.component) if entry else ((record.seq,), event.component))
    request = Request(messages=messages, tools=event.tools, format=event.format, component=event.component)
    return Rendering(record, event, request, digest_of(messages, event.tools, event.format), (), origins)


def _difference(rendering: Rendering) -> Difference:
    event = rendering.event
    first = len(rendering.request.messages) - len(rendering.parts)
    for index, (sent, now) in enumerate(zip(event.parts, rendering.parts, strict=False)):
        if sent != now:
            return _describe(rendering, first + index)
    if len(event.parts) != len(rendering.parts):
        return _describe(rendering, first + min(len(event.parts), len(rendering.parts)))
    return Difference(rendering.record.seq, event.component if event.component not in CONVERSATION else "dialect", -1)


def _describe(rendering: Rendering, index: int) -> Difference:
    messages = rendering.request.messages
    if index >= len(messages):
        return Difference(rendering.record.seq, "window", index)
    message = messages[index]
    text = message.text if isinstance(message, SystemMessage) else msgspec.json.encode(message).decode()
    sent = (rendering.event.system or "") if index == 0 else ""
    return Difference(rendering.record.seq, rendering.origins[index][1], index, sent, text)


def _first_difference(sent: str, rendered: str) -> str:
    if not sent:
        return ""
    index = next(
        (i for i, (a, b) in enumerate(zip(sent, rendered, strict=False)) if a != b), min(len(sent), len(rendered))
    )
    start = max(0, index - 30)
    return f"\n  sent:     ...{sent[start : index + 50]!r}\n  rendered: ...{rendered[start : index + 50]!r}"


def _pieces(
    message: Message, seqs: tuple[int, ...], component: str, records: Sequence[Record]
) -> list[tuple[str, tuple[int, ...], str]]:
    """A message as segments: the system prompt is part the user's, part the dialect's."""
    text = msgspec.json.encode(message).decode()
    if not isinstance(message, SystemMessage):
        return [(component, seqs, text)]
    base = msgspec.json.encode(getattr(records[0].event, "system", "")).decode()[1:-1]
    index = text.find(base) if base else -1
    if index < 0:
        return [("dialect", (0,), text)]
    parts = [("dialect", (0,), text[:index]), ("system", (0,), base), ("dialect", (0,), text[index + len(base) :])]
    return [part for part in parts if part[2]]
