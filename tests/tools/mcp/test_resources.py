"""Resources, prompts, roots and log messages of a server."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from programs import python
from treadle import McpServer, ToolError

pytest.importorskip("mcp")
SERVER = str(Path(__file__).with_name("asking_server.py"))


def server(**options: Any) -> McpServer:
    program, *before = python()
    return McpServer("shop", command=program, args=[*before, SERVER], timeout=60, **options)


def text(response: Any) -> str:
    return "\n".join(getattr(piece, "text", "") for piece in response.observation)


async def test_what_a_server_has_is_listed_and_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "treadle")
    shop = server(roots=[tmp_path], log_level="warning")
    listed = await shop.resources()
    assert [getattr(it, "uri", "") or getattr(it, "uri_template", "") for it in listed] == [
        "shop://lamp",
        "shop://items/{id}",
    ]
    assert [prompt.name for prompt in await shop.prompts()] == ["review"]
    assert "12 euros" in text(await shop.read_resource("shop://lamp"))
    assert text(await shop.get_prompt("review", {"what": "this"})) == "Review this."
    with pytest.raises(ToolError, match="there is no such thing"):
        await shop.read_resource("shop://nothing")
    assert tmp_path.as_uri() in text(await shop.call("roots", {}))
    await shop.call("log", {})
    await shop.close()
    assert "the MCP server shop: low on [2J paper and ink" in caplog.text


async def test_what_is_not_set_is_refused():
    shop = server()
    for tool in ("ask_user", "ask_model", "roots"):
        assert '"error"' in text(await shop.call(tool, {})), tool
    await shop.close()
