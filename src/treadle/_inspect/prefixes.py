"""What each request of a run has in common with the one before it: that is what a provider's cache can use again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._inspect.replay import renderings
from treadle._types.events import Record, ThinkDone, ThinkStarted
from treadle._types.messages import Message
from treadle._types.state import RunState


class PrefixUse(Struct, frozen=True):
    """One request, beside the one before it of the same component."""

    seq: int
    component: str
    iteration: int
    messages: int
    bytes: int
    """Of its messages and tools, as JSON."""
    kept_messages: int
    """How many messages it begins with that the request before had as well."""
    kept_bytes: int
    broke_at: int
    """The first message of the request before that this one does not have; -1 when it has all of them."""
    why: str = ""
    """What was declared to have changed, when it broke."""
    tools_changed: bool = False
    input_tokens: int = 0
    cached_tokens: int = 0
    """What the provider says it read from its cache."""


def prefixes(records: Sequence[Record]) -> list[PrefixUse]:
    """Every request of a run, and how much of it the cache could have."""
    before: dict[str, tuple[int, _Encoded, bytes]] = {}
    breaks, done = _breaks(records), _replies(records)
    found: list[PrefixUse] = []
    for rendering in renderings(records):
        seq, component = rendering.record.seq, rendering.event.component
        tools = msgspec.json.encode(rendering.request.tools) if rendering.request.tools else b""
        last_seq, earlier, earlier_tools = before.get(component, (-1, _Encoded(), tools))
        had = len(earlier.parts)
        now = earlier if earlier.source is rendering.request.messages else _Encoded(rendering.request.messages)
        now.extend()
        kept = had if now is earlier else earlier.common(now)
        changed = tools != earlier_tools
        broke = -1 if kept == had and not changed else 0 if changed else kept
        why = "; ".join(reason for at, reason in breaks if last_seq < at < seq) if broke >= 0 else ""
        reply = done.get(seq)
        found.append(
            PrefixUse(
                seq=seq,
                component=component,
                iteration=rendering.event.iteration,
                messages=len(now.parts),
                bytes=now.ends[-1] + len(tools),
                kept_messages=0 if changed else kept,
                kept_bytes=0 if changed or last_seq < 0 else now.ends[kept] + len(tools),
                broke_at=broke,
                why=why,
                tools_changed=changed,
                input_tokens=reply.usage.input_tokens if reply else 0,
                cached_tokens=reply.usage.cached_tokens if reply else 0,
            )
        )
        before[component] = seq, now, tools
    return found


class _Encoded:
    """The messages of a request as bytes. The renderer's list grows from request to request: so does this."""

    def __init__(self, source: Sequence[Message] = ()) -> None:
        self.source = source
        self.parts: list[bytes] = []
        self.ends = [0]
        """Where each message ends, counted in bytes from the first."""

    def extend(self) -> None:
        for message in self.source[len(self.parts) :]:
            self.parts.append(msgspec.json.encode(message))
            self.ends.append(self.ends[-1] + len(self.parts[-1]))

    def common(self, other: _Encoded) -> int:
        both = min(len(self.parts), len(other.parts))
        return next((i for i in range(both) if self.parts[i] != other.parts[i]), both)


def _breaks(records: Sequence[Record]) -> list[tuple[int, str]]:
    state = RunState()
    for record in records:
        state.apply(record)
    return state.conversation.breaks


def _replies(records: Sequence[Record]) -> dict[int, ThinkDone]:
    """The reply to each request, by the record of the request."""
    replies: dict[int, ThinkDone] = {}
    waiting: dict[tuple[str, int], list[int]] = {}
    for record in records:
        event = record.event
        if isinstance(event, ThinkStarted):
            waiting.setdefault((event.component, event.iteration), []).append(record.seq)
        elif isinstance(event, ThinkDone) and (asked := waiting.get((event.component, event.iteration))):
            replies[asked.pop(0)] = event
    return replies
