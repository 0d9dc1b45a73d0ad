"""Recorded runs and knowledge bases as resources, read by the SDK's client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import add, call, go
from treadle import Agent, KnowledgeBase, ScriptedModel, Toolkit, open_journal

pytest.importorskip("mcp")
from mcp import Client, MCPError

from treadle._server.mcp.own_resources import knowledge_resources, run_resources
from treadle._server.mcp.server import make_server


async def text(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    return str(getattr(content, "text", ""))


def test_runs_are_resources(tmp_path: Path):
    async def main() -> None:
        journal = open_journal(str(tmp_path / "runs.db"))
        agent = Agent(ScriptedModel([call("add", a=1, b=2), "three"]), [add], journal=journal)
        result = await agent.run("1 + 2?")
        async with Client(make_server(Toolkit([]), resources=run_resources(journal))) as client:
            assert [it.uri for it in (await client.list_resources()).resources] == ["treadle://runs"]
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "treadle://runs/{id}"
            [listed] = json.loads(await text(client, "treadle://runs"))
            assert (listed["question"], listed["status"]) == ("1 + 2?", "finished")
            run = json.loads(await text(client, listed["uri"]))
            assert (run["run_id"], run["answer"]) == (result.run_id, "three")
            assert [(step["tool"], step["observation"]) for step in run["steps"]] == [("add", "3")]
            for wrong in ("treadle://runs/nope", "treadle://runs/a/b", "file:///etc/passwd"):
                with pytest.raises(MCPError, match="there is no"):
                    await client.read_resource(wrong)
        await journal.aclose()

    go(main())


def test_knowledge_bases_are_resources(tmp_path: Path):
    base = KnowledgeBase(tmp_path / "k.db")
    base.add("The lamp costs 12 euros.", name="prices")

    async def main() -> None:
        async with Client(make_server(Toolkit([]), resources=knowledge_resources({"shop": base}))) as client:
            assert json.loads(await text(client, "treadle://knowledge/shop")) == [{"name": "prices", "chunks": 1}]
            [found] = json.loads(await text(client, "treadle://knowledge/shop/search/what%20costs%20a%20lamp"))
            assert "12 euros" in found["text"]
            assert "12 euros" in await text(client, f"treadle://knowledge/shop/passages/{found['id']}")
            with pytest.raises(MCPError, match="no such passage"):
                await client.read_resource("treadle://knowledge/shop/passages/99")

    go(main())
