"""Models, chunks and replies for the tests of chat completions."""

from __future__ import annotations

from typing import Any

from models.asking import fed
from treadle._models.openai.chat import OpenAIModel
from treadle._types.messages import UserMessage
from treadle._types.request import Delta, Reply, Request, ToolSchema

ASK = Request([UserMessage("hi")])
TOOLS = (ToolSchema("f", "Does.", {"type": "object"}),)


def model(**options: Any) -> OpenAIModel:
    return OpenAIModel(
        options.pop("name", "gpt-4o"), base_url=options.pop("base_url", "http://127.0.0.1:9/v1"), **options
    )


def read(*documents: Any, end: bool = True, **options: Any) -> tuple[Reply, list[Delta]]:
    return fed(model(**options), *documents, *([b"[DONE]"] if end else []))


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def whole(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def piece(
    arguments: Any = None, name: str | None = None, call_id: str | None = None, index: int | None = None
) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fragment: dict[str, Any] = {"function": function}
    if call_id is not None:
        fragment["id"] = call_id
    if index is not None:
        fragment["index"] = index
    return fragment
