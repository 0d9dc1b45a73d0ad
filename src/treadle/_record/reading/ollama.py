"""Ollama's own `/api/chat` in the form of chat completions. It has no ids of calls, arguments that are values, pictures
beside the text, and a stream with a document on each line."""

from __future__ import annotations

from typing import Any

import msgspec

from treadle._models.transport.wire import UNREADABLE, as_count, as_dict, as_list, as_text


def as_chat_request(body: dict[str, Any]) -> dict[str, Any]:
    """A request; its results get the ids of the calls of their tools, in order."""
    messages: list[dict[str, Any]] = []
    open_calls: list[dict[str, Any]] = []
    for item in map(as_dict, as_list(body.get("messages"))):
        message = dict(item)
        if pictures := as_list(item.get("images")):
            urls = [{"url": f"data:;base64,{as_text(picture)}"} for picture in pictures]
            parts = [{"type": "image_url", "image_url": url} for url in urls]
            message["content"] = [{"type": "text", "text": as_text(item.get("content"))}, *parts]
        if thought := as_text(item.get("thinking")):
            message["reasoning"] = thought
        if calls := _calls(item, f"call_{len(messages)}"):
            message["tool_calls"] = open_calls = calls
        elif item.get("role") == "tool":
            name = item.get("tool_name") or item.get("name")
            call = next((one for one in open_calls if as_dict(one["function"]).get("name") == name), None)
            if call is not None:
                open_calls = [one for one in open_calls if one is not call]
                message = {"tool_call_id": call["id"], **message}
            message["name"] = name
        messages.append(message)
    return {**body, "messages": messages}


def as_chat_chunk(payload: bytes) -> bytes:
    """One document of a reply; anything else is left to the reader, which refuses it."""
    try:
        document = as_dict(msgspec.json.decode(payload))
    except UNREADABLE:
        return payload
    message = as_dict(document.get("message"))
    if not message:
        return payload
    delta = {"content": message.get("content"), "reasoning": message.get("thinking")}
    if calls := _calls(message, as_text(document.get("created_at"))):
        delta["tool_calls"] = [{"index": index, **one} for index, one in enumerate(calls)]
    choice: dict[str, Any] = {"index": 0, "delta": delta}
    chunk: dict[str, Any] = {"model": document.get("model"), "choices": [choice]}
    if document.get("done"):
        choice["finish_reason"] = as_text(document.get("done_reason")) or "stop"
        read, written = as_count(document.get("prompt_eval_count")), as_count(document.get("eval_count"))
        chunk["usage"] = {"prompt_tokens": read, "completion_tokens": written}
    return msgspec.json.encode(chunk)


def _calls(message: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    return [
        {
            "id": as_text(call.get("id")) or f"{prefix}_{index}",
            "type": "function",
            "function": {
                **(function := as_dict(call.get("function"))),
                "arguments": msgspec.json.encode(function.get("arguments")).decode(),
            },
        }
        for index, call in enumerate(calls)
    ]
