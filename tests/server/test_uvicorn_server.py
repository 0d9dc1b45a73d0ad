"""Clients that send slowly, or do not read; how a server is stopped."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

from kit import call
from processes import interruptible
from server.serving import Client, Gate, parse, relaxed, serving, talker
from treadle import Agent, ScriptedModel, tool
from waiting import GUARD_SECONDS, eventually


def _host_and_port(client: Client) -> tuple[str, int]:
    host, port = client.address.removeprefix("http://").split(":")
    return host, int(port)


def _raw(client: Client) -> socket.socket:
    return socket.create_connection(_host_and_port(client), timeout=GUARD_SECONDS)


def test_slow_heads_are_cut_off():
    with (
        serving(talker(), settings=relaxed(header_timeout=0.5)) as client,
        _raw(client) as slow,
        _raw(client) as silent,
    ):
        slow.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        slow.settimeout(0.2)

        def refused() -> bool:
            slow.sendall(b"x-slow: 1\r\n")
            try:
                return b"408 Request Timeout" in slow.recv(4096)
            except TimeoutError:
                return False

        eventually(refused, "a client that never finishes its headers is refused")
        assert b"408" in silent.recv(4096)
        eventually(lambda: client.ask("GET", "/health").status == 200, "the server still answers")


def test_slow_bodies_are_cut_off():
    with serving(talker(), settings=relaxed(body_timeout=0.3)) as client, _raw(client) as slow:
        slow.sendall(
            b"POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b'content-length: 100\r\n\r\n{"qu'
        )
        assert b"408 Request Timeout" in slow.recv(4096)


def test_a_client_that_does_not_read_holds_nothing_and_can_come_back():
    gate = Gate()

    @tool
    async def flood(number: int) -> str:
        """Writes much."""
        await gate.wait()
        return f"{number} " + "y" * 11_000

    script = [*(call("flood", number=number) for number in range(300)), "done"]
    agent = Agent(ScriptedModel(script), tools=[flood], max_iterations=400)
    with serving(agent, settings=relaxed(send_timeout=0.5, header_timeout=2.0)) as client:
        run = client.start()
        with socket.socket() as sleeper:
            sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sleeper.settimeout(GUARD_SECONDS)
            sleeper.connect(_host_and_port(client))
            sleeper.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            gate.open()
            client.wait(run)
            eventually(lambda: not client.get("/health")["streams"], "the stream of a client that does not read ends")
            file = sleeper.makefile("rb")
            seen = list(parse(line for line in file if b":" in line or line == b"\n"))
        assert 0 < len(seen) < 1200
        rest = client.events(run, seen[-1]["id"])
        assert rest[-1]["data"]["answer"] == "done"
        assert int(rest[0]["id"].partition(".")[0]) == int(seen[-1]["id"].partition(".")[0]) + 1


SERVE = """
from treadle import Agent, ScriptedModel, serve
agent = Agent(ScriptedModel(["Hello."]), tools=None)
serve({"agent": agent}, "runs.db", port=0, on_ready=lambda address: print(address, flush=True))
print("the program goes on")
"""


def test_ctrl_c_ends_a_program_that_serves_without_a_traceback(tmp_path: Path):
    with interruptible():
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=GUARD_SECONDS)
    assert (process.returncode, out, errors) == (0, "the program goes on\n", "")
