"""Exchanges in the forms of each provider, made by hand, and the runs that come of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle import Journal
from treadle._journal.memory import MemoryJournal
from treadle._record.exchange import HttpExchange, Memory
from treadle._record.runs import RunWriter
from treadle._types.events import Record
from treadle.testing import load_traffic

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "price",
            "description": "The price of an item.",
            "parameters": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
        },
    }
]
SYSTEM = {"role": "system", "content": "You sell lamps. " * 20 + "Be brief."}
QUESTION = {"role": "user", "content": "What does the lamp cost?"}
_clock = 1_000_000.0


def exchange(
    path: str,
    request: Any,
    response: Any,
    *,
    status: int = 200,
    upstream: str = "https://api.openai.com/v1",
    ending: str = "complete",
    elapsed: float = 0.5,
    secrets: tuple[str, ...] = (),
) -> HttpExchange:
    global _clock
    one = HttpExchange(Memory(), upstream=upstream, method="POST", path=path, secrets=secrets)
    one.keep_request(json.dumps(request).encode())
    _clock += 1.0
    one.began, one.status = _clock, status
    streamed = isinstance(response, list)
    one.headers = {"content-type": "text/event-stream" if streamed else "application/json"}
    for piece in response if streamed else [response if isinstance(response, bytes) else json.dumps(response).encode()]:
        one.keep_response(piece if isinstance(piece, bytes) else f"data: {json.dumps(piece)}\n\n".encode())
    one.marks = [(size, 0.1 * index) for index, (size, _) in enumerate(one.marks, 1)]
    one.end(ending)  # pyright: ignore[reportArgumentType]
    one.elapsed = elapsed
    return one


def chat(messages: Sequence[Any], reply: dict[str, Any], **more: Any) -> HttpExchange:
    """A chat completion; `finish`, `tokens`, `tools`, `model` may differ from the usual."""
    finish = more.pop("finish", "tool_calls" if reply.get("tool_calls") else "stop")
    usage = {"prompt_tokens": more.pop("tokens", 1000), "completion_tokens": 10}
    body = {"model": more.pop("model", "gpt-4o-mini"), "messages": list(messages), "tools": more.pop("tools", TOOLS)}
    choice = {"index": 0, "message": {"role": "assistant", **reply}, "finish_reason": finish}
    answer = more.pop("answer", {"id": "c1", "model": "gpt-4o-mini", "choices": [choice], "usage": usage})
    return exchange("/v1/chat/completions", body, answer, **more)


def calls(*named: tuple[str, dict[str, Any]], text: str | None = None, start: int = 1) -> dict[str, Any]:
    """A reply with calls whose ids count up from `start`."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for number, (name, args) in enumerate(named, start)
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def result(content: str, number: int = 1) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": content}


LAMP = calls(("price", {"item": "lamp"}))


def lamp_run() -> list[HttpExchange]:
    """A call, its result, an answer."""
    return [
        chat([SYSTEM, QUESTION], LAMP),
        chat([SYSTEM, QUESTION, LAMP, result("40")], says("The lamp costs 40 dollars.")),
    ]


async def recorded(exchanges: Sequence[HttpExchange], *, journal: Journal | None = None) -> list[list[Record]]:
    """The runs of these exchanges, oldest first."""
    kept = journal or MemoryJournal()
    writer = RunWriter(kept, "program")
    for exchange in exchanges:
        await writer.take(exchange, lambda text: text)
    await writer.finish()
    infos = await kept.list(limit=1000)
    runs = [await kept.load(info.run_id) for info in infos]
    if not isinstance(kept, MemoryJournal):
        await kept.aclose()
    return sorted(runs, key=lambda records: records[0].time)


def events(records: Sequence[Record], kind: Any) -> list[Any]:
    return [record.event for record in records if isinstance(record.event, kind)]


def played(file: Path) -> list[HttpExchange]:
    """The exchanges of a traffic file, as if they had just passed."""
    return [
        exchange(one.path, one.request, one.body.encode(), status=one.status, upstream="http://127.0.0.1:1/v1")
        for one in load_traffic(file)
    ]
