"""What was sent to MCP clients lately, so that one whose stream was cut takes it up again. Bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventMessage, EventStore

if TYPE_CHECKING:
    from mcp_types.jsonrpc import JSONRPCMessage

_KEPT = 1_000


class RecentEvents(EventStore):
    """The last events of all streams; an id is the place in the order in which they were sent."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, str, JSONRPCMessage | None]] = deque(maxlen=_KEPT)
        self._next = 1

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((self._next, stream_id, message))
        self._next += 1
        return str(self._next - 1)

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        last = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 19 else 0
        stream = next((stream for number, stream, _ in self._events if number == last), None)
        if stream is None:
            return None
        for number, owner, message in list(self._events):
            if owner == stream and number > last and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
