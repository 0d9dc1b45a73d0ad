"""Requests of chat completions: settings, tools, formats, images, thoughts that go back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import row
from models.openai.chat_kit import ASK, TOOLS, chunk, model, read, whole
from treadle._models.openai.chat_wire import is_strict
from treadle._types.errors import (
    RequestRefusedError,
)
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
from treadle._types.request import OutputFormat, Request, WireCache


def body(request: Request, streaming: bool = False, **options: Any) -> dict[str, Any]:
    return json.loads(model(**options).body_of(request, streaming=streaming))


def test_half_a_character_does_not_stop_a_request():
    sent = body(
        Request([UserMessage("a\udce4b"), AssistantMessage("", (ToolCall("x", "f", {"k\ud800": ["\udfff"]}),))])
    )
    assert sent["messages"][0]["content"] == "a\ufffdb"


def test_the_body_is_minimal_and_messages_come_last():
    raw = model().body_of(ASK)
    assert json.loads(raw) == {"model": "gpt-4o", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    assert raw.endswith(b'"messages":[{"role":"user","content":"hi"}]}')


def test_a_longer_conversation_begins_like_the_shorter_one():
    cache = WireCache()
    messages: list[Message] = [SystemMessage("s"), UserMessage("q")]
    adapter = model()
    first = adapter.body_of(Request(messages, TOOLS, temperature=0.5, cache=cache))
    messages += [AssistantMessage("a"), UserMessage("r")]
    second = adapter.body_of(Request(messages, TOOLS, temperature=0.5, cache=cache))
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
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    sent = body(ASK.replace(format=OutputFormat("schema", schema, name="n")))["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    assert body(ASK.replace(format=OutputFormat("json")))["response_format"] == {"type": "json_object"}
    weak = body(ASK.replace(format=OutputFormat("schema", schema)), abilities={"json_schema": False})
    assert weak["response_format"] == {"type": "json_object"}
    assert "response_format" not in body(
        ASK.replace(format=OutputFormat("json")), abilities={"json_mode": False, "json_schema": False}
    )
    assert (
        body(ASK.replace(format=OutputFormat("grammar", grammar="root ::= x")), provider="llamacpp")["grammar"]
        == "root ::= x"
    )
    with pytest.raises(RequestRefusedError, match="grammar"):
        body(ASK.replace(format=OutputFormat("grammar", grammar="root ::= x")))


def test_strict_schemas():
    for schema, strict in [
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}]}, False),
        ({"type": "array", "items": {"enum": [{"type": "object"}]}}, True),
    ]:
        with row(schema, strict):
            assert is_strict(schema) is strict


def test_system_roles():
    messages = [SystemMessage("s"), UserMessage("q")]
    assert body(Request(messages), name="gpt-5")["messages"][0] == {"role": "developer", "content": "s"}
    alone = body(Request(messages), abilities={"system_role": "user"})["messages"]
    assert alone == [{"role": "user", "content": "s\n\nq"}]
    unanswered = body(Request([SystemMessage("s"), AssistantMessage("a")]), abilities={"system_role": "user"})[
        "messages"
    ]
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


def test_call_ids_are_as_long_as_openai_allows():
    """Those of this server's own clients are longer when they come back as history."""
    fits, long, other = "x" * 40, f"call_{'0' * 32}_12_0", f"call_{'0' * 32}_12_1"
    ids = (fits, long, other)
    messages = [UserMessage("q"), AssistantMessage("", tuple(ToolCall(one, "f") for one in ids))]
    messages += [ToolMessage(one, "f", "1") for one in ids]
    sent = body(Request(messages))["messages"]
    asked = [call["id"] for call in sent[1]["tool_calls"]]
    assert (asked[0], [len(one) for one in asked], len(set(asked))) == (fits, [40, 40, 40], 3)
    assert [message["tool_call_id"] for message in sent[2:]] == asked
    assert body(Request(messages))["messages"] == sent


def test_reasoning_goes_back_in_the_field_it_came_in():
    result, _ = read(
        whole(content="4", reasoning_content="hm"), end=False, provider="deepseek", name="deepseek-v4-flash"
    )
    assert result.opaque is not None
    assistant = AssistantMessage(result.text, (), result.reasoning, opaque=result.opaque)
    sent = body(Request([UserMessage("q"), assistant]), provider="deepseek", name="deepseek-v4-flash")["messages"]
    assert sent[1] == {"role": "assistant", "content": "4", "reasoning_content": "hm"}
    assert "reasoning_content" not in body(Request([UserMessage("q"), assistant]))["messages"][1]
    # A call that another model made has no thoughts, but DeepSeek wants the field.
    other = AssistantMessage("", (ToolCall("a", "f"),))
    sent = body(
        Request([UserMessage("q"), other, ToolMessage("a", "f", "x")]), provider="deepseek", name="deepseek-v4-flash"
    )["messages"]
    assert sent[1]["reasoning_content"] == ""


def test_reasoning_details_are_joined_and_sent_back():
    details = [
        {"type": "reasoning.text", "text": "a", "index": 0, "format": "x"},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "signature": "sig", "index": 0},
        {"type": "reasoning.encrypted", "data": "zz", "index": 1},
    ]
    options = {"provider": "openrouter", "name": "anthropic/claude-sonnet-4.5"}
    result, _ = read(
        *(chunk(reasoning=detail.get("text"), reasoning_details=[detail]) for detail in details),
        chunk("stop"),
        **options,
    )
    assert result.reasoning == "ab"
    assistant = AssistantMessage("x", reasoning=result.reasoning, opaque=result.opaque)
    sent = body(Request([UserMessage("q"), assistant]), **options)["messages"][1]
    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "index": 0, "format": "x", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "zz", "index": 1},
    ]
    assert (
        "reasoning_details"
        not in body(Request([UserMessage("q"), assistant]), provider="together", name="x")["messages"][1]
    )
