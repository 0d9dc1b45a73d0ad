"""MCP: one connection, over stdio and HTTP, that survives its server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit import go, row, until
from programs import python
from tools.builtin.loopback import serving
from tools.calls import Context, called
from treadle import Toolkit
from treadle._tools.base import Effect, ToolOutcome
from treadle._tools.mcp.client import McpConnection, safe_name
from treadle._tools.mcp.content import to_response
from treadle._types.errors import ConfigError, ToolError
from treadle._types.messages import ImagePart, TextPart, ToolCall
from waiting import eventually

pytest.importorskip("mcp")
PATIENT = 120.0
"""Seconds for starting a server: on a busy machine its imports alone take long."""
SERVER = str(Path(__file__).with_name("server.py"))


EFFECTS: dict[str, Effect] = {"custom_tool": "pure", "pid": "idempotent", "die_once": "pure"}
"""What the operator says of the server's tools."""


def connection(**options: Any) -> McpConnection:
    program, *before = python()
    return McpConnection("test", command=program, args=[*before, SERVER], timeout=PATIENT, effects=EFFECTS, **options)


async def do(server: McpConnection, name: str, context: Context | None = None, **args: Any) -> ToolOutcome:
    return await called(Toolkit(await server.tools()), ToolCall("1", name, args), context, extras={"text": "no"})


async def test_content_progress_policy_and_names():
    server = connection()
    kit = Toolkit(await server.tools())
    effects = {tool.name: tool.effect for tool in kit}
    assert (effects["custom_tool"], effects["pid"], effects["slow"]) == ("pure", "idempotent", "unsafe")
    assert all(tool.marked_unsafe for tool in kit if tool.name not in EFFECTS), "nobody has said otherwise"
    assert {tool.untrusted for tool in kit} == {f"the MCP server {server.name}"}
    assert (await do(server, "odd_name_with_signs", value=1)).content == "2"
    assert (await do(server, "bad")).error == "exception"
    assert "expected integer" in str((await do(server, "odd_name_with_signs", value="x")).content)
    context = Context()
    assert (await do(server, "slow", context, seconds=0.05)).content == "done"
    assert context.pieces[1] == "working (1/10)\n"
    outcome = await do(server, "everything")
    assert isinstance(outcome.content, tuple)
    texts = "\n".join(part.text for part in outcome.content if isinstance(part, TextPart))
    for word in ("first", "second", "a note", "https://example.org/x", '{"answer":42}'):
        assert word in texts
    assert [part.mime for part in outcome.content if isinstance(part, ImagePart)] == ["image/png"]
    assert [artifact.mime for artifact in outcome.artifacts] == ["audio/wav", "application/zip"]


async def test_killed_mid_call_and_back_again(tmp_path: Path):
    server = connection()
    first = (await do(server, "pid")).content
    died = await do(server, "die")
    assert died.error == "exception"
    assert "was lost" in str(died.content)
    assert "unknown whether" in str(died.content)
    assert (await do(server, "pid")).content != first
    # A call that may be repeated is simply made again.
    assert (await do(server, "die_once", mark=str(tmp_path / "died"))).content == "alive"
    # Killed between two calls: the next call does not notice.
    pid = int(str((await do(server, "pid")).content))
    session = server._state.session
    assert session is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: session.closed)
    assert (await do(server, "slow", seconds=0.01)).content == "done"


async def test_a_new_list_a_cancelled_call_a_closed_connection(tmp_path: Path):
    server = connection()
    await do(server, "grow")
    await until(lambda: server.changed)
    assert (await do(server, "grown", word="up")).content == "grown up"
    mark = tmp_path / "mark"
    context = Context()
    task = asyncio.ensure_future(do(server, "slow", context, seconds=3600.0, mark=str(mark)))
    await until(lambda: context.pieces)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: mark.exists() and mark.read_text() == "cancelled")
    before = (await do(server, "pid")).content
    await server.close()
    assert (await do(server, "pid")).content != before


@pytest.mark.slow
async def test_a_time_out_of_the_server_is_told_and_leaves_the_connection_alone():
    server = connection()
    pid = (await do(server, "pid")).content
    server.timeout = 0.3
    outcome = await do(server, "slow", seconds=3600.0)
    assert outcome.error == "timeout"
    server.timeout = PATIENT
    assert (await do(server, "pid")).content == pid


def test_a_server_that_is_not_there():
    async def main(server: McpConnection) -> None:
        with pytest.raises(ToolError, match="cannot be reached"):
            await server.tools()

    go(main(McpConnection("gone", command="no-such-command-of-ours")))
    go(main(McpConnection("gone", url=f"http://127.0.0.1:{free_port()}/mcp?key=secret")))


async def test_a_server_that_dies_at_its_start_is_said_aloud_with_its_last_words(caplog: pytest.LogCaptureFixture):
    words = "import sys; sys.stderr.write('no licence in /etc/licence\\n'); sys.exit(3)"
    with pytest.raises(ToolError, match="it wrote: no licence in /etc/licence"):
        await McpConnection("dying", command=sys.executable, args=["-c", words], timeout=PATIENT).tools()
    assert "the MCP server 'dying' cannot be reached" in caplog.text
    assert "no licence" in caplog.text


def test_text_and_structured_content_of_the_same_result_are_shown_once():
    for texts, structured, shown in (
        (["Rome: 21.5 degrees, sunny"], {"city": "Rome", "degrees": 21.5, "sky": "sunny"}, "Rome: 21.5 degrees, sunny"),
        (['{"n": 1}', '{"n": 2}'], {"result": [{"n": 1}, {"n": 2}]}, '{"n": 1}\n{"n": 2}'),
        (["13 found"], {"n": 3}, '13 found\n{"n":3}'),
        ([], {"n": 3}, '{"n":3}'),
    ):
        with row(texts, structured, shown):
            from mcp_types import CallToolResult, TextContent

            result = CallToolResult(content=[TextContent(text=text) for text in texts], structured_content=structured)
            assert "\n".join(piece.text for piece in to_response(result).observation) == shown


def test_settings_are_checked_and_keys_not_shown():
    with pytest.raises(ConfigError, match="either a command"):
        McpConnection("x")
    with pytest.raises(ConfigError, match="either a command"):
        McpConnection("x", command="a", url="b")
    server = McpConnection("x", url="http://localhost/?key=secret", headers={"Authorization": "secret"})
    assert "secret" not in f"{server!r} {server.endpoint!r}"
    assert safe_name("a.b/c d", "my server") == "my_server_a_b_c_d"
    assert len(safe_name("x" * 200)) == 64


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(port: int, *more: str) -> Iterator[None]:
    process = subprocess.Popen([*python(), SERVER, str(port), *more], stderr=subprocess.DEVNULL)
    try:
        while not is_open(port):
            assert process.poll() is None, "the server ended"
            time.sleep(0.05)
        yield
    finally:
        process.kill()  # what stands for the server, which is killed for it
        process.wait()
        eventually(lambda: not is_open(port), "the server is gone")


@pytest.mark.parametrize("transport", ["http", pytest.param("sse", marks=pytest.mark.slow)])
async def test_http_servers_that_die_and_come_back(transport: Any):
    port = free_port()
    more = ("sse",) if transport == "sse" else ()
    server = McpConnection(
        "web",
        url=f"http://127.0.0.1:{port}/{'sse' if more else 'mcp'}",
        transport=transport,
        headers={"X-Key": "k"},
        timeout=PATIENT,
    )
    with served(port, *more):
        assert (await do(server, "custom_tool", text="abc")).content == "cba"
        died = await do(server, "die")
        assert died.error == "exception"
        assert "was lost" in str(died.content)
    kit = Toolkit([server.tool("custom_tool", "custom_tool", "", {"type": "object"}, "pure")])
    with served(port, *more):
        assert (await called(kit, ToolCall("1", "custom_tool", {"text": "abc"}))).content == "cba"


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("status", [302, 308])
async def test_a_redirect_to_another_server_gets_neither_keys_nor_calls(transport: Any, status: int):
    async with serving({"*": "ok"}) as other:
        away = {"*": lambda _: web.Response(status=status, headers={"Location": f"{other.url}/mcp"})}
        async with serving(away) as first:
            server = McpConnection(
                "web", url=f"{first.url}/mcp", transport=transport, headers={"X-Key": "k"}, timeout=PATIENT
            )
            with pytest.raises(ToolError, match="cannot be reached"):
                await server.tools()
            assert first.requests
            assert not other.requests


@pytest.mark.slow
def test_one_connection_in_two_event_loops():
    server = connection()
    for _ in range(2):
        assert go(do(server, "custom_tool", text="abc")).content == "cba"
