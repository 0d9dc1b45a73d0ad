"""What a run shows but does not store, as its followers find it."""

from __future__ import annotations

from typing import Any

from kit import go
from treadle._journal.memory import MemoryJournal
from treadle._server.live.channel import MAX_OPEN_CHARS, Channel
from treadle._server.live.follower import Follower
from treadle._types import events as ev
from treadle._types.messages import ToolCall


def shown(seq: int, event: ev.Event) -> ev.Record:
    return ev.Record("r", seq, 0.0, event, offset=1)


def stored(seq: int, event: ev.Event) -> ev.Record:
    return ev.Record("r", seq, 0.0, event)


def texts(channel: Channel) -> list[str]:
    return [piece.text for piece in channel.open_message.pieces]


def test_output_of_parallel_calls_is_kept_until_the_last_has_ended():
    channel = Channel("r")
    for number, name in enumerate("ab"):
        channel.receive(stored(number, ev.ToolStarted(ToolCall(name, name), 1)))
    channel.receive(shown(1, ev.ToolOutput("a", "a", "from a")))
    channel.receive(shown(1, ev.ToolOutput("b", "b", "from b")))
    channel.receive(stored(2, ev.ToolDone("a", "a", 1, "done")))
    assert texts(channel) == ["from a", "from b"]
    channel.receive(stored(3, ev.ToolDone("b", "b", 1, "done")))
    assert texts(channel) == []


def test_a_tool_that_never_ends_cannot_fill_the_memory():
    channel = Channel("r")
    channel.receive(stored(0, ev.ToolStarted(ToolCall("a", "a"), 1)))
    for _ in range(30):
        channel.receive(shown(0, ev.ToolOutput("a", "a", "x" * (MAX_OPEN_CHARS // 10))))
    message = channel.open_message
    assert sum(len(text) for text in texts(channel)) <= MAX_OPEN_CHARS
    assert message.first + len(message.pieces) == 30, "positions still count what was dropped"


def test_what_streams_is_drawn_at_every_detail():
    """Adjacent pieces of one source at once, and what only those see who asked for it."""

    async def seen(detail: Any) -> list[tuple[str, str, str]]:
        channel = Channel("r")
        channel.records = [stored(0, ev.RunStarted("?")), stored(1, ev.ThinkStarted("loop", 1))]
        for record in channel.records:
            channel.receive(record)
        follower = Follower(channel, MemoryJournal(), detail=detail)
        await follower.step()
        for event in (
            ev.TextStreamed("loop", 1, "hm", reasoning=True),
            ev.AnswerDelta("Let ", provisional=True),
            ev.AnswerDelta("me", provisional=True),
            ev.AnswerRetracted("Let me"),
        ):
            channel.receive(shown(1, event))
        events = await follower.step()
        return [(str(e.at), e.name, e.data.get("content") or e.data.get("status") or "") for e in events]

    words = [("1.2", "answer", "start"), ("1.8", "answer", "Let me"), ("1.9", "answer", "retracted")]
    assert go(seen("plain")) == words
    assert go(seen("full")) == [("1.2", "thought", "hm"), *words]
    pieces = [("1.2", "piece", "hm"), ("1.8", "piece", "Let me")]
    assert [one for one in go(seen("items")) if one[1] == "piece"] == pieces
