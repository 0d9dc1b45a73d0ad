"""Requests, replies and messages for the tests of the Messages API."""

from __future__ import annotations

import json
from typing import Any

from models.asking import fed
from treadle._models.anthropic.model import AnthropicModel
from treadle._types.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.request import Reply, Request, ToolSchema

TOOLS = (ToolSchema("f", "Does.", {"properties": {"a": {"type": "integer"}}}),)


ASK = Request([SystemMessage("s"), UserMessage("q")])


MARK = {"type": "ephemeral"}


def model(name: str = "claude-sonnet-4-5", **options: Any) -> AnthropicModel:
    return AnthropicModel(name, base_url=options.pop("base_url", "http://127.0.0.1:9"), **options)


def marked_body(
    request: Request, streaming: bool = False, name: str = "claude-sonnet-4-5", **options: Any
) -> dict[str, Any]:
    return json.loads(model(name, **options).body_of(request, streaming=streaming))


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
    return fed(model(), *documents)[0]


THINKING = [
    {"type": "thinking", "thinking": "hm", "signature": "sig1"},
    {"type": "text", "text": "Looking."},
    {"type": "redacted_thinking", "data": "zzz"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
]


def as_message(reply: Reply, **changes: Any) -> AssistantMessage:
    calls = tuple(ToolCall(call.id, call.name, json.loads(call.arguments), call.arguments) for call in reply.calls)
    return AssistantMessage(
        **{"text": reply.text, "calls": calls, "reasoning": reply.reasoning, "opaque": reply.opaque} | changes
    )


def marks(sent: dict[str, Any]) -> list[str]:
    marks = [f"tools.{i}" for i, tool in enumerate(sent.get("tools", ())) if tool.get("cache_control") == MARK]
    marks += [f"system.{i}" for i, block in enumerate(sent.get("system", ())) if block.get("cache_control") == MARK]
    for number, turn in enumerate(sent["messages"]):
        marks += [f"{number}.{i}" for i, block in enumerate(turn["content"]) if block.get("cache_control") == MARK]
    return marks


def conversation() -> list[Message]:
    return [
        SystemMessage("s"),
        UserMessage("q"),
        AssistantMessage("a", (ToolCall("t1", "f"), ToolCall("t2", "f"))),
        ToolMessage("t1", "f", "1"),
        ToolMessage("t2", "f", "2", error=True),
        UserMessage("and?"),
    ]
