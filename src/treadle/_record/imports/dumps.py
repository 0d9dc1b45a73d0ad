"""Dumps of messages in OpenAI's or Anthropic's form: a list of messages, or an object that has one."""

from __future__ import annotations

from typing import Any

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._record.imports.conversation import Conversation, Found, Imported, Turn
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


def dumps(documents: list[Any]) -> Found | None:
    """The conversations of a dump: a document each, or one with a message in each line."""
    conversations = [document for document in documents if _messages_in(document)]
    if not conversations and _messages_in(documents):
        conversations = [documents]
    groups: list[list[Imported]] = []
    for document in conversations:
        conversation, messages = read_conversation(_messages_in(document), as_dict(document))
        groups.append(conversation.exchanges(Turn(message) for message in messages))
    return Found(groups) if groups else None


def read_conversation(raw: list[Any], fields: dict[str, Any]) -> tuple[Conversation, list[Message]]:
    """Messages in the form of one of the protocols, and what `fields` says of their requests."""
    protocol = _protocol(raw, fields)
    readers = {CHAT: chat_messages, ANTHROPIC: anthropic_messages, RESPONSES: response_messages}
    system = text_of(content_of(fields.get("system") or fields.get("instructions") or ""))
    conversation = Conversation(protocol, as_text(fields.get("model")), system, _tools(protocol, fields))
    return conversation, readers[protocol](raw)


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
