"""What a run shows but does not store, as its followers find it."""

from __future__ import annotations

from treadle._server.live.channel import MAX_OPEN_CHARS, Channel
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
