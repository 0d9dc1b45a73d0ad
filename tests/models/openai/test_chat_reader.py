"""Replies of chat completions, also from servers that deviate from the API."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
import pytest

from kit import row
from models.contract import event
from models.loopback import Loopback, stream
from models.openai.chat_kit import ASK, chunk, model, piece, read, whole
from treadle._models.base import complete
from treadle._types.errors import (
    BadReplyError,
    ContentFilteredError,
    ContextOverflowError,
    RequestRefusedError,
    TransientModelError,
)
from treadle._types.messages import UserMessage
from treadle._types.request import (
    CallDelta,
    DecisionNames,
    OutputFormat,
    RawCall,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
)


def calls_of(*fragments: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str]]:
    result, deltas = read(*(chunk(tool_calls=[fragment]) for fragment in fragments), chunk(finish))
    assert len({call.id for call in result.calls}) == len(result.calls)
    assert all(call.id for call in result.calls)
    for number, call in enumerate(result.calls):
        mine = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == number]
        assert "".join(delta.arguments for delta in mine) == call.arguments
        assert "".join(delta.name for delta in mine) == call.name
    return [(call.name, call.arguments) for call in result.calls]


FRAGMENTS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "with an index": (
        [piece("", "f", "a", 0), piece('{"x"', index=0), piece(":1}", index=0), piece("{}", "g", "b", 1)],
        [("f", '{"x":1}'), ("g", "{}")],
    ),
    "of two calls in turn": (
        [piece("", "f", "a", 0), piece("", "g", "b", 1), piece('{"x":1}', index=0), piece('{"y":2}', index=1)],
        [("f", '{"x":1}'), ("g", '{"y":2}')],
    ),
    "without an index": (
        [piece("", "f", "a"), piece('{"x"'), piece(":1}"), piece("{}", "g", "b")],
        [("f", '{"x":1}'), ("g", "{}")],
    ),
    "without index and id": (
        [piece('{"x":1}', "f"), piece("{}", "f"), piece("{}", "g")],
        [("f", '{"x":1}'), ("f", "{}"), ("g", "{}")],
    ),
    "every call numbered zero": (
        [piece('{"x":1}', "f", "a", 0), piece("{}", "g", "b", 0)],
        [("f", '{"x":1}'), ("g", "{}")],
    ),
    "numbered zero without an id": (
        [piece('{"x":1}', "f", None, 0), piece("{}", "f", None, 0)],
        [("f", '{"x":1}'), ("f", "{}")],
    ),
    "a new id in each": (
        [piece("", "f", "a", 0), piece('{"x":', call_id="b", index=0), piece("1}", call_id="c", index=0)],
        [("f", '{"x":1}')],
    ),
    "the name in each": (
        [piece('{"x"', "f", "a", 0), piece(":1}", "f", "a", 0), piece("", "f", "a", 0)],
        [("f", '{"x":1}')],
    ),
    "the name in pieces": (
        [piece(None, "get_", "a", 0), piece(None, "time", None, 0), piece("{}", index=0)],
        [("get_time", "{}")],
    ),
    "the name after the id": (
        [piece(None, None, "a", 0), piece(None, "f", None, 0), piece("{}", index=0)],
        [("f", "{}")],
    ),
    "empty arguments": ([piece("", "f", "a", 0)], [("f", "{}")]),
    "no arguments": ([piece(None, "f", "a", 0)], [("f", "{}")]),
    "arguments as an object": ([piece({"x": [1]}, "f", "a", 0)], [("f", '{"x":[1]}')]),
    "a flat call": ([{"index": 0, "id": "a", "name": "f", "arguments": "{}"}], [("f", "{}")]),
}


def test_calls_in_fragments():
    for kind, (fragments, calls) in FRAGMENTS.items():
        with row(kind):
            assert calls_of(*fragments) == calls


def test_arguments_as_an_object_of_a_whole_reply():
    result, _ = read(whole("tool_calls", tool_calls=[piece({"x": 1}, "f", "a")]), end=False)
    assert result.calls == (RawCall("a", "f", '{"x":1}'),)


def test_the_same_id_twice_is_made_unique():
    result, _ = read(whole("tool_calls", tool_calls=[piece("{}", "f", "x"), piece("{}", "g", "x")]), end=False)
    assert result.calls[0].id == "x"
    assert result.calls[1].id not in ("", "x")


def test_legacy_function_call():
    result, _ = read(
        whole("function_call", content=None, function_call={"name": "f", "arguments": '{"a":1}'}), end=False
    )
    assert [(call.name, call.arguments) for call in result.calls] == [("f", '{"a":1}')]
    assert result.finish == "calls"
    streamed, _ = read(
        chunk(function_call={"name": "f", "arguments": ""}),
        chunk(function_call={"arguments": '{"a"'}),
        chunk(function_call={"arguments": ":1}"}),
        chunk("function_call"),
    )
    assert [(call.name, call.arguments) for call in streamed.calls] == [("f", '{"a":1}')]


def test_a_cut_off_call_is_never_done():
    result, deltas = read(chunk(tool_calls=[piece('{"a": 12', "f", "x", 0)]), chunk("length"))
    assert result.finish == "length"
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)
    # Closed braces prove nothing when the reply was cut: there may have been more to come.
    result, deltas = read(chunk(tool_calls=[piece('{"a": 12}', "f", "x", 0)]), chunk("length"))
    assert result.finish == "length"
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)


def test_broken_arguments_are_never_done():
    result, deltas = read(chunk(tool_calls=[piece('{"a": ', "f", "x", 0)]), chunk("tool_calls"))
    assert result.calls == (RawCall("x", "f", '{"a": '),)
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)


def test_wrong_finish_reasons_are_corrected():
    for stated, has_calls, finish in [
        ("stop", False, "stop"),
        ("stop", True, "calls"),
        ("tool_calls", True, "calls"),
        ("tool_calls", False, "stop"),
        (None, False, "stop"),
        (None, True, "calls"),
        ("length", True, "length"),
        ("max_tokens", False, "length"),
        ("STOP", False, "stop"),
        ("eos", False, "stop"),
        ("whatever", False, "unknown"),
        ("content_filter", False, "filter"),
        (17, False, "stop"),
    ]:
        with row(stated, has_calls, finish):
            calls = [piece("{}", "f", "a", 0)] if has_calls else None
            assert read(whole(stated, content="x", tool_calls=calls), end=False)[0].finish == finish
            assert read(chunk(content="x", tool_calls=calls), chunk(stated))[0].finish == finish


def test_done_without_a_finish_reason_is_an_end():
    assert read(chunk(content="x"))[0] == Reply("x", usage=read(chunk(content="x"))[0].usage, id="c")


def test_an_end_without_done_or_finish_reason_is_an_error():
    with pytest.raises(TransientModelError, match="before the reply was complete"):
        read(chunk(content="x"), end=False)


def test_a_model_that_stopped_early():
    for reason in ["error", "insufficient_system_resource", "network_error"]:
        with row(reason), pytest.raises(TransientModelError, match="stopped before"):
            read(chunk(content="x"), chunk(reason))


def test_a_complete_reply_survives_a_lost_end():
    answer = stream(event(chunk(content="all of it")), event(chunk("stop")), fault="reset")

    async def main() -> None:
        async with Loopback([answer]) as server:
            assert (await complete(model(base_url=server.url), ASK.replace(stream=True))).text == "all of it"

    asyncio.run(main())


def test_a_complete_reply_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treadle._models.transport.http.REST_SECONDS", 0.1)
    answer = stream(event(chunk(content="all of it")), event(chunk("stop")), fault="stall")

    async def main() -> None:
        async with Loopback([answer]) as server, asyncio.timeout(30):
            assert (await complete(model(base_url=server.url), ASK.replace(stream=True))).text == "all of it"

    asyncio.run(main())


def test_null_and_missing_content():
    assert read(whole(content=None), end=False)[0].text == ""
    assert read(whole(), end=False)[0].text == ""
    assert read({"choices": [{"message": None, "finish_reason": "stop"}]}, end=False)[0].text == ""
    assert read(chunk(content=None), {"choices": [{"delta": None, "finish_reason": "stop"}]})[0].text == ""


def test_content_in_parts():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "thinking", "thinking": " so"},
        {"type": "text", "text": "a"},
        {"type": "unknown"},
        "odd",
        {"type": "text", "text": "b"},
    ]
    result, _ = read(whole(content=parts), end=False)
    assert (result.text, result.reasoning) == ("ab", "hm so")


def test_several_choices():
    two = {
        "choices": [
            {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"},
            {"index": 1, "message": {"content": "b"}},
        ]
    }
    assert read(two, end=False)[0].text == "a"
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    mixed = {"choices": [{"index": 1, "delta": {"content": "C"}}, {"index": 0, "delta": {"content": "b"}}]}
    assert read(chunk(content="a"), other, mixed, chunk("stop"))[0].text == "ab"


def test_reasoning_fields():
    for field in ["reasoning_content", "reasoning"]:
        with row(field):
            result, deltas = read(chunk(**{field: "hm "}), chunk(**{field: "yes"}), chunk(content="4"), chunk("stop"))
            assert (result.text, result.reasoning) == ("4", "hm yes")
            assert deltas == [ReasoningDelta("hm "), ReasoningDelta("yes"), TextDelta("4")]
            assert read(whole(content="4", **{field: "hm"}), end=False)[0].reasoning == "hm"


def test_the_same_thought_under_two_names_counts_once():
    assert read(whole(content="4", reasoning="hm", reasoning_content="hm"), end=False)[0].reasoning == "hm"


def test_think_tags():
    result, deltas = read(
        chunk(content="<thi"), chunk(content="nk>a b</th"), chunk(content="ink>\n\nText <think>"), chunk("stop")
    )
    assert (result.text, result.reasoning) == ("Text <think>", "a b")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Text <think>"


def test_a_closing_tag_alone_counts_for_models_that_think():
    assert read(whole(content="hm</think>\n4"), end=False)[0].text == "hm</think>\n4"
    result, _ = read(whole(content="hm</think>\n4"), end=False, name="qwq-32b")
    assert (result.text, result.reasoning) == ("4", "hm")


def test_a_refusal():
    result, _ = read(whole(content=None, refusal="I won't."), end=False)
    assert (result.text, result.finish) == ("I won't.", "refusal")
    result, _ = read(chunk(refusal="I "), chunk(refusal="won't."), chunk("stop"))
    assert (result.text, result.finish) == ("I won't.", "refusal")


def test_the_content_filter():
    with pytest.raises(ContentFilteredError) as caught:
        read(
            {"choices": [{"finish_reason": "content_filter"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
            end=False,
        )
    assert (caught.value.usage.input_tokens, caught.value.usage.requests) == (3, 1)
    result, _ = read(chunk(content="He"), chunk("content_filter"))
    assert (result.text, result.finish) == ("He", "filter")


def test_an_error_in_a_whole_body():
    for end in [True, False]:
        with row(end):
            with pytest.raises(TransientModelError):
                read({"error": {"message": "Provider returned error", "code": 502}}, end=end)
            with pytest.raises(RequestRefusedError):
                read({"object": "error", "message": "no such model", "type": "NotFoundError", "code": 404}, end=end)
            with pytest.raises(ContextOverflowError):
                read({"error": {"message": "maximum context length is 5", "code": 400}}, end=end)


def test_an_error_in_a_choice():
    with pytest.raises(TransientModelError):
        read(
            {
                "choices": [
                    {"index": 0, "delta": {}, "error": {"message": "upstream", "code": 503}, "finish_reason": "error"}
                ]
            }
        )


def test_unknown_events_are_ignored():
    assert read({"type": "ping"}, chunk(content="a"), {"event": "x"}, chunk("stop"))[0].text == "a"


def test_an_empty_stream_is_no_reply():
    with pytest.raises(BadReplyError):
        read()


THREE = {"reasoning_tokens": 3}


def test_usage_in_a_last_chunk_without_choices():
    result, _ = read(chunk("stop", content="a"), {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.requests) == (7, 2, 1)


def test_usage_under_many_names():
    for usage, expected in [
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
            (10, 5, 4, 0, 0),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 5, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, (10, 5, 4, 0, 0)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}},
            (10, 5, 0, 0, 3),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 3},
                "total_tokens": 18,
            },
            (10, 8, 0, 0, 3),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 2},
            },
            (10, 5, 10, 2, 0),
        ),
        ({"prompt_tokens": None, "completion_tokens": "x", "prompt_tokens_details": None}, (0, 0, 0, 0, 0)),
    ]:
        with row(usage, expected):
            result = read({**whole(content="a"), "usage": usage}, end=False)[0].usage
            fields = (
                result.input_tokens,
                result.output_tokens,
                result.cached_tokens,
                result.cache_write_tokens,
                result.reasoning_tokens,
            )
            assert fields == expected


def test_usage_from_other_places():
    assert read({**whole(content="a"), "x_groq": {"usage": {"prompt_tokens": 3}}}, end=False)[0].usage.input_tokens == 3
    timed = {**whole(content="a"), "usage": {"prompt_tokens": 30}, "timings": {"cache_n": 25}}
    assert read(timed, end=False)[0].usage.cached_tokens == 25


def test_a_stated_cost_wins():
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5}
    assert read({**whole(content="a"), "usage": usage}, end=False)[0].usage.cost == 0.5


def test_senseless_numbers_count_as_none():
    usage = {"prompt_tokens": float("inf"), "completion_tokens": 2**70, "cost": float("nan"), "total_tokens": -5}
    result = read({**whole(content="a"), "usage": usage}, end=False)[0].usage
    assert (result.input_tokens, result.output_tokens, result.cost) == (0, 0, 0.0)


def test_the_cost_with_ones_own_key():
    usage = {"prompt_tokens": 1, "cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}}
    assert read({**whole(content="a"), "usage": usage}, end=False)[0].usage.cost == 0.75


DECIDE = Request([UserMessage("hi")], decision_after='"action": "', answer_from=0.5)


def token(text: str, **others: float) -> dict[str, Any]:
    top = [{"token": name, "logprob": math.log(share), "bytes": None} for name, share in others.items()]
    logprobs = {"content": [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": top}], "refusal": None}
    return {"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": None}


def test_a_server_says_what_the_model_would_have_written_and_is_left_when_that_is_known():
    begun = [token('{"action":'), token(' "'), token("final", multiply=0.8, final=0.1)]
    rest = [token("_answer"), token('", "final_answer": "12"}')]
    choices = [*begun, *rest, {"index": 0, "delta": {}, "finish_reason": "stop"}]

    async def main() -> tuple[Reply, dict[str, Any]]:
        answer = stream(*(event({"id": "c", "choices": [choice]}) for choice in choices))
        async with Loopback([answer]) as server:
            reply = await complete(model(base_url=server.url, abilities={"logprobs": True}), DECIDE)
            return reply, msgspec.json.decode(server.received[-1].body)

    reply, sent = asyncio.run(main())
    assert (sent["logprobs"], sent["top_logprobs"], sent["stream"]) == (True, 20, True)
    assert reply.broken_off
    assert reply.text.startswith('{"action": "final')
    assert reply.options == {"multiply": pytest.approx(0.8), "final": pytest.approx(0.1)}


SMALL = {"parameters": 1.5, "json_schema": True, "grammar": True}


def test_a_small_model_of_ones_own_server_is_left_when_its_reply_has_no_end():
    for provider, abilities, wanted, cut in [
        ("llamacpp", SMALL, OutputFormat("json"), True),
        ("llamacpp", SMALL, None, False),
        ("llamacpp", {**SMALL, "parameters": 70.0}, OutputFormat("json"), False),
        ("openai", SMALL, OutputFormat("json"), False),
    ]:
        with row(provider, abilities, wanted, cut):
            reader = model(provider=provider, abilities=abilities).reader_of(ASK.replace(format=wanted))
            for text in ('{"ticket": "V', *["12345"] * 40):
                if not reader.done:
                    reader.feed(msgspec.json.encode(chunk(content=text)))
            assert reader.done is cut
            if cut:
                assert (reader.reply().finish, len(reader.reply().text) < 200) == ("length", True)


def test_such_a_reply_is_streamed_for_that_although_nobody_watches():
    async def main() -> tuple[Reply, dict[str, Any]]:
        answer = stream(*(event(chunk(content=text)) for text in ('{"ticket": "V', *["12345"] * 40)))
        async with Loopback([answer]) as server:
            small = model(base_url=server.url, provider="llamacpp", abilities=SMALL)
            reply = await complete(small, ASK.replace(format=OutputFormat("json"), stream=False))
            return reply, msgspec.json.decode(server.received[-1].body)

    reply, sent = asyncio.run(main())
    assert (sent["stream"], reply.finish, len(reply.text) < 200) == (True, "length", True)


def test_a_reply_is_read_on_while_its_beginning_may_be_that_of_a_tool():
    names = DecisionNames(("final_answer",), ("final_grade",))
    choices = [token('{"action": "'), token("final", multiply=0.8, final=0.1)]

    def broken_off(asked: Request) -> bool:
        reader = model(abilities={"logprobs": True}).reader_of(asked)
        for choice in choices:
            reader.feed(msgspec.json.encode({"choices": [choice]}))
        return reader.done

    assert broken_off(DECIDE)
    assert not broken_off(DECIDE.replace(decision_names=names))


def test_a_whole_reply_has_its_options_too():
    asked = model(abilities={"logprobs": True})
    reader = asked.reader_of(DECIDE)
    tokens = [
        token(text, **others)["logprobs"]["content"][0] for text, others in (('{"action": "', {}), ("f", {"f": 0.9}))
    ]
    message = {"content": '{"action": "f", "args": {}}'}
    reader.feed(
        msgspec.json.encode(
            {"choices": [{"message": message, "logprobs": {"content": tokens}, "finish_reason": "stop"}]}
        )
    )
    assert (reader.reply().options, reader.reply().broken_off) == ({"f": pytest.approx(0.9)}, False)


def test_what_is_no_probability_is_left_out():
    for told in [
        None,
        {},
        {"content": None},
        {"content": ["x", {"token": 7, "top_logprobs": [None, {"token": "f"}]}]},
        {
            "content": [
                {
                    "token": '{"action": "f',
                    "top_logprobs": [
                        {"token": '{"action": "f', "logprob": "high"},
                        {"token": '{"action": "g', "logprob": 5.0},
                    ],
                }
            ]
        },
    ]:
        with row(told):
            reader = model(abilities={"logprobs": True}).reader_of(DECIDE)
            choice = {"message": {"content": '{"action": "f"}'}, "logprobs": told, "finish_reason": "stop"}
            reader.feed(msgspec.json.encode({"choices": [choice]}))
            assert reader.reply().options == {}
            assert reader.reply().text == '{"action": "f"}'


def test_a_server_that_tells_no_probabilities_is_not_asked_for_them():
    body = msgspec.json.decode(model().body_of(DECIDE, streaming=True))
    assert "logprobs" not in body
