"""What only runs have that were recorded from another program: they were not made here, and say so."""

from __future__ import annotations

from treadle._types.messages import Message
from treadle._types.value import EventBase


class Exchanged(EventBase, frozen=True, tag="exchanged"):
    """A request of a recorded program and its response, and what it has in common with the one before."""

    iteration: int
    protocol: str
    """openai.chat | openai.responses | anthropic.messages | gemini"""
    status: int = 0
    ending: str = "complete"
    """complete | cut | cancelled | unreachable"""
    attempt: int = 1
    sent: int = 0
    """Bytes of the request, unpacked."""
    received: int = 0
    first_token: float | None = None
    """Seconds from the request to the first piece of the reply."""
    elapsed: float = 0.0
    compared: int = 0
    """Bytes of the request before it; 0 when there is none."""
    kept: int = 0
    """How many of them this request begins with."""
    broke: str = ""
    """What differs first: `tools`, `system`, `message 3`."""
    before: str = ""
    """The bytes around the place, in the request before."""
    after: str = ""
    """The same place in this request."""
    lost_tokens: int = 0
    """Tokens of the request before that a cache could not have because of that."""
    lost_cost: float | None = None
    """In dollars; None when prices are not known."""


class HistoryReplaced(EventBase, frozen=True, tag="history_replaced"):
    """The recorded program did not go on where it was: from message `kept` on, its next request has these messages."""

    kept: int
    messages: tuple[Message, ...] = ()
    system: str | None = None
    reason: str = ""
