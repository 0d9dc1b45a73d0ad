"""What is Gemini's own: signatures, instalments, its part of JSON Schema."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from treadle._models.base import complete
from treadle._models.gemini.model import GeminiModel
from treadle._models.gemini.schema import gemini_schema
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
from treadle._types.request import OutputFormat, Reply, Request, ToolSchema

from .contract import event
from .loopback import Loopback, reply, stream

ASK = Request([SystemMessage("s"), UserMessage("q")])
TOOLS = (
    ToolSchema("f", "Does.", {"type": "object", "properties": {"a": {"type": "integer"}}}),
    ToolSchema("g", "Goes.", {"type": "object"}),
)


def model(name: str = "gemini-2.5-flash", **options: Any) -> GeminiModel:
    return GeminiModel(name, base_url=options.pop("base_url", "http://127.0.0.1:9/v1beta"), **options)


def body(request: Request, name: str = "gemini-2.5-flash", **options: Any) -> dict[str, Any]:
    return json.loads(model(name, **options)._body(request, False))


def answer(parts: list[Any], finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": parts}, "finishReason": finish, **more}]}


def read(*documents: Any, name: str = "gemini-3-pro-preview") -> Reply:
    reader = model(name)._reader(ASK)
    for document in documents:
        reader.feed(json.dumps(document).encode())
    return reader.reply()


def test_signatures_go_back_on_the_parts_they_came_on():
    pieces = [
        answer([{"text": "Let me ", "thought": True}], None),
        answer([{"text": "Look"}], None),
        answer([{"text": "ing."}], None),
        answer([{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "sig1"}], None),
        answer([{"functionCall": {"name": "g", "args": {}}}], None),
        answer([{"text": "", "thoughtSignature": "sig2"}]),
    ]
    found = read(*pieces)
    assert (found.text, found.reasoning, found.finish) == ("Looking.", "Let me ", "calls")
    first, second = found.calls
    said = AssistantMessage(
        found.text, (ToolCall(first.id, "f", {"a": 1}), ToolCall(second.id, "g")), found.reasoning, opaque=found.opaque
    )
    request = Request(
        [UserMessage("q"), said, ToolMessage(first.id, "f", "1"), ToolMessage(second.id, "g", "2", error=True)], TOOLS
    )
    sent = body(request, "gemini-3-pro-preview")["contents"]
    assert [content["role"] for content in sent] == ["user", "model", "user"]
    assert sent[1]["parts"] == [
        {"text": "Looking."},
        {"functionCall": {"name": "f", "args": {"a": 1}, "id": first.id}, "thoughtSignature": "sig1"},
        {"functionCall": {"name": "g", "args": {}, "id": second.id}},
        {"text": "", "thoughtSignature": "sig2"},
    ]
    assert sent[2]["parts"] == [
        {"functionResponse": {"id": first.id, "name": "f", "response": {"output": "1"}}},
        {"functionResponse": {"id": second.id, "name": "g", "response": {"error": "2"}}},
    ]
    # Another model gets the words without the signatures, and a changed message is written anew.
    other = body(request, "gemini-2.5-flash")["contents"][1]["parts"]
    assert all("thoughtSignature" not in part for part in other)


def test_calls_of_other_models_are_marked_as_unsigned():
    said = AssistantMessage("", (ToolCall("a", "f", {"a": 1}), ToolCall("b", "g")))
    messages = [UserMessage("q"), said, ToolMessage("a", "f", "1"), ToolMessage("b", "g", "2")]
    parts = body(Request(messages, TOOLS), "gemini-3-flash-preview")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip_thought_signature_validator", None]
    assert "thoughtSignature" not in body(Request(messages, TOOLS))["contents"][1]["parts"][0]


def test_a_reply_in_instalments_is_one_reply():
    first = answer([{"text": "one "}], "CONTINUATION", continuationToken="tok") | {
        "usageMetadata": {"promptTokenCount": 5}
    }
    second = answer([{"text": "two"}]) | {"usageMetadata": {"promptTokenCount": 6, "candidatesTokenCount": 2}}

    async def main(streaming: bool) -> None:
        answers = [stream(event(first)), stream(event(second))] if streaming else [reply(first), reply(second)]
        async with Loopback(answers) as server:
            found = await complete(model(base_url=server.url), ASK.replace(stream=streaming))
            assert (found.text, found.finish) == ("one two", "stop")
            assert (found.usage.input_tokens, found.usage.requests) == (11, 2)
            assert server.received[1].json == server.received[0].json | {"continuationToken": "tok"}

    asyncio.run(main(False))
    asyncio.run(main(True))


def test_addresses():
    assert model("models/gemini-x")._endpoint(False).url.endswith("/models/gemini-x:generateContent")
    assert model("gemini-x")._endpoint(True).url.endswith("/models/gemini-x:streamGenerateContent?alt=sse")


def test_either_variable_may_hold_the_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "from-google")
    assert GeminiModel("gemini-2.5-flash")._connection.headers["x-goog-api-key"] == "from-google"


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"])
def test_filters(reason: str):
    with pytest.raises(ContentFilteredError):
        read(answer([], reason))
    assert read(answer([{"text": "He"}], reason)).finish == "filter"
    with pytest.raises(ContentFilteredError, match="SAFETY"):
        read({"promptFeedback": {"blockReason": "SAFETY"}})


def test_finish():
    assert read(answer([{"text": "x"}], "MAX_TOKENS")).finish == "length"
    assert read(answer([{"text": "x"}], "OTHER")).finish == "unknown"
    assert read(answer([{"text": "x"}], "MALFORMED_FUNCTION_CALL")).finish == "error"
    with pytest.raises(TransientModelError):
        read(answer([], "MALFORMED_FUNCTION_CALL"))


def test_a_reason_to_finish_in_every_piece_is_no_end():
    reader = model()._reader(ASK)
    reader.feed(json.dumps(answer([{"text": "a"}])).encode())
    assert not reader.complete
    reader.feed(json.dumps(answer([{"text": "b"}])).encode())
    assert reader.reply().text == "ab"


def test_a_list_of_answers():
    assert read([answer([{"text": "a"}], None), answer([{"text": "b"}])]).text == "ab"
    with pytest.raises(RequestRefusedError):
        read([{"error": {"code": 400, "message": "no"}}])


def test_the_wish_of_the_server_is_in_the_details():
    error = {
        "code": 429,
        "message": "quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "x/RetryInfo", "retryDelay": "17s"}],
    }

    async def main() -> None:
        async with Loopback([reply({"error": error}, 429)]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK)
            assert caught.value.retry_after == 17

    asyncio.run(main())


def test_settings():
    request = ASK.replace(temperature=0.5, max_tokens=5, stop=("X",), seed=3)
    assert body(request)["generationConfig"] == {
        "thinkingConfig": {"includeThoughts": True},
        "temperature": 0.5,
        "maxOutputTokens": 5,
        "stopSequences": ["X"],
        "seed": 3,
    }
    assert "generationConfig" not in body(ASK, "gemini-2.0-flash")
    sent = body(ASK, extra_body={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "safetySettings": []})
    assert sent["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 0}}
    assert sent["safetySettings"] == []


def test_tools_and_choices():
    sent = body(ASK.replace(tools=TOOLS, tool_choice="f"))
    assert sent["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "description": "Does.",
                    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
                },
                {"name": "g", "description": "Goes."},
            ]
        }
    ]
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    assert body(ASK.replace(tools=TOOLS, tool_choice="required"))["toolConfig"]["functionCallingConfig"] == {
        "mode": "ANY"
    }
    assert body(ASK.replace(tools=TOOLS, tool_choice="none"))["toolConfig"]["functionCallingConfig"] == {"mode": "NONE"}


def test_formats():
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": False}
    sent = body(ASK.replace(format=OutputFormat("schema", schema)))["generationConfig"]
    assert sent["responseMimeType"] == "application/json"
    assert sent["responseSchema"] == {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}}
    assert "responseSchema" not in body(ASK.replace(format=OutputFormat("json")))["generationConfig"]


def test_images():
    parts = (TextPart("what?"), ImagePart(url="https://x/y.png"), ImagePart(data="QUJD", mime="image/gif"))
    assert body(Request([UserMessage(parts)]))["contents"][0]["parts"] == [
        {"text": "what?"},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y.png"}},
        {"inlineData": {"mimeType": "image/gif", "data": "QUJD"}},
    ]
    result = ToolMessage("a", "shot", (TextPart("done"), ImagePart(data="QUJD")))
    sent = body(Request([UserMessage("q"), AssistantMessage("", (ToolCall("a", "shot"),)), result]))["contents"][2][
        "parts"
    ]
    assert sent[0]["functionResponse"]["response"] == {"output": "done"}
    assert sent[1:] == [{"text": "From shot:"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]


def test_schema_references_alternatives_and_bounds():
    schema = {
        "$defs": {
            "point": {
                "type": "object",
                "properties": {"x": {"type": "number", "exclusiveMinimum": 0}},
                "required": ["x", "gone"],
            }
        },
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/point", "description": "Here"},
            "kind": {"const": "a"},
            "level": {"enum": [1, 2], "type": "integer"},
            "mood": {"enum": ["good", None]},
            "maybe": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "many": {"type": ["string", "integer"]},
            "list": {"type": "array"},
            "both": {
                "allOf": [{"$ref": "#/$defs/point"}, {"properties": {"y": {"type": "number"}}, "required": ["y"]}]
            },
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"},
        },
        "required": ["where"],
        "additionalProperties": False,
    }
    assert gemini_schema(schema) == {
        "type": "object",
        "properties": {
            "where": {
                "type": "object",
                "description": "Here",
                "properties": {"x": {"type": "number", "description": "(exclusiveMinimum: 0)"}},
                "required": ["x"],
            },
            "kind": {"type": "string", "enum": ["a"]},
            "level": {"type": "integer", "description": "(one of [1,2])"},
            "mood": {"type": "string", "enum": ["good"], "nullable": True},
            "maybe": {"type": "string", "maxLength": 3, "nullable": True},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"type": "array", "items": {}},
            "both": {
                "type": "object",
                "properties": {
                    "x": {"type": "number", "description": "(exclusiveMinimum: 0)"},
                    "y": {"type": "number"},
                },
                "required": ["x", "y"],
            },
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string"},
        },
        "required": ["where"],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {
            "$defs": {str(i): {"anyOf": [{"$ref": f"#/$defs/{j}"} for j in range(12)]} for i in range(12)},
            "$ref": "#/$defs/0",
        },
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/nowhere/at/all"},
        {"$ref": 7},
        {},
        True,
    ],
)
def test_circles_and_nonsense_end(schema: Any):
    assert isinstance(gemini_schema(schema), dict)
