"""Chat completions as servers really send them, and as profiles want them written."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from treadle.models.base import complete
from treadle.models.openai import OpenAIModel
from treadle.models.openai_wire import is_strict
from treadle.types.errors import (
    BadReplyError,
    ConfigError,
    ContentFilteredError,
    ContextOverflowError,
    MissingKeyError,
    ModelError,
    RequestRefusedError,
    TransientModelError,
)
from treadle.types.messages import AssistantMessage, ImagePart, Message, SystemMessage, TextPart, ToolCall, ToolMessage, UserMessage
from treadle.types.request import CallDelta, Delta, OutputFormat, RawCall, ReasoningDelta, Reply, Request, TextDelta, ToolSchema, WireCache

from .contract import event
from .loopback import Answer, Loopback, reply, stream

ASK = Request([UserMessage("hi")])
TOOLS = (ToolSchema("f", "Does.", {"type": "object"}),)


def model(**options: Any) -> OpenAIModel:
    return OpenAIModel(options.pop("name", "gpt-4o"), base_url=options.pop("base_url", "http://127.0.0.1:9/v1"), **options)


def read(*documents: Any, end: bool = True, **options: Any) -> tuple[Reply, list[Delta]]:
    """What the reader makes of these payloads."""
    reader = model(**options)._reader(ASK)
    payloads = [document if isinstance(document, bytes) else json.dumps(document).encode() for document in documents]
    deltas = [delta for payload in [*payloads, *([b"[DONE]"] if end else [])] for delta in reader.feed(payload)]
    return reader.reply(), deltas


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def whole(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def piece(arguments: Any = None, name: str | None = None, call_id: str | None = None, index: int | None = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment: dict[str, Any] = {"function": function}
    if call_id is not None:
        fragment["id"] = call_id
    if index is not None:
        fragment["index"] = index
    return fragment


def calls_of(*fragments: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str]]:
    found, deltas = read(*(chunk(tool_calls=[fragment]) for fragment in fragments), chunk(finish))
    assert len({call.id for call in found.calls}) == len(found.calls)
    assert all(call.id for call in found.calls)
    for number, call in enumerate(found.calls):
        mine = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == number]
        assert "".join(delta.arguments for delta in mine) == call.arguments
        assert "".join(delta.name for delta in mine) == call.name
    return [(call.name, call.arguments) for call in found.calls]


# Fragments of calls


def test_fragments_with_index():
    assert calls_of(piece("", "f", "a", 0), piece('{"x"', index=0), piece(":1}", index=0), piece("{}", "g", "b", 1)) == [
        ("f", '{"x":1}'),
        ("g", "{}"),
    ]


def test_interleaved_fragments():
    assert calls_of(piece("", "f", "a", 0), piece("", "g", "b", 1), piece('{"x":1}', index=0), piece('{"y":2}', index=1)) == [
        ("f", '{"x":1}'),
        ("g", '{"y":2}'),
    ]


def test_fragments_without_index():
    assert calls_of(piece("", "f", "a"), piece('{"x"'), piece(":1}"), piece("{}", "g", "b")) == [("f", '{"x":1}'), ("g", "{}")]


def test_fragments_without_index_and_id():
    assert calls_of(piece('{"x":1}', "f"), piece("{}", "f"), piece("{}", "g")) == [("f", '{"x":1}'), ("f", "{}"), ("g", "{}")]


def test_every_call_numbered_zero():
    assert calls_of(piece('{"x":1}', "f", "a", 0), piece("{}", "g", "b", 0)) == [("f", '{"x":1}'), ("g", "{}")]
    assert calls_of(piece('{"x":1}', "f", None, 0), piece("{}", "f", None, 0)) == [("f", '{"x":1}'), ("f", "{}")]


def test_a_new_id_in_every_fragment():
    assert calls_of(piece("", "f", "a", 0), piece('{"x":', call_id="b", index=0), piece("1}", call_id="c", index=0)) == [("f", '{"x":1}')]


def test_the_name_repeated_in_every_fragment():
    assert calls_of(piece('{"x"', "f", "a", 0), piece(":1}", "f", "a", 0), piece("", "f", "a", 0)) == [("f", '{"x":1}')]


def test_the_name_in_pieces():
    assert calls_of(piece(None, "get_", "a", 0), piece(None, "time", None, 0), piece("{}", index=0)) == [("get_time", "{}")]


def test_the_name_after_the_id():
    assert calls_of(piece(None, None, "a", 0), piece(None, "f", None, 0), piece("{}", index=0)) == [("f", "{}")]


def test_no_arguments_are_an_empty_object():
    assert calls_of(piece("", "f", "a", 0)) == [("f", "{}")]
    assert calls_of(piece(None, "f", "a", 0)) == [("f", "{}")]


def test_arguments_as_an_object():
    assert calls_of(piece({"x": [1]}, "f", "a", 0)) == [("f", '{"x":[1]}')]
    found, _ = read(whole("tool_calls", tool_calls=[piece({"x": 1}, "f", "a")]), end=False)
    assert found.calls == (RawCall("a", "f", '{"x":1}'),)


def test_the_same_id_twice_is_made_unique():
    found, _ = read(whole("tool_calls", tool_calls=[piece("{}", "f", "x"), piece("{}", "g", "x")]), end=False)
    assert found.calls[0].id == "x"
    assert found.calls[1].id not in ("", "x")


def test_a_flat_call():
    assert calls_of({"index": 0, "id": "a", "name": "f", "arguments": "{}"}) == [("f", "{}")]


def test_legacy_function_call():
    found, _ = read(whole("function_call", content=None, function_call={"name": "f", "arguments": '{"a":1}'}), end=False)
    assert [(call.name, call.arguments) for call in found.calls] == [("f", '{"a":1}')]
    assert found.finish == "calls"
    streamed, _ = read(
        chunk(function_call={"name": "f", "arguments": ""}),
        chunk(function_call={"arguments": '{"a"'}),
        chunk(function_call={"arguments": ":1}"}),
        chunk("function_call"),
    )
    assert [(call.name, call.arguments) for call in streamed.calls] == [("f", '{"a":1}')]


def test_a_cut_off_call_is_never_done():
    found, deltas = read(chunk(tool_calls=[piece('{"a": 12', "f", "x", 0)]), chunk("length"))
    assert found.finish == "length"
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)
    # Closed braces prove nothing when the reply was cut: there may have been more to come.
    found, deltas = read(chunk(tool_calls=[piece('{"a": 12}', "f", "x", 0)]), chunk("length"))
    assert found.finish == "length"
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)


def test_broken_arguments_are_never_done():
    found, deltas = read(chunk(tool_calls=[piece('{"a": ', "f", "x", 0)]), chunk("tool_calls"))
    assert found.calls == (RawCall("x", "f", '{"a": '),)
    assert not any(isinstance(delta, CallDelta) and delta.done for delta in deltas)


# Finish reasons


@pytest.mark.parametrize(
    ("said", "has_calls", "finish"),
    [
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
    ],
)
def test_finish_reasons_lie(said: Any, has_calls: bool, finish: str):
    calls = [piece("{}", "f", "a", 0)] if has_calls else None
    assert read(whole(said, content="x", tool_calls=calls), end=False)[0].finish == finish
    assert read(chunk(content="x", tool_calls=calls), chunk(said))[0].finish == finish


def test_done_without_a_finish_reason_is_an_end():
    assert read(chunk(content="x"))[0] == Reply("x", usage=read(chunk(content="x"))[0].usage, id="c")


def test_an_end_without_done_or_finish_reason_is_none():
    with pytest.raises(TransientModelError, match="before the reply was complete"):
        read(chunk(content="x"), end=False)


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "network_error"])
def test_a_model_that_broke_off(reason: str):
    with pytest.raises(TransientModelError, match="broke off"):
        read(chunk(content="x"), chunk(reason))


def test_a_complete_reply_survives_a_lost_end():
    answer = stream(event(chunk(content="all of it")), event(chunk("stop")), fault="reset")

    async def main() -> None:
        async with Loopback([answer]) as server:
            assert (await complete(model(base_url=server.url), ASK.replace(stream=True))).text == "all of it"

    asyncio.run(main())


def test_a_complete_reply_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treadle.models.http.REST", 0.1)
    answer = stream(event(chunk(content="all of it")), event(chunk("stop")), fault="stall")

    async def main() -> None:
        async with Loopback([answer]) as server, asyncio.timeout(2):
            assert (await complete(model(base_url=server.url), ASK.replace(stream=True))).text == "all of it"

    asyncio.run(main())


# Content


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
    found, _ = read(whole(content=parts), end=False)
    assert (found.text, found.reasoning) == ("ab", "hm so")


def test_several_choices():
    two = {"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}, {"index": 1, "message": {"content": "b"}}]}
    assert read(two, end=False)[0].text == "a"
    other = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}]}
    mixed = {"choices": [{"index": 1, "delta": {"content": "C"}}, {"index": 0, "delta": {"content": "b"}}]}
    assert read(chunk(content="a"), other, mixed, chunk("stop"))[0].text == "ab"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_fields(field: str):
    found, deltas = read(chunk(**{field: "hm "}), chunk(**{field: "yes"}), chunk(content="4"), chunk("stop"))
    assert (found.text, found.reasoning) == ("4", "hm yes")
    assert deltas == [ReasoningDelta("hm "), ReasoningDelta("yes"), TextDelta("4")]
    assert read(whole(content="4", **{field: "hm"}), end=False)[0].reasoning == "hm"


def test_the_same_thought_under_two_names_counts_once():
    assert read(whole(content="4", reasoning="hm", reasoning_content="hm"), end=False)[0].reasoning == "hm"


def test_think_tags():
    found, deltas = read(chunk(content="<thi"), chunk(content="nk>a b</th"), chunk(content="ink>\n\nText <think>"), chunk("stop"))
    assert (found.text, found.reasoning) == ("Text <think>", "a b")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Text <think>"


def test_a_closing_tag_alone_counts_for_models_that_think():
    assert read(whole(content="hm</think>\n4"), end=False)[0].text == "hm</think>\n4"
    found, _ = read(whole(content="hm</think>\n4"), end=False, name="qwq-32b")
    assert (found.text, found.reasoning) == ("4", "hm")


def test_a_refusal():
    found, _ = read(whole(content=None, refusal="I won't."), end=False)
    assert (found.text, found.finish) == ("I won't.", "refusal")
    found, _ = read(chunk(refusal="I "), chunk(refusal="won't."), chunk("stop"))
    assert (found.text, found.finish) == ("I won't.", "refusal")


def test_the_content_filter():
    with pytest.raises(ContentFilteredError) as caught:
        read({"choices": [{"finish_reason": "content_filter"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}, end=False)
    assert (caught.value.usage.input_tokens, caught.value.usage.requests) == (3, 1)
    found, _ = read(chunk(content="He"), chunk("content_filter"))
    assert (found.text, found.finish) == ("He", "filter")


# Errors in disguise


@pytest.mark.parametrize("end", [True, False])
def test_an_error_in_a_whole_body(end: bool):
    with pytest.raises(TransientModelError):
        read({"error": {"message": "Provider returned error", "code": 502}}, end=end)
    with pytest.raises(RequestRefusedError):
        read({"object": "error", "message": "no such model", "type": "NotFoundError", "code": 404}, end=end)
    with pytest.raises(ContextOverflowError):
        read({"error": {"message": "maximum context length is 5", "code": 400}}, end=end)


def test_an_error_in_a_choice():
    with pytest.raises(TransientModelError):
        read({"choices": [{"index": 0, "delta": {}, "error": {"message": "upstream", "code": 503}, "finish_reason": "error"}]})


def test_two_events_without_a_blank_line():
    one, two = json.dumps(chunk(content="a")).encode(), json.dumps(chunk("stop", content="b")).encode()
    assert read(one + b"\n" + two)[0].text == "ab"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":NaN,"finish_reason":"stop"}]}', "a"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\x01b"},"finish_reason":"stop"}]}', "a\x01b"),
        (rb'{"choices":[{"index":0,"delta":{"content":"a\ud83d"},"finish_reason":"stop"}]}', "a\ufffd"),
        (rb'{"choices":[{"index":0,"delta":{"content":"\ud83d\ude00"},"finish_reason":"stop"}]}', "\U0001f600"),
        (b'\xef\xbb\xbf{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}', "a"),
    ],
)
def test_json_that_is_only_nearly_json(raw: bytes, text: str):
    found, _ = read(raw)
    assert found.text == text
    found.text.encode()


def test_nesting_without_end_is_a_typed_error():
    with pytest.raises(BadReplyError):
        read(b'{"a":' * 200_000 + b"1" + b"}" * 200_000)


def test_half_a_character_does_not_stop_a_request():
    sent = body(Request([UserMessage("a\udce4b"), AssistantMessage("", (ToolCall("x", "f", {"k\ud800": ["\udfff"]}),))]))
    assert sent["messages"][0]["content"] == "a\ufffdb"


def test_unknown_events_are_ignored():
    assert read({"type": "ping"}, chunk(content="a"), {"event": "x"}, chunk("stop"))[0].text == "a"


def test_an_empty_stream_is_no_reply():
    with pytest.raises(BadReplyError):
        read()


# Usage

THREE = {"reasoning_tokens": 3}


def test_usage_in_a_last_chunk_without_choices():
    found, _ = read(chunk("stop", content="a"), {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.requests) == (7, 2, 1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, (10, 5, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 5, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, (10, 5, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}}, (10, 5, 0, 0, 3)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 18},
            (10, 8, 0, 0, 3),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 2}},
            (10, 5, 10, 2, 0),
        ),
        ({"prompt_tokens": None, "completion_tokens": "x", "prompt_tokens_details": None}, (0, 0, 0, 0, 0)),
    ],
)
def test_usage_under_many_names(usage: dict[str, Any], expected: tuple[int, ...]):
    found = read({**whole(content="a"), "usage": usage}, end=False)[0].usage
    fields = (found.input_tokens, found.output_tokens, found.cached_tokens, found.cache_write_tokens, found.reasoning_tokens)
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
    found = read({**whole(content="a"), "usage": usage}, end=False)[0].usage
    assert (found.input_tokens, found.output_tokens, found.cost) == (0, 0, 0.0)


def test_the_cost_with_ones_own_key():
    usage = {"prompt_tokens": 1, "cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}}
    assert read({**whole(content="a"), "usage": usage}, end=False)[0].usage.cost == 0.75


# What goes out


def body(request: Request, streaming: bool = False, **options: Any) -> dict[str, Any]:
    return json.loads(model(**options)._body(request, streaming))


def test_the_body_is_minimal_and_messages_come_last():
    raw = model()._body(ASK, False)
    assert json.loads(raw) == {"model": "gpt-4o", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    assert raw.endswith(b'"messages":[{"role":"user","content":"hi"}]}')


def test_a_longer_conversation_begins_like_the_shorter_one():
    cache = WireCache()
    messages: list[Message] = [SystemMessage("s"), UserMessage("q")]
    adapter = model()
    first = adapter._body(Request(messages, TOOLS, temperature=0.5, cache=cache), False)
    messages += [AssistantMessage("a"), UserMessage("r")]
    second = adapter._body(Request(messages, TOOLS, temperature=0.5, cache=cache), False)
    assert second.startswith(first[:-2])


def test_settings():
    request = ASK.replace(temperature=0.0, max_tokens=5, stop=("X",), seed=3)
    sent = body(request)
    assert (sent["temperature"], sent["max_tokens"], sent["stop"], sent["seed"]) == (0.0, 5, ["X"], 3)
    sent = body(request, name="gpt-5")
    assert "temperature" not in sent
    assert "stop" not in sent
    assert sent["max_completion_tokens"] == 5
    assert body(request, provider="mistral", name="mistral-large-latest")["random_seed"] == 3


def test_streaming_asks_for_usage_where_that_is_understood():
    assert body(ASK, streaming=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body(ASK, streaming=True, provider="mistral")


def test_extra_body():
    assert body(ASK, extra_body={"reasoning_effort": "low"})["reasoning_effort"] == "low"


def test_tool_choice():
    def choice(wanted: str, **options: Any) -> Any:
        return body(ASK.replace(tools=TOOLS, tool_choice=wanted), **options).get("tool_choice")

    assert choice("auto") is None
    assert choice("none") == "none"
    assert choice("required") == "required"
    assert choice("required", provider="mistral", name="mistral-large-latest") == "any"
    assert choice("f") == {"type": "function", "function": {"name": "f"}}
    assert choice("f", abilities={"forced_tool": False}) is None
    assert choice("f", abilities={"reasoning": True, "forced_tool_while_thinking": False}) is None
    assert "tool_choice" not in body(ASK.replace(tool_choice="required"))


def test_formats():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    sent = body(ASK.replace(format=OutputFormat("schema", schema, name="n")))["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    assert body(ASK.replace(format=OutputFormat("json")))["response_format"] == {"type": "json_object"}
    weak = body(ASK.replace(format=OutputFormat("schema", schema)), abilities={"json_schema": False})
    assert weak["response_format"] == {"type": "json_object"}
    assert "response_format" not in body(ASK.replace(format=OutputFormat("json")), abilities={"json_mode": False, "json_schema": False})
    assert body(ASK.replace(format=OutputFormat("grammar", grammar="root ::= x")), provider="llamacpp")["grammar"] == "root ::= x"
    with pytest.raises(RequestRefusedError, match="grammar"):
        body(ASK.replace(format=OutputFormat("grammar", grammar="root ::= x")))


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}]}, False),
        ({"type": "array", "items": {"enum": [{"type": "object"}]}}, True),
    ],
)
def test_strict_schemas(schema: dict[str, Any], strict: bool):
    assert is_strict(schema) is strict


def test_system_roles():
    messages = [SystemMessage("s"), UserMessage("q")]
    assert body(Request(messages), name="gpt-5")["messages"][0] == {"role": "developer", "content": "s"}
    alone = body(Request(messages), abilities={"system_role": "user"})["messages"]
    assert alone == [{"role": "user", "content": "s\n\nq"}]
    unanswered = body(Request([SystemMessage("s"), AssistantMessage("a")]), abilities={"system_role": "user"})["messages"]
    assert unanswered == [{"role": "user", "content": "s"}, {"role": "assistant", "content": "a"}]


def test_images():
    parts = (TextPart("what?"), ImagePart(url="http://x/y.png"), ImagePart(data="QUJD", mime="image/gif"))
    assert body(Request([UserMessage(parts)]))["messages"][0]["content"] == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,QUJD"}},
    ]


def test_images_of_results_follow_the_last_result():
    messages = [
        UserMessage("q"),
        AssistantMessage("", (ToolCall("a", "shot"), ToolCall("b", "now"))),
        ToolMessage("a", "shot", (TextPart("done"), ImagePart(data="QUJD"))),
        ToolMessage("b", "now", "noon"),
        AssistantMessage("ok"),
    ]
    sent = body(Request(messages))["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert sent[2]["content"] == "done"
    assert sent[4]["content"][0] == {"type": "text", "text": "From shot:"}
    assert sent[4]["content"][1]["type"] == "image_url"


def test_call_ids_of_mistral():
    messages = [UserMessage("q"), AssistantMessage("", (ToolCall("call_long_id", "f"), ToolCall("abcDEF123", "f")))]
    messages += [ToolMessage("call_long_id", "f", "1"), ToolMessage("abcDEF123", "f", "2")]
    sent = body(Request(messages), provider="mistral")["messages"]
    first, second = (call["id"] for call in sent[1]["tool_calls"])
    assert (len(first), first.isalnum(), second) == (9, True, "abcDEF123")
    assert [sent[2]["tool_call_id"], sent[3]["tool_call_id"]] == [first, second]


def test_reasoning_goes_back_in_the_field_it_came_in():
    found, _ = read(whole(content="4", reasoning_content="hm"), end=False, provider="deepseek", name="deepseek-v4-flash")
    assert found.opaque is not None
    said = AssistantMessage(found.text, (), found.reasoning, opaque=found.opaque)
    sent = body(Request([UserMessage("q"), said]), provider="deepseek", name="deepseek-v4-flash")["messages"]
    assert sent[1] == {"role": "assistant", "content": "4", "reasoning_content": "hm"}
    assert "reasoning_content" not in body(Request([UserMessage("q"), said]))["messages"][1]
    # A call that another model made has no thoughts, but DeepSeek wants the field.
    other = AssistantMessage("", (ToolCall("a", "f"),))
    sent = body(Request([UserMessage("q"), other, ToolMessage("a", "f", "x")]), provider="deepseek", name="deepseek-v4-flash")["messages"]
    assert sent[1]["reasoning_content"] == ""


def test_reasoning_details_are_joined_and_go_back_whole():
    details = [
        {"type": "reasoning.text", "text": "a", "index": 0, "format": "x"},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "signature": "sig", "index": 0},
        {"type": "reasoning.encrypted", "data": "zz", "index": 1},
    ]
    options = {"provider": "openrouter", "name": "anthropic/claude-sonnet-4.5"}
    found, _ = read(*(chunk(reasoning=detail.get("text"), reasoning_details=[detail]) for detail in details), chunk("stop"), **options)
    assert found.reasoning == "ab"
    said = AssistantMessage("x", reasoning=found.reasoning, opaque=found.opaque)
    sent = body(Request([UserMessage("q"), said]), **options)["messages"][1]
    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "index": 0, "format": "x", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "zz", "index": 1},
    ]
    assert "reasoning_details" not in body(Request([UserMessage("q"), said]), provider="together", name="x")["messages"][1]


# Keys and addresses


def test_keys(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")

    def header(**options: Any) -> str | None:
        return OpenAIModel("m", **options)._connection.headers.get("authorization")

    assert header() == "Bearer from-environment"
    assert header(api_key="given") == "Bearer given"
    assert header(base_url="http://localhost:1/v1") is None
    assert header(base_url="http://localhost:1/v1", api_key="given") == "Bearer given"
    assert header(api_key="") is None
    assert header(provider="ollama") is None
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        header()
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="GROQ_API_KEY"):
        header(provider="groq")


def test_headers_are_added_and_masked():
    adapter = model(headers={"X-Team": "blue", "X-Team-Token": "team-token-1", "X-Trace": "a-very-long-value-of-a-header"})
    assert adapter._connection.headers["x-team-token"] == "team-token-1"
    assert adapter._origin.redact("blue team-token-1 a-very-long-value-of-a-header") == "blue *** ***"


@pytest.mark.parametrize("url", ["nonsense", "ftp://host/v1", "http://", "localhost:8000"])
def test_a_bad_address_names_the_fix(url: str):
    with pytest.raises(ConfigError, match="base_url"):
        model(base_url=url)


def test_credentials_in_an_address_are_not_shown():
    adapter = model(base_url="http://user:password123@127.0.0.1:9/v1?token=abcdefgh")
    assert adapter._origin.address == "http://127.0.0.1:9/v1"


def test_addresses_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0")
    assert OpenAIModel("m", provider="ollama")._connection.base_url == "http://127.0.0.1:11434/v1"
    monkeypatch.setenv("OLLAMA_HOST", "https://box.example:8443")
    assert OpenAIModel("m", provider="ollama")._connection.base_url == "https://box.example:8443/v1"
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ConfigError, match="AZURE_OPENAI_ENDPOINT"):
        OpenAIModel("m", provider="azure", api_key="k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")
    azure = OpenAIModel("m", provider="azure", api_key="kkk")
    assert azure._connection.base_url == "https://me.openai.azure.com/openai/v1"
    assert azure._connection.headers["api-key"] == "kkk"


def test_an_unknown_ability_is_an_error():
    with pytest.raises(ValueError, match="unknown ability 'tools'"):
        model(abilities={"tools": True})


def test_over_a_connection_with_everything():
    async def main() -> None:
        async with Loopback([reply(whole("tool_calls", content=None, tool_calls=[piece('{"a":1}', "f", "x")]))]) as server:
            found = await complete(model(base_url=server.url + "/v1"), Request([UserMessage("q")], TOOLS))
            assert found.calls == (RawCall("x", "f", '{"a":1}'),)
            assert server.received[0].path == "/v1/chat/completions"
            assert server.received[0].headers["content-type"] == "application/json"

    asyncio.run(main())


def test_a_typed_error_for_every_status():
    async def main() -> None:
        for status in range(300, 600):
            async with Loopback([Answer(status, [b"x"], length=True)]) as server:
                with pytest.raises(ModelError):
                    await complete(model(base_url=server.url), ASK)

    asyncio.run(main())
