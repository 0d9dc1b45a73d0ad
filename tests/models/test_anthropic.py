"""What is Anthropic's own: signed thoughts, cache marks, paused turns, schemas."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from treadle._models.anthropic import model as anthropic
from treadle._models.anthropic.model import AnthropicModel
from treadle._models.anthropic.wire import enforceable
from treadle._models.base import complete
from treadle._types.errors import TransientModelError
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import OutputFormat, Reply, Request, ToolSchema, WireCache

from .contract import AnthropicWire, Said, event
from .loopback import Loopback, reply, stream

TOOLS = (ToolSchema("f", "Does.", {"properties": {"a": {"type": "integer"}}}),)
ASK = Request([SystemMessage("s"), UserMessage("q")])
MARK = {"type": "ephemeral"}


def model(name: str = "claude-sonnet-4-5", **options: Any) -> AnthropicModel:
    return AnthropicModel(name, base_url=options.pop("base_url", "http://127.0.0.1:9"), **options)


def marked_body(
    request: Request, streaming: bool = False, name: str = "claude-sonnet-4-5", **options: Any
) -> dict[str, Any]:
    return json.loads(model(name, **options)._body(request, streaming))


def body(*arguments: Any, **options: Any) -> dict[str, Any]:
    """The body without its cache marks."""
    return unmarked(marked_body(*arguments, **options))


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def message(content: list[Any], stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "m",
        "model": "claude-x",
        "content": content,
        "stop_reason": stop,
        "usage": {"output_tokens": 1},
        **more,
    }


def read(*documents: Any) -> Reply:
    reader = model()._reader(ASK)
    for document in documents:
        reader.feed(json.dumps(document).encode())
    return reader.reply()


THINKING = [
    {"type": "thinking", "thinking": "hm", "signature": "sig1"},
    {"type": "text", "text": "Looking."},
    {"type": "redacted_thinking", "data": "zzz"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
]


def said(found: Reply, **changes: Any) -> AssistantMessage:
    calls = tuple(ToolCall(call.id, call.name, json.loads(call.arguments), call.arguments) for call in found.calls)
    return AssistantMessage(
        **{"text": found.text, "calls": calls, "reasoning": found.reasoning, "opaque": found.opaque} | changes
    )


def test_thoughts_go_back_untouched_and_in_their_place():
    found = read(message(THINKING, "tool_use"))
    assert (found.reasoning, found.text, found.finish) == ("hm", "Looking.", "calls")
    sent = body(Request([UserMessage("q"), said(found), ToolMessage("toolu_1", "f", "x")], TOOLS))
    assert sent["messages"][1]["content"] == THINKING


def test_thoughts_that_streamed_are_put_together():
    events = [
        {"type": "message_start", "message": message([], "")},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig1"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "zzz"}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    found = read(*events)
    assert found.opaque is not None
    assert found.opaque["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig1"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]


def test_a_shortened_message_keeps_its_thoughts():
    found = read(message(THINKING, "tool_use"))
    sent = body(Request([UserMessage("q"), said(found, text="Cut."), ToolMessage("toolu_1", "f", "x")], TOOLS))
    kinds = [block["type"] for block in sent["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert sent["messages"][1]["content"][2]["text"] == "Cut."


def test_thoughts_do_not_go_to_another_model():
    found = read(message(THINKING, "tool_use"))
    sent = body(
        Request([UserMessage("q"), said(found), ToolMessage("toolu_1", "f", "x")], TOOLS), name="claude-opus-4-5"
    )
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text", "tool_use"]


def test_nothing_is_kept_where_nothing_is_needed():
    assert read(message([{"type": "text", "text": "hi"}])).opaque is None


def marks(sent: dict[str, Any]) -> list[str]:
    found = [f"tools.{i}" for i, tool in enumerate(sent.get("tools", ())) if tool.get("cache_control") == MARK]
    found += [f"system.{i}" for i, block in enumerate(sent.get("system", ())) if block.get("cache_control") == MARK]
    for number, turn in enumerate(sent["messages"]):
        found += [f"{number}.{i}" for i, block in enumerate(turn["content"]) if block.get("cache_control") == MARK]
    return found


def conversation() -> list[Message]:
    return [
        SystemMessage("s"),
        UserMessage("q"),
        AssistantMessage("a", (ToolCall("t1", "f"), ToolCall("t2", "f"))),
        ToolMessage("t1", "f", "1"),
        ToolMessage("t2", "f", "2", error=True),
        UserMessage("and?"),
    ]


def test_cache_marks_are_on_the_stable_prefix():
    assert marks(marked_body(Request(conversation(), TOOLS))) == ["system.0", "0.0", "2.2"]
    assert marks(marked_body(Request(conversation()))) == ["system.0", "0.0", "2.2"]
    assert marks(marked_body(Request(conversation()[1:], TOOLS))) == ["tools.0", "0.0", "2.2"]
    assert marks(marked_body(ASK.replace(tools=TOOLS))) == ["system.0", "0.0"]


def test_a_lone_question_is_not_worth_a_mark():
    assert marks(marked_body(ASK)) == []


def test_every_request_finds_the_end_of_the_one_before_marked():
    cache, messages = WireCache(), conversation()[:2]
    adapter = model()
    last: list[Any] = []
    for round_number in range(6):
        sent = json.loads(adapter._body(Request(messages, TOOLS, cache=cache), False))
        found = [mark for mark in marks(sent) if mark[0].isdigit()]
        assert len(marks(sent)) <= 4
        ends = [
            f"{number}.{len(turn['content']) - 1}"
            for number, turn in enumerate(sent["messages"])
            if turn["role"] == "user"
        ]
        assert found == ends[-2:]
        assert last in (found[:-1][-1:], [])
        last = found[-1:]
        messages = [
            *messages,
            AssistantMessage("a", (ToolCall(f"t{round_number}", "f"),)),
            ToolMessage(f"t{round_number}", "f", "x"),
        ]


def test_results_of_one_reply_share_a_turn():
    sent = body(Request(conversation(), TOOLS))["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "1"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "2", "is_error": True},
        {"type": "text", "text": "and?"},
    ]


def test_what_the_api_refuses_is_not_sent():
    messages = [
        AssistantMessage(""),
        UserMessage("  "),
        AssistantMessage("", (ToolCall("a.b:0", "f"),)),
        ToolMessage("a.b:0", "f", ""),
    ]
    sent = body(Request(messages))["messages"]
    assert sent[0] == {"role": "user", "content": [{"type": "text", "text": "(The conversation goes on.)"}]}
    assert sent[1]["content"] == [{"type": "text", "text": "(no text)"}]
    assert sent[2]["content"] == [{"type": "text", "text": "(no text)"}]
    assert sent[3]["content"][0]["id"] == "a_b_0"
    assert sent[4]["content"] == [{"type": "tool_result", "tool_use_id": "a_b_0"}]


def test_a_late_system_message_is_a_users_message():
    sent = body(Request([SystemMessage("s"), UserMessage("q"), SystemMessage("note")]))
    assert sent["system"] == [{"type": "text", "text": "s"}]
    assert [block["text"] for block in sent["messages"][0]["content"]] == ["q", "note"]


def test_images():
    parts = (TextPart("what?"), ImagePart(url="https://x/y.png"), ImagePart(data="QUJD", mime="image/gif"))
    parts += (ImagePart(url="data:image/png;base64,REVG"),)
    sent = body(Request([UserMessage(parts)]))["messages"][0]["content"]
    assert [block.get("source") for block in sent[1:]] == [
        {"type": "url", "url": "https://x/y.png"},
        {"type": "base64", "media_type": "image/gif", "data": "QUJD"},
        {"type": "base64", "media_type": "image/png", "data": "REVG"},
    ]
    result = body(Request([UserMessage("q"), ToolMessage("t", "f", (TextPart("x"), ImagePart(data="QUJD")))]))
    assert [block["type"] for block in result["messages"][0]["content"][1]["content"]] == ["text", "image"]


def test_settings():
    request = ASK.replace(temperature=1.5, stop=("X", " "), max_tokens=7)
    sent = body(request)
    assert (sent["temperature"], sent["stop_sequences"], sent["max_tokens"]) == (1.0, ["X"], 7)
    assert body(ASK)["max_tokens"] == 21_000
    assert body(ASK, streaming=True)["max_tokens"] == 64_000
    assert body(ASK, name="unknown")["max_tokens"] > 0
    assert "temperature" not in body(request, name="claude-opus-5-5")
    assert "temperature" not in body(request, extra_body={"thinking": {"type": "enabled", "budget_tokens": 1024}})


def test_tool_choice():
    def choice(wanted: str, name: str = "claude-sonnet-4-5", **options: Any) -> Any:
        return body(ASK.replace(tools=TOOLS, tool_choice=wanted), name=name, **options).get("tool_choice")

    assert choice("auto") is None
    assert choice("none") == {"type": "none"}
    assert choice("required") == {"type": "any"}
    assert choice("f") == {"type": "tool", "name": "f"}
    assert choice("f", extra_body={"thinking": {"type": "adaptive"}}) is None
    assert choice("f", "claude-sonnet-5-5") is None
    assert body(ASK.replace(tools=TOOLS))["tools"][0]["input_schema"]["type"] == "object"


def test_formats():
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
    sent = body(ASK.replace(format=OutputFormat("schema", schema)), extra_body={"output_config": {"effort": "low"}})[
        "output_config"
    ]
    assert sent["effort"] == "low"
    assert sent["format"]["type"] == "json_schema"
    assert sent["format"]["schema"]["additionalProperties"] is False
    assert "output_config" not in body(ASK.replace(format=OutputFormat("json")))
    assert "output_config" not in body(
        ASK.replace(format=OutputFormat("schema", schema)), name="claude-3-5-sonnet-latest"
    )


def test_schemas_keep_what_can_be_enforced_and_say_the_rest():
    schema = {
        "$defs": {"n": {"type": "number", "exclusiveMinimum": 0}},
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "n": {"$ref": "#/$defs/n"},
            "list": {
                "type": "array",
                "items": {"oneOf": [{"type": "string", "format": "email"}, {"type": "null"}]},
                "maxItems": 3,
            },
            "free": {"type": "object", "properties": {}, "additionalProperties": True},
            "code": {"type": "string", "format": "zip", "description": "Where"},
        },
        "required": ["kind"],
        "additionalProperties": True,
    }
    assert enforceable(schema) == {
        "$defs": {"n": {"type": "number", "description": "(exclusiveMinimum: 0)"}},
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "n": {"$ref": "#/$defs/n"},
            "list": {
                "type": "array",
                "items": {"anyOf": [{"type": "string", "format": "email"}, {"type": "null"}]},
                "description": "(maxItems: 3)",
            },
            "free": {"type": "object", "properties": {}, "additionalProperties": False},
            "code": {"type": "string", "description": 'Where (format: "zip")'},
        },
        "required": ["kind"],
        "additionalProperties": False,
    }


SEARCH = [
    {"type": "text", "text": "Searching. "},
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
]
PAUSED = message(SEARCH, "pause_turn", usage={"input_tokens": 10, "output_tokens": 3}, container={"id": "cont_1"})
REST = message(
    [{"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}, {"type": "text", "text": "Found."}],
    usage={"input_tokens": 20, "output_tokens": 4},
)


def test_a_paused_turn_is_taken_up_again():
    async def main() -> None:
        async with Loopback([reply(PAUSED), reply(REST)]) as server:
            found = await complete(model(base_url=server.url), ASK)
            assert (found.text, found.finish) == ("Searching. Found.", "stop")
            assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.requests) == (30, 7, 2)
            again = server.received[1].json
            assert again["messages"][-1] == {"role": "assistant", "content": SEARCH}
            assert unmarked(again["messages"][:-1]) == server.received[0].json["messages"]
            assert again["container"] == "cont_1"
            assert found.opaque is not None
            assert found.opaque["content"] == SEARCH + REST["content"]

    asyncio.run(main())


def test_a_paused_stream_goes_on_as_one():
    def events(document: dict[str, Any]) -> str:
        out = event({"type": "message_start", "message": document | {"content": [], "stop_reason": None}})
        for index, block in enumerate(document["content"]):
            out += event({"type": "content_block_start", "index": index, "content_block": block})
            out += event({"type": "content_block_stop", "index": index})
        out += event(
            {"type": "message_delta", "delta": {"stop_reason": document["stop_reason"]}, "usage": document["usage"]}
        )
        return out + event({"type": "message_stop"})

    async def main() -> None:
        async with Loopback([stream(events(PAUSED)), stream(events(REST))]) as server:
            texts: list[str] = []
            found = await complete(
                model(base_url=server.url), ASK.replace(stream=True), lambda delta: texts.append(delta.text)
            )  # type: ignore[union-attr]
            assert found.text == "".join(texts) == "Searching. Found."

    asyncio.run(main())


def test_pauses_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(anthropic, "MAX_CONTINUATIONS", 2)

    async def main() -> None:
        async with Loopback([reply(PAUSED)]) as server:
            found = await complete(model(base_url=server.url), ASK)
            assert (found.finish, len(server.received), found.usage.requests) == ("pause", 3, 3)

    asyncio.run(main())


def test_a_failure_after_a_pause_says_what_was_spent():
    async def main() -> None:
        async with Loopback([reply(PAUSED), AnthropicWire().error(529, "Overloaded")]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK)
            usage = caught.value.usage
            assert (usage.input_tokens, usage.output_tokens, usage.requests) == (10, 3, 2)

    asyncio.run(main())


def test_a_stream_that_breaks_says_what_is_known_to_be_spent():
    wire = AnthropicWire()

    async def main() -> None:
        async with Loopback([stream(*wire.events(Said("hello there"))[:3], fault="reset")]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK.replace(stream=True))
            assert (caught.value.usage.input_tokens, caught.value.usage.cached_tokens) == (100, 40)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("odd", "unknown"),
    ],
)
def test_finish(stop: str, finish: str):
    assert read(message([{"type": "text", "text": "x"}], stop)).finish == finish


def test_finish_lies():
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    assert read(message([use], "end_turn")).finish == "calls"
    assert read(message([{"type": "text", "text": "x"}], "tool_use")).finish == "stop"


def test_a_refusal_explains_itself():
    found = read(message([], "refusal", stop_details={"type": "refusal", "explanation": "Not that."}))
    assert (found.text, found.finish) == ("Not that.", "refusal")


def test_tokens_written_to_the_cache_are_counted_and_paid():
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 4000,
        "output_tokens": 100,
    }
    found = read(
        message([{"type": "text", "text": "x"}], usage=usage | {"output_tokens_details": {"thinking_tokens": 60}})
    ).usage
    assert (found.input_tokens, found.cached_tokens, found.cache_write_tokens, found.reasoning_tokens) == (
        7000,
        2000,
        4000,
        60,
    )
    assert found.cost == pytest.approx((1000 * 3 + 2000 * 0.3 + 4000 * 3.75 + 100 * 15) / 1e6)


def test_addresses():
    assert model(base_url="https://x/v1", api_key="k")._endpoint(False).url == "https://x/v1/messages"
    assert model(base_url="https://x/anthropic/", api_key="k")._endpoint(False).url == "https://x/anthropic/v1/messages"
    assert model(api_key="k")._connection.headers["anthropic-version"] == "2023-06-01"
