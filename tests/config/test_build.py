"""Agents and tools from the parameters in a document."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.loopback import Answer, Loopback
from treadle import ScriptedModel
from treadle._config import build
from treadle._config.build import Builder, http_request
from treadle._config.components import HttpParams
from treadle._config.document import ToolRef, parse_document
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.reading.html import Readable, read_html
from treadle._types.errors import ConfigError


def builder(model: Any = None, **document: Any) -> Builder:
    return Builder(parse_document({"components": {}, **document}), Path("/base"), model=model, where="x")


def test_external_tools_of_a_document():
    ref = ToolRef("External", {"name": "look", "description": "Looks.", "approval": "ask"})
    [tool] = builder().tools("Agent:A", ref)
    assert (tool.name, tool.external, tool.approval) == ("look", True, "ask")
    for params, words in (
        ({}, "has no name"),
        ({"name": "x", "code": 1}, "has 'code'"),
        ({"name": "x", "parameters": {"type": "array"}}, '"type": "object"'),
    ):
        with pytest.raises(ConfigError) as raised:
            builder().tools("Agent:A", ToolRef("External", params))
        assert words in str(raised.value)


def test_parameters_become_settings():
    params = {
        "max_rounds": 3,
        "temperature": 0.2,
        "max_tokens": 50,
        "sys_prompt": "Be kind.",
        "settings": {"max_parallel": 2},
    }
    agent, parsed = builder(ScriptedModel([])).agent("Agent:Kind", {**params, "preset": "default"})
    settings = agent.settings
    assert (settings.max_iterations, settings.temperature, settings.max_tokens, settings.max_parallel) == (
        4,
        0.2,
        50,
        2,
    )
    assert (agent.name, parsed.sys_prompt) == ("Kind", "Be kind.")


@pytest.mark.parametrize(
    ("component_name", "tool"),
    [("calculator", "calculator"), ("Wikipedia", "wikipedia"), ("duck duck_go", "duckduckgo")],
)
def test_tools_by_component_name(component_name: str, tool: str):
    assert tool in " ".join(made.name for made in builder().tools("A", ToolRef(component_name)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"llm_idd": "x"}, "did you mean `llm_id`"),
        ({"max_rounds": "many"}, r"x: .*'Agent:A'.*max_rounds"),
        ({}, "x: Agent:A has no llm_id: add one, for example"),
        ({"llm_id": "nobody:x"}, "unknown provider 'nobody'"),
        ({"llm_id": "ollama:x", "settings": {"tempreature": 1}}, "x: Agent:A: .*tempreature"),
        (
            {"tools": [{"component_name": "Telepathy"}]},
            "Agent:A names the unknown tool 'Telepathy'; expected one of: a2a, arxiv",
        ),
        (
            {"tools": [{"component_name": "a2a", "params": {"url": "https://x.example", "auth": "OPENAI_API_KEY"}}]},
            "a document does not say which secret goes where",
        ),
        (
            {"mcp": [{"mcp_id": "ghost"}]},
            "Agent:A uses the MCP server 'ghost', which is not in `mcp_servers`; expected one of: .there are none",
        ),
        (
            {"tools": [{"component_name": "Retrieval", "params": {"kb_ids": ["b"]}}]},
            r"kb_ids has 'b', which is not in `knowledge_bases`; expected one of: notes",
        ),
    ],
)
def test_errors_say_where_and_what_to_change(params: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        builder(knowledge_bases={"notes": "kb.db"}).agent("Agent:A", params)


@pytest.mark.parametrize(("size", "beside"), [(100, False), (40_000, True)])
def test_a_long_page_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch, size: int, beside: bool):
    threads: list[threading.Thread] = []

    def read(html: str) -> Readable:
        threads.append(threading.current_thread())
        return read_html(html)

    async def main() -> str:
        page = Answer(pieces=[b"<p>" + b"word " * (size // 5)], headers={"content-type": "text/html"})
        async with Loopback([page]) as server:
            request = http_request(HttpParams(url=server.url, clean_html=True))
            assert request.execute is not None
            return await request.execute(url=server.url, headers={}, variables={})

    monkeypatch.setattr(build, "read_html", read)
    monkeypatch.setattr(build, "GuardedClient", partial(GuardedClient, allow_private=True))
    assert asyncio.run(main()).startswith("word word")
    assert (threads[0] is not threading.main_thread()) is beside
