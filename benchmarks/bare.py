"""A minimal tool loop over aiohttp, with which Treadle is compared.

python benchmarks/bare.py URL RUNS     # RUNS runs at once; prints the peak memory of the process
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

SCHEMA = {
    "type": "object",
    "properties": {"expression": {"type": "string"}},
    "required": ["expression"],
    "additionalProperties": False,
}
DESCRIPTION = "Evaluate an arithmetic expression."
SYSTEM = "You are a careful assistant. Use the calculator."
QUESTION = "Work it out."
HEADERS = {"authorization": "Bearer k", "content-type": "application/json"}

Post = Callable[[bytes], Awaitable[bytes]]
PostLines = Callable[[bytes], AsyncIterator[bytes]]


async def calculator(expression: str) -> str:
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


WIRE_TOOL = {"type": "function", "function": {"name": "calculator", "description": DESCRIPTION, "parameters": SCHEMA}}
encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Bare:
    """A minimal loop: a list of messages, a POST, a tool."""

    def __init__(self, post: Post, tool: Callable[..., Awaitable[str]] = calculator) -> None:
        self.post = post
        self.tool = tool

    async def run(self) -> str:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        while True:
            body = encode({"model": "m", "messages": messages, "tools": [WIRE_TOOL]}).encode()
            message = json.loads(await self.post(body))["choices"][0]["message"]
            calls = message.get("tool_calls")
            if not calls:
                return message["content"]
            messages.append({"role": "assistant", "content": message["content"], "tool_calls": calls})
            for call in calls:
                result = await self.tool(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


async def bare_stream(post_lines: PostLines) -> AsyncIterator[str]:
    """The same loop with streamed replies; yields the text of the answer as it arrives. Calls arrive in one piece."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    while True:
        calls: list[Any] = []
        async for line in post_lines(
            encode({"model": "m", "messages": messages, "tools": [WIRE_TOOL], "stream": True}).encode()
        ):
            if not line.startswith(b"data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                calls += choice["delta"].get("tool_calls", ())
                if text := choice["delta"].get("content"):
                    yield text
        if not calls:
            return
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            result = await calculator(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def poster(session: aiohttp.ClientSession, url: str) -> Post:
    async def post(body: bytes) -> bytes:
        async with session.post(f"{url}/chat/completions", data=body, headers=HEADERS) as response:
            return await response.read()

    return post


def line_poster(session: aiohttp.ClientSession, url: str) -> PostLines:
    async def post_lines(body: bytes) -> AsyncIterator[bytes]:
        async with session.post(f"{url}/chat/completions", data=body, headers=HEADERS) as response:
            async for line in response.content:
                yield line

    return post_lines


def wide_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000))


def peak_memory() -> int:
    """Bytes, as the system counts them for this process (what `resource` reports is inherited from the parent)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def main(url: str, runs: int) -> None:
    async with wide_session() as session:
        bare = Bare(poster(session, url))
        await asyncio.gather(*(bare.run() for _ in range(runs)))
    print(peak_memory())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
