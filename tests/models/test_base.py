"""A reply read to its end, whatever the model streams before it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kit import go
from treadle._models.base import Model, complete
from treadle._models.scripted import ScriptedModel
from treadle._types.errors import BadReplyError
from treadle._types.messages import UserMessage
from treadle._types.profile import Profile
from treadle._types.request import Delta, Reply, Request, StreamPart, TextDelta

ASK = Request([UserMessage("q")], stream=True)


class Unfinished:
    """A model whose stream ends without a reply."""

    name = "unfinished"
    profile = Profile()

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        yield TextDelta("half a")

    async def aclose(self) -> None:
        pass


def test_the_deltas_add_up_to_the_reply():
    deltas: list[Delta] = []
    reply = go(complete(ScriptedModel([Reply("A long enough text.")]), ASK, deltas.append))
    assert reply.text == "A long enough text."
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    assert len(deltas) > 1


def test_a_stream_without_a_reply_is_an_error():
    assert isinstance(Unfinished(), Model)
    with pytest.raises(BadReplyError, match="unfinished ended without a reply"):
        go(complete(Unfinished(), ASK))
