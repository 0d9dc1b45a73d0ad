"""Requests to the Responses API: encrypted thoughts, settings, formats, images."""

from __future__ import annotations

from models.openai.responses_kit import ASK, CALL, THOUGHT, TOOLS, body, read, response, speech
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import OutputFormat, RawCall, Request


def test_thoughts_are_sent_back_with_what_followed_them():
    result, _ = read(response([THOUGHT, speech("Looking."), CALL]))
    assert (result.reasoning, result.text, result.finish) == ("hm", "Looking.", "calls")
    assert result.calls == (RawCall("call_1", "f", '{"a":1}'),)
    assistant = AssistantMessage(
        result.text, (ToolCall("call_1", "f", {"a": 1}),), result.reasoning, opaque=result.opaque
    )
    request = Request([UserMessage("q"), assistant, ToolMessage("call_1", "f", "x")], TOOLS)
    sent = body(request)
    assert sent["input"][1:4] == [THOUGHT, speech("Looking."), CALL]
    assert sent["input"][4] == {"type": "function_call_output", "call_id": "call_1", "output": "x"}
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["store"] is False
    assert [item.get("type") for item in body(request, "gpt-5-mini")["input"]] == [
        None,
        None,
        "function_call",
        "function_call_output",
    ]


def test_settings():
    request = ASK.replace(temperature=0.5, max_tokens=5, tools=TOOLS, tool_choice="f")
    sent = body(request, "gpt-4o")
    assert (sent["temperature"], sent["max_output_tokens"]) == (0.5, 16)
    assert sent["tool_choice"] == {"type": "function", "name": "f"}
    tool = {"type": "function", "name": "f", "description": "Does.", "strict": False}
    assert sent["tools"] == [tool | {"parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    assert "include" not in sent
    assert "temperature" not in body(request)
    assert body(ASK)["input"][0] == {"role": "developer", "content": "s"}


def test_formats():
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    sent = body(
        ASK.replace(format=OutputFormat("schema", schema, name="n")), extra_body={"text": {"verbosity": "low"}}
    )["text"]
    assert sent == {
        "verbosity": "low",
        "format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True},
    }
    assert body(ASK.replace(format=OutputFormat("json")))["text"] == {"format": {"type": "json_object"}}


def test_images():
    parts = (TextPart("what?"), ImagePart(data="QUJD"))
    written = [
        {"type": "input_text", "text": "what?"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"},
    ]
    assert body(Request([UserMessage(parts)]))["input"][0]["content"] == written
    assert body(Request([UserMessage("q"), ToolMessage("a", "f", parts)]))["input"][1]["output"] == written
