"""Requests and replies for the tests of the Responses API."""

from __future__ import annotations

import json
from typing import Any

from models.asking import fed
from treadle._models.openai.responses import ResponsesModel
from treadle._types.messages import (
    SystemMessage,
    UserMessage,
)
from treadle._types.request import Delta, Reply, Request, ToolSchema

ASK = Request([SystemMessage("s"), UserMessage("q")])


TOOLS = (ToolSchema("f", "Does.", {"properties": {"a": {"type": "integer"}}}),)


def model(name: str = "gpt-5", **options: Any) -> ResponsesModel:
    return ResponsesModel(name, base_url="http://127.0.0.1:9/v1", **options)


def body(request: Request, name: str = "gpt-5", **options: Any) -> dict[str, Any]:
    return json.loads(model(name, **options).body_of(request))


def read(*documents: Any) -> tuple[Reply, list[Delta]]:
    return fed(model(), *documents)


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
