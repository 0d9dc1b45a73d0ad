"""The prefix check: does each request extend the one before, byte for byte, unless the log declared a break?

broken = prefix_breaks(model.requests, run.records)
assert not broken, broken[0].describe()
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from treadle._types.events import (
    ContextCompacted,
    DialectDemoted,
    MessageRetracted,
    ModelSwitched,
    Noted,
    Record,
    ThinkFailed,
    ThinkStarted,
    ToolsChanged,
)
from treadle._types.messages import Message
from treadle._types.request import Request
from treadle._types.state import CONVERSATION, RunState

_encode = msgspec.json.Encoder().encode
_FOR_ALL = (ContextCompacted, DialectDemoted, MessageRetracted, ModelSwitched, ToolsChanged)


class PrefixBreak(Struct, frozen=True):
    """A request that does not extend the last one of its component, though nothing in the log says why."""

    component: str
    """Whose request it is."""
    number: int
    """Its index among all requests."""
    index: int
    """The first message that differs; -1 when the tools do."""
    origin: str
    """The component that put that message there."""
    before: str
    after: str

    def describe(self) -> str:
        what = (
            "the tools changed"
            if self.index < 0
            else f"message {self.index}, put there by {self.origin or 'an unknown hand'}, changed"
        )
        return f"request {self.number} of {self.component}: {what}:\n- {self.before[:300]}\n+ {self.after[:300]}"


def prefix_breaks(requests: Sequence[Request], records: Iterable[Record] = ()) -> list[PrefixBreak]:
    """Every undeclared break in the requests of one run, in the order they were sent. `records` is the run's log."""
    logged = list(records)
    declared = _declared(logged)
    origins = _origins(logged)
    last: dict[str, tuple[int, Request]] = {}
    breaks_found: list[PrefixBreak] = []
    for number, request in enumerate(requests):
        whose = CONVERSATION[0] if request.component in CONVERSATION else request.component
        if whose in last:
            before, earlier = last[whose]
            broken = _difference(earlier, request)
            if broken is not None and not any(before < at <= number and name in ("", whose) for at, name in declared):
                index, old, new = broken
                origin = origins.get(old) or origins.get(new) or (whose if whose not in CONVERSATION else "")
                breaks_found.append(PrefixBreak(request.component, number, index, origin, old.decode(), new.decode()))
        last[whose] = (number, request)
    return breaks_found


def _declared(records: Sequence[Record]) -> list[tuple[int, str]]:
    """The declared breaks: before which request, and of which component ("" for all)."""
    breaks: list[tuple[int, str]] = []
    sent = 0
    for record in records:
        event = record.event
        if isinstance(event, ThinkStarted) or (isinstance(event, ThinkFailed) and event.wait is not None):
            sent += 1
        elif isinstance(event, _FOR_ALL):
            breaks.append((sent, ""))
        elif isinstance(event, Noted) and "break" in event.data:
            breaks.append((sent, event.component))
    return breaks


def _origins(records: Sequence[Record]) -> dict[bytes, str]:
    """Which component brought each message of the conversation, by its bytes."""
    state = RunState()
    origins: dict[bytes, str] = {}
    for record in records:
        count = len(state.conversation.window)
        epoch = state.conversation.epoch
        state.apply(record)
        for entry in state.conversation.window[count if state.conversation.epoch == epoch else 0 :]:
            origins[_encode(entry.message)] = entry.component
    return origins


def _difference(earlier: Request, later: Request) -> tuple[int, bytes, bytes] | None:
    if earlier.tools != later.tools:
        return -1, _encode(earlier.tools), _encode(later.tools)
    for index, message in enumerate(earlier.messages):
        other: Message | None = later.messages[index] if index < len(later.messages) else None
        if message is not other:
            old, new = _encode(message), _encode(other) if other is not None else b""
            if old != new:
                return index, old, new
    return None
