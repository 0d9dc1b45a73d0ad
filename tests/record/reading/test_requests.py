"""Requests and replies of each protocol, put together to runs."""

from __future__ import annotations

from typing import Any

import pytest

from kit import go
from record.exchanges import events, exchange, recorded
from treadle import replay
from treadle._record.exchange import HttpExchange
from treadle._record.reading.requests import chat_messages, protocol_of, read_request
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, AudioPart, FilePart, ImagePart, TextPart, ToolMessage, UserMessage
from treadle._types.state import fold

SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}}
ASK = "What does the lamp cost?"


def anthropic() -> list[HttpExchange]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "price", "input": {"item": "lamp"}}
    first = [{"role": "user", "content": ASK}]
    told = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "40"}]}
    marked = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    thought = {"type": "thinking", "thinking": "Look it up.", "signature": "s"}

    def message(blocks: list[Any], stop: str) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90}
        return {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": blocks,
                "stop_reason": stop, "usage": usage}  # fmt: skip

    def body(messages: list[Any], system: Any) -> dict[str, Any]:
        tools = [{"name": "price", "description": "d", "input_schema": SCHEMA}, {"type": "web_search_20250305"}]
        return {"model": "claude-sonnet-4-5", "system": system, "messages": messages, "tools": tools}

    second = [*first, {"role": "assistant", "content": [thought, use]}, {"role": "user", "content": [told]}]
    answer = message([{"type": "text", "text": "40 dollars."}], "end_turn")
    at = {"upstream": "https://api.anthropic.com"}
    return [
        exchange("/v1/messages", body(first, [marked]), message([thought, use], "tool_use"), **at),
        exchange("/v1/messages", body(second, [marked | {"cache_control": None}]), answer, **at),
    ]


def gemini() -> list[HttpExchange]:
    call = {"functionCall": {"name": "price", "args": {"item": "lamp"}}}  # without an id, as older models
    first = [{"role": "user", "parts": [{"text": ASK}]}]
    back = {"functionResponse": {"name": "price", "response": {"result": "40"}}}
    second = [*first, {"role": "model", "parts": [call]}, {"role": "user", "parts": [back]}]

    def body(contents: list[Any]) -> dict[str, Any]:
        declared = [{"name": "price", "description": "d", "parameters": SCHEMA}]
        system = {"parts": [{"text": "Be brief."}]}
        return {"contents": contents, "systemInstruction": system, "tools": [{"functionDeclarations": declared}]}

    def reply(part: dict[str, Any]) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 5, "cachedContentTokenCount": 90}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}

    path = "/v1beta/models/gemini-2.5-flash"
    at = {"upstream": "https://generativelanguage.googleapis.com"}
    return [
        exchange(f"{path}:generateContent", body(first), reply(call), **at),
        exchange(f"{path}:streamGenerateContent", body(second), [reply({"text": "40 dollars."})], **at),
    ]


def responses(*, chained: bool = False) -> list[HttpExchange]:
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "price",
        "arguments": '{"item": "lamp"}',
    }
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "40 dollars."}]}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    back = {"type": "function_call_output", "call_id": "call_1", "output": "40"}

    def body(given: Any, **more: Any) -> dict[str, Any]:
        tools = [{"type": "function", "name": "price", "description": "d", "parameters": SCHEMA}]
        return {"model": "gpt-5-mini", "instructions": "Be brief.", "input": given, "tools": tools, **more}

    def reply(number: int, *items: Any) -> dict[str, Any]:
        usage = {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 90}}
        return {"id": f"resp_{number}", "object": "response", "status": "completed", "model": "gpt-5-mini",
                "output": list(items), "usage": usage}  # fmt: skip

    first = [{"role": "user", "content": ASK}]
    second = body([back], previous_response_id="resp_1") if chained else body([*first, thought, call, back])
    return [
        exchange("/v1/responses", body(ASK if chained else first), reply(1, thought, call)),
        exchange("/v1/responses", second, reply(2, said)),
    ]


@pytest.mark.parametrize(
    "exchanges",
    [anthropic(), gemini(), responses(), responses(chained=True)],
    ids=["anthropic", "gemini", "responses", "chained"],
)
def test_a_run_of_each_protocol(exchanges: list[HttpExchange]):
    (records,) = go(recorded(exchanges))
    state = fold(records)
    assert state.question == ASK
    assert state.started.system == "Be brief."
    assert [tool.name for tool in state.tools] == ["price"]
    assert [(step.tool, step.args, step.observation) for step in state.steps] == [("price", {"item": "lamp"}, "40")]
    assert (state.finished.stop_reason, state.finished.answer) == ("answer", "40 dollars.")
    assert (state.usage.input_tokens, state.usage.cached_tokens) == (200, 180)
    assert state.usage.cost
    assert not events(records, ev.HistoryReplaced)
    assert not events(records, ev.ToolsChanged)
    assert replay(records).same


def test_paths():
    found = [protocol_of(path) for path in ("/v1/chat/completions", "/x/responses", "/v1/messages", "/v1/embeddings")]
    assert found == ["openai.chat", "openai.responses", "anthropic.messages", ""]
    assert protocol_of("/v1beta/models/g:streamGenerateContent") == "gemini"
    assert read_request("/v1/responses", {"model": "m"}) is None
    assert read_request("/v1/messages", [1]) is None


def test_contents_of_all_kinds():
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
        {"type": "unknown"},
    ]
    (message,) = chat_messages([{"role": "user", "content": content}])
    assert isinstance(message, UserMessage)
    assert message.content == (
        TextPart("look"),
        ImagePart(data="QUJD", mime="image/jpeg"),
        AudioPart(data="QUJD", mime="audio/mp3"),
        FilePart(data="QUJD", mime="application/pdf", name="a.pdf"),
    )


def test_older_forms_and_broken_ones():
    messages = chat_messages(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "g", "arguments": "{broken"}}]},
            {"role": "odd", "content": 7},
        ]
    )
    first, second, third, fourth = messages
    assert isinstance(first, AssistantMessage)
    assert isinstance(second, ToolMessage)
    assert second.call_id == first.calls[0].id
    assert isinstance(third, AssistantMessage)
    assert (third.calls[0].raw, bool(third.calls[0].problem)) == ("{broken", True)
    assert fourth == UserMessage("")
