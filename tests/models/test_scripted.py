"""The scripted model: every kind of entry, the requests it keeps, and what happens when the script is used up."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, go
from treadle._models.base import complete
from treadle._models.scripted import ScriptedModel
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.messages import Message, UserMessage
from treadle._types.request import RawCall, Reply, Request
from treadle._types.usage import Usage

ASK = Request([UserMessage("q")])


def replies(model: ScriptedModel, count: int) -> list[Reply]:
    async def main() -> list[Reply]:
        return [await complete(model, ASK) for _ in range(count)]

    return go(main())


def test_every_kind_of_entry():
    entries: list[Any] = [
        "text",
        call("f", a=1),
        [call("f"), call("g")],
        {"name": "f", "arguments": '{"a": 1}', "id": "mine"},
        Reply("whole"),
        lambda request: f"asked {request.messages[-1].content}",
    ]
    text, single, two, own, whole, computed = replies(ScriptedModel(entries), len(entries))
    assert (text.text, whole.text, computed.text) == ("text", "whole", "asked q")
    assert single.calls == (RawCall("call_2_0", "f", '{"a":1}'),)
    assert [made.name for made in two.calls] == ["f", "g"]
    assert own.calls == (RawCall("mine", "f", '{"a": 1}'),)
    assert all(reply.usage.requests == 1 for reply in (text, single, whole))


def test_a_stated_usage_is_kept():
    (reply,) = replies(ScriptedModel([Reply("x", usage=Usage(7, 8, requests=1))]), 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 8)


def test_an_exception_is_raised_and_the_script_continues():
    model = ScriptedModel([TransientModelError("busy"), "done"])
    with pytest.raises(TransientModelError, match="busy"):
        replies(model, 1)
    assert replies(model, 1)[0].text == "done"


def test_a_script_that_is_used_up_says_so_or_repeats_its_last_entry():
    with pytest.raises(ModelError, match="has 1 entries and all are used: add one, or set repeat_last"):
        replies(ScriptedModel(["only"]), 2)
    assert [reply.text for reply in replies(ScriptedModel(["a", "b"], repeat_last=True), 4)] == ["a", "b", "b", "b"]


def test_requests_are_kept_as_they_were_sent():
    messages: list[Message] = [UserMessage("q")]
    model = ScriptedModel(["a"])
    go(complete(model, Request(messages)))
    messages.append(UserMessage("later"))
    assert [len(request.messages) for request in model.requests] == [1]
