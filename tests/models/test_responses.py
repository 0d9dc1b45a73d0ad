"""What is the Responses API's own: items, encrypted thoughts, streams that end in a whole response."""

from __future__ import annotations

import json
from typing import Any

import pytest

from treadle._models.catalog.registry import resolve_model
from treadle._models.openai.responses import ResponsesModel
from treadle._types.errors import ContentFilteredError, RequestRefusedError, TransientModelError
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import Delta, OutputFormat, RawCall, ReasoningDelta, Reply, Request, TextDelta, ToolSchema

ASK = Request([SystemMessage("s"), UserMessage("q")])
TOOLS = (ToolSchema("f", "Does.", {"properties": {"a": {"type": "integer"}}}),)


def model(name: str = "gpt-5", **options: Any) -> ResponsesModel:
    return ResponsesModel(name, base_url="http://127.0.0.1:9/v1", **options)


def body(request: Request, name: str = "gpt-5", **options: Any) -> dict[str, Any]:
    return json.loads(model(name, **options)._body(request, False))


def read(*documents: Any) -> tuple[Reply, list[Delta]]:
    reader = model()._reader(ASK)
    payloads = [document if isinstance(document, bytes) else json.dumps(document).encode() for document in documents]
    deltas = [delta for payload in payloads for delta in reader.feed(payload)]
    return reader.reply(), deltas


def response(output: list[Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"object": "response", "id": "resp_1", "model": "gpt-5-x", "status": status, "output": output, **more}


def speech(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
        **more,
    }


THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "zzz",
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{"a":1}',
    "status": "completed",
}


def test_thoughts_go_back_with_what_they_led_to():
    found, _ = read(response([THOUGHT, speech("Looking."), CALL]))
    assert (found.reasoning, found.text, found.finish) == ("hm", "Looking.", "calls")
    assert found.calls == (RawCall("call_1", "f", '{"a":1}'),)
    said = AssistantMessage(found.text, (ToolCall("call_1", "f", {"a": 1}),), found.reasoning, opaque=found.opaque)
    request = Request([UserMessage("q"), said, ToolMessage("call_1", "f", "x")], TOOLS)
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


def test_plain_replies_keep_nothing():
    assert read(response([speech("x"), CALL]))[0].opaque is None
    assert read(response([speech("x", phase="commentary"), CALL]))[0].opaque is not None


def test_a_stream_without_pieces_is_read_from_its_end():
    found, deltas = read({"type": "response.completed", "response": response([THOUGHT, speech("All."), CALL])})
    assert (found.text, found.reasoning, len(found.calls)) == ("All.", "hm", 1)
    assert TextDelta("All.") in deltas


def test_several_summaries_are_paragraphs():
    two = THOUGHT | {"summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]}
    assert read(response([two, speech("x")]))[0].reasoning == "a\n\nb"
    events = [
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "a"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "b"},
        {"type": "response.output_item.done", "output_index": 0, "item": two},
        {"type": "response.completed", "response": response([two, speech("x")])},
    ]
    found, deltas = read(*events)
    assert found.reasoning == "a\n\nb" == "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))


def test_endings():
    assert (
        read(response([speech("x")], "incomplete", incomplete_details={"reason": "max_output_tokens"}))[0].finish
        == "length"
    )
    with pytest.raises(ContentFilteredError):
        read(response([], "incomplete", incomplete_details={"reason": "content_filter"}))
    with pytest.raises(TransientModelError):
        read(response([], "failed", error={"code": "server_error", "message": "x"}))
    with pytest.raises(TransientModelError):
        read(response([], "cancelled"))
    with pytest.raises(RequestRefusedError):
        read({"type": "error", "code": "invalid_prompt", "message": "no"})
    with pytest.raises(TransientModelError):
        read(
            {"type": "response.output_text.delta", "output_index": 0, "delta": "x"},
            {"type": "response.created", "response": {"id": "r"}},
        )


def test_a_refusal():
    said = {"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}
    found, _ = read(response([said]))
    assert (found.text, found.finish) == ("I won't.", "refusal")
    found, _ = read(
        {"type": "response.refusal.delta", "output_index": 0, "delta": "I won't."},
        {"type": "response.completed", "response": response([said])},
    )
    assert found.text == "I won't."


def test_a_cut_off_call_is_not_done():
    cut = CALL | {"arguments": '{"a":1}', "status": "incomplete"}
    _, deltas = read(response([cut], "incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert not any(getattr(delta, "done", False) for delta in deltas)


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


def test_names_lead_here_where_chat_completions_do_not_serve():
    assert isinstance(resolve_model("openai-responses:gpt-4o", api_key="k"), ResponsesModel)
    assert isinstance(resolve_model("openai:gpt-5.4", api_key="k"), ResponsesModel)
    assert not isinstance(resolve_model("openai:gpt-4o", api_key="k"), ResponsesModel)
    assert not isinstance(
        resolve_model("openai:gpt-5.4", api_key="k", base_url="http://localhost:1/v1"), ResponsesModel
    )
