"""The least a tool loop can be, over aiohttp: what Treadle is measured against.

python benchmarks/bare.py URL     # 200 runs at once; prints the most memory the process had
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"], "additionalProperties": False}
DESCRIPTION = "Evaluate an arithmetic expression."
SYSTEM = "You are a careful assistant. Use the calculator."
QUESTION = "Work it out."


async def calculator(expression: str) -> str:
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


WIRE_TOOL = {"type": "function", "function": {"name": "calculator", "description": DESCRIPTION, "parameters": SCHEMA}}
encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Bare:
    """The least a loop can be: a list of messages, a post, a tool."""

    def __init__(self, post: Callable[[bytes], Awaitable[bytes]]) -> None:
        self.post = post

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
                result = await calculator(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def bare_http(session: aiohttp.ClientSession, url: str) -> Bare:
    headers = {"authorization": "Bearer k", "content-type": "application/json"}

    async def post(body: bytes) -> bytes:
        async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
            return await response.read()

    return Bare(post)


def peak_memory() -> int:
    """Bytes. The system's own high-water mark of this process (what `resource` reports is inherited from the parent)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def main(url: str) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000)) as session:
        bare = bare_http(session, url)
        await asyncio.gather(*(bare.run() for _ in range(200)))
    print(peak_memory())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
