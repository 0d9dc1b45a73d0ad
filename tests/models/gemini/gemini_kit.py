"""Requests and replies for the tests of generateContent."""

from __future__ import annotations

import json
from typing import Any

from models.asking import fed
from treadle._models.gemini.model import GeminiModel
from treadle._types.messages import (
    SystemMessage,
    UserMessage,
)
from treadle._types.request import Reply, Request, ToolSchema

ASK = Request([SystemMessage("s"), UserMessage("q")])


TOOLS = (
    ToolSchema("f", "Does.", {"type": "object", "properties": {"a": {"type": "integer"}}}),
    ToolSchema("g", "Goes.", {"type": "object"}),
)


def model(name: str = "gemini-2.5-flash", **options: Any) -> GeminiModel:
    return GeminiModel(name, base_url=options.pop("base_url", "http://127.0.0.1:9/v1beta"), **options)


def body(request: Request, name: str = "gemini-2.5-flash", **options: Any) -> dict[str, Any]:
    return json.loads(model(name, **options).body_of(request))


def answer(parts: list[Any], finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": parts}, "finishReason": finish, **more}]}


def read(*documents: Any, name: str = "gemini-3-pro-preview") -> Reply:
    return fed(model(name), *documents)[0]
