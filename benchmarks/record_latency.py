"""What the recording proxy adds: the same requests straight to a server on loopback and through the proxy, in one run.

    python benchmarks/record_latency.py [--requests 400] [--streams 200]

Server, proxy and client are three processes. Measured are the time to the first piece of a streamed reply and the time
of the whole exchange, in turns, so that what else the machine does meets both ways alike; then many streams at once,
compared byte by byte, and the memory of the proxy before and after. The proxy records into a journal meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

PIECES = 30
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def pieces(mark: str) -> list[bytes]:
    """A streamed chat completion."""
    deltas = [{"choices": [{"index": 0, "delta": {"content": f"{mark} {number} "}}]} for number in range(PIECES)]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [f"data: {json.dumps(one)}\n\n".encode() for one in (*deltas, end)] + [b"data: [DONE]\n\n"]


async def serve() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                mark = json.loads(await reader.readexactly(length))["messages"][0]["content"]
                writer.write(HEAD)
                for piece in pieces(mark):
                    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def ask(self, mark: str) -> tuple[float, float, bytes]:
        """Seconds to the first piece and to the end, and all bytes."""
        if self.reader is None or self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": mark}]}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        began = time.perf_counter()
        self.writer.write(head.encode() + body)
        got = await self.reader.readuntil(b"\r\n\r\n")
        got += await self.reader.readuntil(b"\n\n\r\n")
        first = time.perf_counter() - began
        got += await self.reader.readuntil(b"0\r\n\r\n")
        return first, time.perf_counter() - began, got

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def memory_of(pid: int) -> float:
    """Resident megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measure(direct: int, proxied: int, pid: int, requests: int, streams: int) -> int:
    ways = {"direct": Client(direct), "through the proxy": Client(proxied)}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(requests + 20):
        for name, client in ways.items():
            first, whole, _ = await client.ask(f"request {number}")
            if number >= 20:
                times[name].append((first, whole))
    print(f"{'':20}{'first piece':>24}{'whole exchange':>24}   (milliseconds: middle, 95 of 100)")
    for name, pairs in times.items():
        cells = [
            f"{1000 * median(column):8.2f} {1000 * quantiles(column, n=20)[-1]:8.2f}"
            for column in zip(*pairs, strict=True)
        ]
        print(f"{name:20}{cells[0]:>24}{cells[1]:>24}")
    added = [
        1000 * (median([a[part] for a in times["through the proxy"]]) - median([b[part] for b in times["direct"]]))
        for part in (0, 1)
    ]
    print(f"added in the middle: {added[0]:.2f} ms to the first piece, {added[1]:.2f} ms to the whole exchange")
    before = memory_of(pid)
    same = 0
    for turn in range(5):
        clients = [(Client(direct), Client(proxied)) for _ in range(streams)]
        got = await asyncio.gather(*(c.ask(f"turn {turn} stream {n}") for n, pair in enumerate(clients) for c in pair))
        same += sum(one[2] == other[2] for one, other in zip(got[::2], got[1::2], strict=True))
        for pair in clients:
            for client in pair:
                client.close()
    print(f"{streams} streams at once, 5 times: {same} of {5 * streams} the same byte for byte")
    print(f"memory of the proxy: {before:.0f} MiB before, {memory_of(pid):.0f} MiB after")
    return 0 if added[0] < 2 and added[1] < 2 and same == 5 * streams else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve())
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        port = int(server.stdout.readline())
        command = [sys.executable, "-m", "treadle", "record", "--listen", "0", "--to", f"http://127.0.0.1:{port}"]
        env = {**os.environ, "TREADLE_STATE": folder}
        proxy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
        assert proxy.stderr is not None
        try:
            line = proxy.stderr.readline()
            address = next(word for word in line.split() if word.startswith("http"))
            return asyncio.run(measure(port, int(address.rpartition(":")[2]), proxy.pid, args.requests, args.streams))
        finally:
            for process in (proxy, server):
                process.terminate()
            proxy.communicate()
            server.communicate()


if __name__ == "__main__":
    sys.exit(main())
