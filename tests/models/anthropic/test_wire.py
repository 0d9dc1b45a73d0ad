"""Requests to the Messages API: signed thoughts, cache marks, turns, settings, schemas."""

from __future__ import annotations

import json
from typing import Any

from models.anthropic.messages_kit import (
    ASK,
    THINKING,
    TOOLS,
    as_message,
    body,
    conversation,
    marked_body,
    marks,
    message,
    model,
    read,
)
from treadle._models.anthropic.wire import enforceable
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import OutputFormat, Request, WireCache


def test_thoughts_are_sent_back_unchanged_and_in_order():
    result = read(message(THINKING, "tool_use"))
    assert (result.reasoning, result.text, result.finish) == ("hm", "Looking.", "calls")
    sent = body(Request([UserMessage("q"), as_message(result), ToolMessage("toolu_1", "f", "x")], TOOLS))
    assert sent["messages"][1]["content"] == THINKING


def test_a_shortened_message_keeps_its_thoughts():
    result = read(message(THINKING, "tool_use"))
    sent = body(Request([UserMessage("q"), as_message(result, text="Cut."), ToolMessage("toolu_1", "f", "x")], TOOLS))
    kinds = [block["type"] for block in sent["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert sent["messages"][1]["content"][2]["text"] == "Cut."


def test_thoughts_do_not_go_to_another_model():
    result = read(message(THINKING, "tool_use"))
    sent = body(
        Request([UserMessage("q"), as_message(result), ToolMessage("toolu_1", "f", "x")], TOOLS), name="claude-opus-4-5"
    )
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text", "tool_use"]


def test_cache_marks_are_on_the_stable_prefix():
    assert marks(marked_body(Request(conversation(), TOOLS))) == ["system.0", "0.0", "2.2"]
    assert marks(marked_body(Request(conversation()))) == ["system.0", "0.0", "2.2"]
    assert marks(marked_body(Request(conversation()[1:], TOOLS))) == ["tools.0", "0.0", "2.2"]
    assert marks(marked_body(ASK.replace(tools=TOOLS))) == ["system.0", "0.0"]


def test_a_single_question_without_tools_has_no_cache_mark():
    assert marks(marked_body(ASK)) == []


def test_every_request_finds_the_end_of_the_one_before_marked():
    cache, messages = WireCache(), conversation()[:2]
    adapter = model()
    last: list[Any] = []
    for round_number in range(6):
        sent = json.loads(adapter.body_of(Request(messages, TOOLS, cache=cache)))
        result = [mark for mark in marks(sent) if mark[0].isdigit()]
        assert len(marks(sent)) <= 4
        ends = [
            f"{number}.{len(turn['content']) - 1}"
            for number, turn in enumerate(sent["messages"])
            if turn["role"] == "user"
        ]
        assert result == ends[-2:]
        assert last in (result[:-1][-1:], [])
        last = result[-1:]
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
