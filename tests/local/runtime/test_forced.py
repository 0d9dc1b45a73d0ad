"""What a schema leaves no choice about is added to a reply; the model chooses and writes values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import go
from local.local_kit import GUARD, SECONDS, shared
from treadle._dialects.constraint import BOOLEAN, STRING, Alternatives, const, record
from treadle._local.runtime.forced import alternatives_of
from treadle._local.runtime.prompt import with_guidance
from treadle._models.base import complete
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import UserMessage
from treadle._types.request import OutputFormat, Reply, Request, TextDelta

TEXT = {"type": "string", "maxLength": 12}


def action(name: str, **more: Any) -> dict[str, Any]:
    return record(action=const(name), **more)


def schema_of(*ways: dict[str, Any]) -> dict[str, Any]:
    replies = Alternatives()
    for way in ways:
        replies.add(way)
    return with_guidance(replies.any_of())


FINAL = action("final_answer", final_answer=STRING, task_successful=BOOLEAN)


def test_a_token_that_tells_them_apart_decides():
    replies = alternatives_of(schema_of(action("list"), FINAL, action("no_tool")))
    assert replies is not None
    first = replies.next()
    assert (first.certain, first.one_token, replies.certain()) == ('{"action": "', True, None)
    assert replies.chosen("no")
    assert replies.certain() == '_tool"}'


def test_the_text_between_two_values_is_added():
    replies = alternatives_of(schema_of(FINAL))
    assert replies is not None
    value = replies.next()
    assert value.certain == '{"action": "final_answer", "final_answer":'
    assert value.stop == '", "', "no text in JSON contains it, whatever it quotes"
    assert value.stop not in json.dumps('Say "a", "b", and \\", "c')
    replies.stopped()
    truth = replies.next()
    assert (truth.certain, truth.one_token) == ('task_successful":', True)
    assert replies.chosen(" true")
    assert replies.certain() == "}"


def test_the_keys_of_arguments_are_certain_where_all_are_required():
    args = record(low={"type": "integer"}, high={"type": "integer"})
    replies = alternatives_of(schema_of(action("between", args=args)))
    assert replies is not None
    assert replies.next().certain == '{"action": "between", "args": {"low":'
    free = {"type": "object", "properties": {"low": {"type": "integer"}}, "additionalProperties": False}
    replies = alternatives_of(schema_of(action("between", args=free)))
    assert replies is not None
    assert replies.next().certain == '{"action": "between", "args":'


def test_names_that_begin_alike_are_told_apart_later():
    replies = alternatives_of(schema_of(action("read_file"), action("read_mail")))
    assert replies is not None
    assert replies.next().certain == '{"action": "read_'
    assert not replies.chosen(""), "half a character is sent as none"
    assert not replies.chosen("write"), "the constraint was not followed"
    assert replies.chosen("f")
    assert replies.certain() == 'ile"}'


def test_a_reply_that_begins_with_a_value_is_written_whole():
    assert alternatives_of(with_guidance({"type": "object"})) is None
    assert alternatives_of(with_guidance(schema_of(FINAL, {"type": "object"}))) is None


@pytest.mark.model
@GUARD
@pytest.mark.parametrize(
    "ways",
    [
        [action("add", args=record(a={"type": "integer", "maximum": 99}, b=TEXT)), action("no_tool")],
        [action("answer", answer=TEXT, sure=BOOLEAN, why=TEXT)],
        [action("größe", args=record(kind={"enum": ["ä", "ö", "other"]})), action("grün")],
    ],
)
def test_a_reply_in_pieces_is_the_reply_that_was_written_whole(ways: list[dict[str, Any]]):
    wanted = OutputFormat("schema", schema_of(*ways))

    async def ask(tuned: bool) -> tuple[Reply, list[str]]:
        request = Request([UserMessage("What is 2 + 3?")], format=wanted, tuned=tuned, stream=True)
        parts = [part async for part in shared().stream(request)]
        assert isinstance(parts[-1], Reply)
        return parts[-1], [part.text for part in parts if isinstance(part, TextDelta)]

    whole, _ = go(ask(False), SECONDS)
    pieces, shown = go(ask(True), SECONDS)
    assert (pieces.text, pieces.finish) == (whole.text, "stop")
    assert "".join(shown) == pieces.text
    assert shown[0].startswith('{"action": "'), "it was not written token by token"
    assert pieces.usage.output_tokens <= whole.usage.output_tokens


@pytest.mark.model
@GUARD
def test_a_schema_that_cannot_be_enforced_is_refused_in_pieces_too():
    nothing = {"type": "integer", "minimum": 5, "maximum": 1}
    wanted = OutputFormat("schema", schema_of(action("add", args=record(a=nothing, b={"pattern": "("})), FINAL))
    with pytest.raises(RequestRefusedError, match="cannot enforce this JSON schema"):
        go(complete(shared(), Request([UserMessage("Tell me about dogs.")], format=wanted, tuned=True)), SECONDS)
