"""Requests to generateContent: signatures, settings, tools, formats, images."""

from __future__ import annotations

from models.gemini.gemini_kit import ASK, TOOLS, answer, body, read
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import OutputFormat, Request


def test_signatures_go_back_on_the_parts_they_came_on():
    pieces = [
        answer([{"text": "Let me ", "thought": True}], None),
        answer([{"text": "Look"}], None),
        answer([{"text": "ing."}], None),
        answer([{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "sig1"}], None),
        answer([{"functionCall": {"name": "g", "args": {}}}], None),
        answer([{"text": "", "thoughtSignature": "sig2"}]),
    ]
    result = read(*pieces)
    assert (result.text, result.reasoning, result.finish) == ("Looking.", "Let me ", "calls")
    first, second = result.calls
    assistant = AssistantMessage(
        result.text,
        (ToolCall(first.id, "f", {"a": 1}), ToolCall(second.id, "g")),
        result.reasoning,
        opaque=result.opaque,
    )
    request = Request(
        [UserMessage("q"), assistant, ToolMessage(first.id, "f", "1"), ToolMessage(second.id, "g", "2", error=True)],
        TOOLS,
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
    # Another model gets the text without the signatures, and a changed message is written anew.
    other = body(request, "gemini-2.5-flash")["contents"][1]["parts"]
    assert all("thoughtSignature" not in part for part in other)


def test_calls_of_other_models_are_marked_as_unsigned():
    assistant = AssistantMessage("", (ToolCall("a", "f", {"a": 1}), ToolCall("b", "g")))
    messages = [UserMessage("q"), assistant, ToolMessage("a", "f", "1"), ToolMessage("b", "g", "2")]
    parts = body(Request(messages, TOOLS), "gemini-3-flash-preview")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip_thought_signature_validator", None]
    assert "thoughtSignature" not in body(Request(messages, TOOLS))["contents"][1]["parts"][0]


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
