"""The recorded exchanges, and the expected result of each one, computed without any code of the adapters."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from treadle._types.errors import (
    ContentFilteredError,
    ContextOverflowError,
    ModelError,
    RequestRefusedError,
    TransientModelError,
)

DATA = Path(__file__).parents[1] / "data" / "recordings" / "pairs.jsonl.gz"


@dataclass(frozen=True)
class Pair:
    index: int
    repo: str
    api: str
    url: str
    request: dict[str, Any]
    status: int
    headers: dict[str, str]
    sse: bool
    body: str

    @property
    def provider(self) -> str:
        host = urlsplit(self.url).netloc
        return host or self.url.split("_")[0].strip("<").lower()

    @property
    def id(self) -> str:
        return f"{self.index}-{self.provider}"


@dataclass(frozen=True)
class Expected:
    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    reasoning: str = ""
    usage: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Input, output, cached, reasoning tokens."""
    finish: str = "stop"
    error: type[ModelError] | None = None


@cache
def pairs(api: str = "") -> list[Pair]:
    result: list[Pair] = []
    with gzip.open(DATA, "rt", encoding="utf-8", newline="\n") as lines:
        for index, line in enumerate(lines):
            row = json.loads(line)
            if api in ("", row["api"]):
                result.append(
                    Pair(
                        index,
                        row["repo"],
                        row["api"],
                        row["url"],
                        row["request"],
                        row["status"],
                        row["headers"],
                        row["sse"],
                        row["body"],
                    )
                )
    return result


def expected(pair: Pair) -> Expected:
    if pair.status != 200:
        return Expected(error=_error(pair))
    return {"openai.chat": _chat, "anthropic.messages": _anthropic}[pair.api](pair)


def _error(pair: Pair) -> type[ModelError]:
    too_long = ("maximum context length", "too long", "exceeded max context")
    if any(text in pair.body for text in too_long):
        return ContextOverflowError
    return TransientModelError if pair.status == 429 else RequestRefusedError


def _events(body: str) -> list[dict[str, Any]]:
    datas = [line[5:].strip() for line in body.replace("\r\n", "\n").split("\n") if line.startswith("data:")]
    return [json.loads(data) for data in datas if data != "[DONE]"]


def _chat(pair: Pair) -> Expected:
    if pair.sse:
        message, finish, usage = _chat_stream(_events(pair.body))
    else:
        document = json.loads(pair.body)
        choice = document["choices"][0]
        message, finish, usage = choice.get("message") or {}, choice["finish_reason"], document.get("usage") or {}
    if finish == "content_filter" and not message.get("content"):
        return Expected(error=ContentFilteredError)
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    if legacy := message.get("function_call"):
        calls = [("", legacy["name"], legacy["arguments"])]
    text = message.get("content") or ""
    word = {"stop": "stop", "length": "length", "tool_calls": "calls", "function_call": "calls"}[finish]
    if message.get("refusal"):
        text, word = message["refusal"], "refusal"
    if calls and word == "stop":
        word = "calls"
    return Expected(
        text, tuple(calls), message.get("reasoning_content") or message.get("reasoning") or "", _chat_usage(usage), word
    )


def _chat_stream(events: list[dict[str, Any]]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    text, reasoning, finish, usage = "", "", "", {}
    calls: dict[int, dict[str, Any]] = {}
    for event in events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            delta = choice["delta"]
            content = delta.get("content") or ""
            if isinstance(content, list):
                for part in content:
                    if part["type"] == "thinking":
                        reasoning += "".join(piece["text"] for piece in part["thinking"])
                    else:
                        text += part["text"]
            else:
                text += content
            reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(
                    piece["index"], {"id": piece.get("id"), "function": {"name": "", "arguments": ""}}
                )
                call["function"]["name"] += piece["function"].get("name") or ""
                call["function"]["arguments"] += piece["function"]["arguments"] or ""
            finish = choice.get("finish_reason") or finish
    message = {"content": text, "reasoning": reasoning, "tool_calls": [calls[index] for index in sorted(calls)]}
    return message, finish, usage


def _chat_usage(usage: dict[str, Any]) -> tuple[int, int, int, int]:
    read = usage.get("prompt_tokens", 0)
    # One provider reports more cached tokens than there were tokens.
    cached = min(read, (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return read, usage.get("completion_tokens", 0), cached, reasoning


def _anthropic(pair: Pair) -> Expected:
    if pair.sse:
        blocks, stop, usage = _anthropic_stream(_events(pair.body))
    else:
        document = json.loads(pair.body)
        blocks, stop, usage = document["content"], document["stop_reason"], document["usage"]
    cached = usage.get("cache_read_input_tokens") or 0
    read = usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0)
    thinking = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    return Expected(
        "".join(block["text"] for block in blocks if block["type"] == "text"),
        tuple(
            (block["id"], block["name"], json.dumps(block["input"])) for block in blocks if block["type"] == "tool_use"
        ),
        "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        (read, usage["output_tokens"], cached, thinking),
        {"end_turn": "stop", "tool_use": "calls", "max_tokens": "length", "pause_turn": "pause", "refusal": "refusal"}[
            stop
        ],
    )


def _anthropic_stream(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    blocks: dict[int, dict[str, Any]] = {}
    stop, usage = "", {}
    for event in events:
        if event["type"] == "message_start":
            usage = dict(event["message"]["usage"])
        elif event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"], json="")
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                block["text"] += delta["text"]
            elif delta["type"] == "thinking_delta":
                block["thinking"] += delta["thinking"]
            elif delta["type"] == "input_json_delta":
                block["json"] += delta["partial_json"]
        elif event["type"] == "message_delta":
            stop = event["delta"]["stop_reason"]
            usage.update({key: value for key, value in event["usage"].items() if value is not None})
    for block in blocks.values():
        if block["json"]:
            block["input"] = json.loads(block["json"])
    return [blocks[index] for index in sorted(blocks)], stop, usage
