"""A model server on loopback that answers at once: k tool calls, then an answer. It is used to measure clients.

    python benchmarks/loopback.py PORT

The script is in the URL: /k10-i5/v1 means ten steps and five milliseconds between the tokens of a streamed answer.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import lru_cache

WORDS = ["FINAL", *(f" w{n}" for n in range(19))]
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def head(kind: bytes, size: int) -> bytes:
    length = b"content-length: %d" % size if size >= 0 else b"transfer-encoding: chunked"
    return b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\n" + length + b"\r\n\r\n"


@lru_cache(4096)
def complete_reply(step: int, steps: int) -> bytes:
    call = {
        "id": f"call_{step}",
        "type": "function",
        "function": {"name": "calculator", "arguments": json.dumps({"expression": f"{step + 1}*7"})},
    }
    message = (
        {"role": "assistant", "content": None, "tool_calls": [call]}
        if step < steps
        else {"role": "assistant", "content": "".join(WORDS)}
    )
    reason = "tool_calls" if step < steps else "stop"
    body = json.dumps(
        {
            "id": "x",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": USAGE,
        }
    ).encode()
    return head(b"application/json", len(body)) + body


def event(data: object) -> bytes:
    text = b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(text), text)


class Server(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        while True:
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return
            length = re.search(rb"content-length: *(\d+)", self.data[:end], re.I)
            size = int(length.group(1)) if length else 0
            if len(self.data) < end + 4 + size:
                return
            path, body = self.data.split(b" ", 2)[1], self.data[end + 4 : end + 4 + size]
            self.data = self.data[end + 4 + size :]
            self.answer(path.decode(), body)

    def answer(self, path: str, body: bytes) -> None:
        if not body:  # a client asks what this server is
            self.transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        script = dict(re.findall(r"([ki])(\d+)", path.split("/")[1]))
        steps, gap = int(script.get("k", 10)), int(script.get("i", 0)) / 1000
        step = min(steps, body.count(b'"role":"tool"') + body.count(b'"role": "tool"'))
        if b'"stream":true' in body.replace(b'"stream": true', b'"stream":true'):
            self.task = asyncio.ensure_future(self.stream(step, steps, gap))
        else:
            self.transport.write(complete_reply(step, steps))

    async def stream(self, step: int, steps: int, gap: float) -> None:
        write = self.transport.write
        write(head(b"text/event-stream", -1))
        if step < steps:
            call = {
                "index": 0,
                "id": f"call_{step}",
                "function": {"name": "calculator", "arguments": json.dumps({"expression": f"{step + 1}*7"})},
            }
            write(event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
        for word in WORDS if step >= steps else ():
            write(event({"choices": [{"index": 0, "delta": {"content": word}}]}))
            if gap:
                await asyncio.sleep(gap)
        reason = "tool_calls" if step < steps else "stop"
        write(event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
        write(event({"choices": [], "usage": USAGE}) + event(b"[DONE]") + b"0\r\n\r\n")


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
