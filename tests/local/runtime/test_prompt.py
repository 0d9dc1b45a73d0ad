"""What goes to the runtime and how its chunks are read, without a model."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from kit import row
from treadle._local.runtime.prompt import MARKUP, CompletionReader, constraint_of, opening_of, prompt_items
from treadle._local.runtime.runtime import ORIGIN
from treadle._local.runtime.slots import Segment
from treadle._models.transport.decision import DecisionPoint
from treadle._types.errors import BadReplyError, ContextOverflowError, RequestRefusedError, TransientModelError
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, ReasoningDelta, TextDelta


def schema_in(constraint: dict[str, Any]) -> dict[str, Any]:
    head, _, body = constraint["grammar"].partition("start: %json ")
    assert head == "%llguidance {}\n"
    return msgspec.json.decode(body)


def test_a_schema_is_written_in_one_way_and_may_bring_its_own():
    guided = schema_in(constraint_of(OutputFormat("schema", {"type": "object"})))
    assert guided["x-guidance"] == {
        "whitespace_flexible": False,
        "item_separator": ", ",
        "key_separator": ": ",
        "lenient": True,
    }
    own = schema_in(constraint_of(OutputFormat("schema", {"x-guidance": {"key_separator": ":"}})))
    assert own["x-guidance"]["key_separator"] == ":"
    assert own["x-guidance"]["lenient"] is True


def test_any_json_is_an_object_and_a_grammar_goes_as_it_is():
    assert schema_in(constraint_of(OutputFormat("json")))["type"] == "object"
    assert constraint_of(OutputFormat("grammar", grammar='root ::= "a"')) == {"grammar": 'root ::= "a"'}


def test_a_runtime_without_the_better_engine_gets_the_schema_itself():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(?=x)"}},
        "x-guidance": {"lenient": False},
    }
    assert constraint_of(OutputFormat("schema", schema), guided=False) == {
        "json_schema": {"type": "object", "properties": {"a": {"type": "string"}}}
    }
    assert constraint_of(OutputFormat("grammar", grammar='root ::= "a"'), guided=False) == {"grammar": 'root ::= "a"'}


def test_what_cannot_be_enforced_is_left_out():
    schema = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^(?=a)b"},
            "back": {"type": "string", "pattern": r"(a)\1"},
            "plain": {"type": "string", "pattern": "^(?:a|b)+$"},
            "far": {"$ref": "https://example.com/x.json"},
            "near": {"$ref": "#/$defs/near"},
            "fixed": {"const": {"pattern": "(?=x)"}},
        },
        "$defs": {"near": {"anyOf": [{"type": "string", "pattern": "(?!x)"}, {"type": "null"}]}},
    }
    kept = schema_in(constraint_of(OutputFormat("schema", schema)))
    assert kept["properties"] == {
        "pattern": {"type": "string"},
        "back": {"type": "string"},
        "plain": {"type": "string", "pattern": "^(?:a|b)+$"},
        "far": {},
        "near": {"$ref": "#/$defs/near"},
        "fixed": {"const": {"pattern": "(?=x)"}},
    }
    assert kept["$defs"] == {"near": {"anyOf": [{"type": "string"}, {"type": "null"}]}}


def test_opening():
    for wanted, opening in [
        (None, ""),
        (OutputFormat("json"), "{"),
        (OutputFormat("grammar", grammar="root ::= [a]"), ""),
        (OutputFormat("schema", {"type": "array"}), "["),
        (OutputFormat("schema", {"type": ["object", "null"]}), ""),
        (OutputFormat("schema", {"anyOf": []}), ""),
    ]:
        with row(wanted, opening):
            assert opening_of(wanted) == opening


def test_markup_is_seen():
    for text in ["<|im_end|>", "<|eot_id|>", "<\uff5cUser\uff5c>", "</s>", "<start_of_turn>", "[/INST]", "<eos>"]:
        with row(text):
            assert MARKUP.fullmatch(text)


def test_plain_text_is_not_markup():
    for text in ["a < b | c > d", "<div>", "<| spaced out |>", "[1]", "[Note]"]:
        with row(text):
            assert not MARKUP.search(text)


def chunk(
    text: str = "", tokens: list[int] | None = None, *, finish: str | None = None, stop: str = "", **more: Any
) -> bytes:
    inside = {"tokens": tokens or [], "stop_type": stop}
    return msgspec.json.encode(
        {"choices": [{"text": text, "finish_reason": finish}], "id": "x1", "__verbose": inside, **more}
    )


def reader(wanted: OutputFormat | None = None, *, window: int = 1000, max_tokens: int = 100) -> CompletionReader:
    return CompletionReader(ORIGIN, "toy", Profile(window=window), wanted, max_tokens)


TIMINGS = {"cache_n": 40, "prompt_n": 10, "predicted_n": 3}


def test_a_reply_with_its_tokens_and_usage():
    read = reader()
    assert read.feed(chunk(tokens=[0], prompt_progress={"total": 50})) == ()
    assert read.feed(chunk("Hel", [5])) == [TextDelta("Hel")]
    assert read.feed(chunk("lo", [6])) == [TextDelta("lo")]
    assert read.feed(chunk("", [2])) == []
    read.feed(chunk(finish="stop", stop="eos", timings=TIMINGS))
    reply = read.reply()
    assert (reply.text, reply.finish, reply.model, reply.id) == ("Hello", "stop", "toy", "x1")
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens, reply.usage.requests) == (
        50,
        40,
        3,
        1,
    )
    assert read.written == "Hello"
    assert read.tokens == (5, 6)


def test_tokens_that_may_not_be_the_text_are_not_kept():
    for finish, stop, wrote in [("stop", "word", 1), ("length", "limit", 1), ("stop", "eos", 3)]:
        with row(finish, stop, wrote):
            read = reader()
            read.feed(chunk("Hel", [5]))
            read.feed(chunk(finish=finish, stop=stop, timings={"predicted_n": wrote}))
            assert read.reply().finish == finish
            assert read.tokens == ()


def test_thoughts_are_separated():
    read = reader()
    assert read.feed(chunk("<think>hm</think>yes", [1])) == [ReasoningDelta("hm"), TextDelta("yes")]
    read.feed(chunk(finish="stop"))
    assert (read.reply().reasoning, read.reply().text) == ("hm", "yes")


def test_a_prompt_that_leaves_no_tokens_for_the_reply_is_refused_before_it_is_evaluated():
    with pytest.raises(
        ContextOverflowError, match=r"900 tokens .* needs 128, but the window has 1000; use a larger n_ctx"
    ):
        reader(max_tokens=500).feed(chunk(prompt_progress={"total": 900}))
    reader(max_tokens=50).feed(chunk(prompt_progress={"total": 900}))


def test_errors_of_the_runtime_are_typed():
    with pytest.raises(BadReplyError, match="an invalid chunk"):
        reader().feed(b"<html>")
    overflow = {
        "error": {
            "code": 400,
            "message": "request exceeds the available context size",
            "type": "exceed_context_size_error",
        }
    }
    with pytest.raises(ContextOverflowError):
        reader().feed(msgspec.json.encode(overflow))
    refused = {"error": {"code": 400, "message": "Failed to initialize samplers", "type": "invalid_request_error"}}
    with pytest.raises(RequestRefusedError, match="samplers"):
        reader().feed(msgspec.json.encode(refused))


def test_a_reply_that_does_not_begin_as_it_must_was_never_constrained():
    with pytest.raises(RequestRefusedError, match="cannot enforce this JSON schema"):
        reader(OutputFormat("json")).feed(chunk("Sure! {", [1]))
    reader(OutputFormat("json")).feed(chunk('{"a"', [1]))


def test_a_stream_that_ends_too_early_is_an_error():
    read = reader()
    read.feed(chunk("Hel", [5]))
    with pytest.raises(TransientModelError, match="before the reply was complete"):
        read.reply()


def said_with_options(*tokens: tuple[str, dict[str, float]]) -> dict[str, float]:
    point = DecisionPoint('"action": "')
    reading = CompletionReader(ORIGIN, "toy", Profile(), None, 100, point)
    for text, others in tokens:
        alternatives = [{"token": token, "logprob": math.log(p)} for token, p in others.items()]
        probabilities = {"content": [{"token": text, "top_logprobs": alternatives}]}
        reading.feed(msgspec.json.encode({"choices": [{"text": text, "logprobs": probabilities}]}))
    return {text: round(p, 3) for text, p in point.options.items()}


def test_what_could_have_followed_the_decision_is_kept():
    """Only there: neither what came before, nor a later action inside the arguments."""
    tokens = [(text, {}) for text in ('{"', "action", '":', ' "')] + [("final", {"multiply": 0.8, "final": 0.1})]
    again = [(text, {"no": 1.0}) for text in ('", "', 'action": "', "no")]
    assert said_with_options(*tokens, *again) == {"multiply": 0.8, "final": 0.1}


def test_a_reply_that_goes_against_what_the_model_wants_is_broken_off():
    """It counts as far as it was written: its prompt was read."""
    reading = CompletionReader(ORIGIN, "toy", Profile(), None, 100, DecisionPoint('"action": "', 0.5))
    reading.feed(chunk(prompt_progress={"total": 50, "cache": 40}))
    for text, others in (('{"action": "', {}), ("final", {"multiply": 0.8, "final": 0.1})):
        alternatives = [{"token": token, "logprob": math.log(p)} for token, p in others.items()]
        probabilities = {"content": [{"token": text, "top_logprobs": alternatives}]}
        assert not reading.needs_no_more
        payload = {"choices": [{"text": text, "logprobs": probabilities}], "__verbose": {"tokens": [1]}}
        reading.feed(msgspec.json.encode(payload))
    assert reading.needs_no_more
    reply = reading.reply()
    assert (reply.text, reply.broken_off, reply.usage.input_tokens, reply.usage.cached_tokens) == (
        '{"action": "final',
        True,
        50,
        40,
    )
    assert reply.options == {"multiply": pytest.approx(0.8), "final": pytest.approx(0.1)}


def test_a_value_without_an_end_is_cut_where_a_grammar_leaves_it_open():
    for wanted, parameters, cut in [
        (OutputFormat("json"), 1.5, True),
        (None, 1.5, False),
        (OutputFormat("json"), 70.0, False),
    ]:
        with row(wanted, parameters, cut):
            reading = CompletionReader(ORIGIN, "toy", Profile(parameters=parameters), wanted, 100)
            reading.feed(chunk(prompt_progress={"total": 50, "cache": 40}))
            for text in ('{"ticket": "V', *["12345"] * 40):
                reading.feed(chunk(text, [1]))
                if reading.needs_no_more:
                    break
            assert reading.needs_no_more is cut
            if cut:
                reply = reading.reply()
                assert (reply.finish, reply.broken_off, reply.usage.input_tokens) == ("length", False, 50)
                assert len(reply.text) < 200


def test_texts_that_follow_each_other_are_one_text():
    """A conversation that was changed after its first prompt gives two of them: as two strings they would be two
    prompts, of which the second is answered without the first."""
    segments = (
        Segment("rules"),
        Segment(" question"),
        Segment("reply", (7, 8)),
        Segment(" more"),
        Segment(" and more"),
    )
    assert prompt_items(segments[:2]) == ["rules question"]
    assert prompt_items(segments) == ["rules question", 7, 8, " more and more"]
