"""What was sent is kept for a client that comes back: its own stream only, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest

from kit import go

pytest.importorskip("mcp")
from treadle._server.mcp.handlers import RecentEvents


def test_a_stream_is_taken_up_after_the_last_event_that_arrived():
    async def main() -> None:
        events, sent = RecentEvents(), []

        async def send(event: Any) -> None:
            sent.append((event.event_id, event.message))

        first: Any = await events.store_event("a", None)
        await events.store_event("b", "of another stream")  # type: ignore[arg-type]
        await events.store_event("a", "one")  # type: ignore[arg-type]
        await events.store_event("a", "two")  # type: ignore[arg-type]
        assert await events.replay_events_after(first, send) == "a"
        assert sent == [("3", "one"), ("4", "two")]
        for unknown in ("99", "x", "-1", "9" * 30):
            assert await events.replay_events_after(unknown, send) is None
        for _ in range(2_000):
            await events.store_event("a", None)
        assert await events.replay_events_after(first, send) is None

    go(main())
