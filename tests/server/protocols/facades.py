"""One question in each protocol, and the answer in what it sends back; streams where the protocol has them."""

from __future__ import annotations

import json
from typing import Any

_CHAT: dict[str, Any] = {"model": "worker", "messages": [{"role": "user", "content": "Do it."}], "stream": True}

FACADES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat completions": ("/v1/chat/completions", _CHAT),
    "responses": ("/v1/responses", {"model": "worker", "input": "Do it.", "stream": True}),
    "anthropic": ("/v1/messages", {**_CHAT, "max_tokens": 100}),
    "ag-ui": (
        "/ag-ui/worker",
        {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Do it."}]},
    ),
    "useChat": (
        "/vercel/worker",
        {"id": "c", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Do it."}]}]},
    ),
    "a2a": (
        "/a2a/worker",
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "SendStreamingMessage",
            "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Do it."}]}},
        },
    ),
}


def answer_in(protocol: str, sent: bytes) -> str:
    """The words of the answer, of a stream that came to its end; "" of one that did not."""
    lines = [line.removeprefix("data: ") for line in sent.decode().splitlines() if line.startswith("data: ")]
    events: list[dict[str, Any]] = [json.loads(line) for line in lines if line != "[DONE]"]
    if not events:  # cut off before the first
        return ""
    match protocol:
        case "chat completions":
            deltas = [choice for event in events for choice in event.get("choices", ())]
            words = "".join(choice["delta"].get("content", "") for choice in deltas)
            return words if deltas and deltas[-1]["finish_reason"] == "stop" else ""
        case "responses":
            done = [event["response"] for event in events if event["type"] == "response.completed"]
            messages = [item for response in done for item in response["output"] if item["type"] == "message"]
            return "".join(item["content"][0]["text"] for item in messages)
        case "anthropic":
            words = [event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta"]
            return "".join(words) if events[-1]["type"] == "message_stop" else ""
        case "ag-ui":
            words = [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
            return "".join(words) if events[-1]["type"] == "RUN_FINISHED" else ""
        case "useChat":
            words = [event["delta"] for event in events if event["type"] == "text-delta"]
            return "".join(words) if events[-1]["type"] == "finish" else ""
        case _:
            results = [event.get("result", {}) for event in events]
            parts = [
                one["artifactUpdate"]["artifact"]["parts"][0]["text"] for one in results if "artifactUpdate" in one
            ]
            state = results[-1].get("statusUpdate", {}).get("status", {}).get("state")
            return "".join(parts) if state == "TASK_STATE_COMPLETED" else ""
