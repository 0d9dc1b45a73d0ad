"""What each request of a run has in common with the one before it: that is what a provider's cache can use again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._inspect.replay import Rendering, renderings
from treadle._types.events import Record, ThinkDone, ThinkStarted
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
    """Every request of a run, rendered again, and how much of it the cache could have. No model is called."""
    before: dict[str, tuple[int, list[bytes], bytes]] = {}
    breaks, done = _breaks(records), _replies(records)
    found: list[PrefixUse] = []
    for rendering in renderings(records):
        seq, component = rendering.record.seq, rendering.event.component
        messages, tools = _encoded(rendering)
        last_seq, earlier, earlier_tools = before.get(component, (-1, [], tools))
        kept = next((i for i, (a, b) in enumerate(zip(earlier, messages, strict=False)) if a != b), None)
        kept = min(len(earlier), len(messages)) if kept is None else kept
        changed = tools != earlier_tools
        broke = -1 if kept == len(earlier) and not changed else 0 if changed else kept
        why = "; ".join(reason for at, reason in breaks if last_seq < at < seq) if broke >= 0 else ""
        reply = done.get(seq)
        found.append(
            PrefixUse(
                seq=seq,
                component=component,
                iteration=rendering.event.iteration,
                messages=len(messages),
                bytes=sum(map(len, messages)) + len(tools),
                kept_messages=0 if changed else kept,
                kept_bytes=0 if changed or last_seq < 0 else sum(map(len, messages[:kept])) + len(tools),
                broke_at=broke,
                why=why,
                tools_changed=changed,
                input_tokens=reply.usage.input_tokens if reply else 0,
                cached_tokens=reply.usage.cached_tokens if reply else 0,
            )
        )
        before[component] = seq, messages, tools
    return found


def _encoded(rendering: Rendering) -> tuple[list[bytes], bytes]:
    request = rendering.request
    tools = msgspec.json.encode(request.tools) if request.tools else b""
    return [msgspec.json.encode(message) for message in request.messages], tools


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
