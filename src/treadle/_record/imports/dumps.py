"""Dumps of messages in OpenAI's or Anthropic's form: a list of messages, or an object that has one."""

from __future__ import annotations

from typing import Any

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._record.imports.conversation import Imported, exchanges_of
from treadle._record.reading.asked import content_of
from treadle._record.reading.requests import (
    ANTHROPIC,
    CHAT,
    RESPONSES,
    anthropic_messages,
    chat_messages,
    read_request,
    response_messages,
)
from treadle._types.messages import Message, text_of

_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_ITEMS = frozenset({"function_call", "function_call_output", "reasoning"})


def is_dump(value: Any) -> bool:
    """Tell whether a value is a list of messages, or has one."""
    return bool(_messages_in(value))


def dumped(value: Any) -> list[Imported]:
    """The exchanges of one conversation."""
    raw, fields = _messages_in(value), as_dict(value)
    protocol = _protocol(raw, fields)
    tools = _tools(protocol, fields)
    readers = {CHAT: chat_messages, ANTHROPIC: anthropic_messages, RESPONSES: response_messages}
    messages: list[Message] = readers[protocol](raw)
    system = text_of(content_of(fields.get("system") or fields.get("instructions") or ""))
    model = as_text(fields.get("model")) or "unknown"
    return exchanges_of(messages, protocol, model, system, tools)


def _messages_in(value: Any) -> list[Any]:
    fields = as_dict(value)
    raw = as_list(value) or as_list(fields.get("messages")) or as_list(fields.get("input"))
    items = [as_dict(item) for item in raw]
    return raw if items and all("role" in item or item.get("type") in _ITEMS for item in items) else []


def _protocol(raw: list[Any], fields: dict[str, Any]) -> str:
    items = [as_dict(item) for item in raw]
    if any(item.get("type") in _ITEMS for item in items):
        return RESPONSES
    blocks = [as_dict(block) for item in items for block in as_list(item.get("content"))]
    declared = [as_dict(tool) for tool in as_list(fields.get("tools"))]
    blocky = any(block.get("type") in _BLOCKS for block in blocks) or any("input_schema" in tool for tool in declared)
    return (
        ANTHROPIC
        if blocky or (fields.get("system") and not any(item.get("role") == "tool" for item in items))
        else CHAT
    )


def _tools(protocol: str, fields: dict[str, Any]) -> Any:
    path = {CHAT: "/chat/completions", ANTHROPIC: "/messages", RESPONSES: "/responses"}[protocol]
    asked = read_request(path, {"messages": [], "input": [], "tools": fields.get("tools")})
    return asked.tools if asked is not None else ()
