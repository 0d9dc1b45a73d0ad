"""Recorded runs and knowledge bases as resources for MCP clients."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from treadle._journal.base import Journal
from treadle._server.mcp.values import McpResource
from treadle._tools.builtin.knowledge.base import KnowledgeBase
from treadle._types.errors import RunNotFoundError, ToolError
from treadle._types.state import fold

RUNS = "treadle://runs"
_LISTED = 50
_SHOWN = 4_000
"""Characters of each observation."""


def run_resources(journal: Journal) -> list[McpResource]:
    """The newest runs, and each run with its steps."""

    async def newest() -> str:
        found = await journal.list(limit=_LISTED)
        kept = ("run_id", "agent", "model", "status", "stop_reason", "created")
        return _json(
            [
                {"uri": f"{RUNS}/{info.run_id}", "question": info.question[:500]}
                | {name: getattr(info, name) for name in kept}
                for info in found
            ]
        )

    async def one(id: str) -> str:
        try:
            state = fold(await journal.load(id))
        except RunNotFoundError:
            raise ToolError("there is no such run") from None
        steps = [
            {"tool": step.tool, "args": step.args, "observation": step.observation[:_SHOWN]} for step in state.steps
        ]
        answer = state.finished.answer if state.finished else None
        return _json({"run_id": id, "question": state.question, "answer": answer, "steps": steps})

    async def complete(name: str, typed: str) -> Sequence[str]:
        return [info.run_id for info in await journal.list(limit=_LISTED) if info.run_id.startswith(typed)]

    kind = "application/json"
    return [
        McpResource(uri=RUNS, name="runs", read=newest, description="The newest recorded runs.", mime=kind),
        McpResource(
            uri=f"{RUNS}/{{id}}",
            name="run",
            read=one,
            description="One recorded run: its question, steps and answer.",
            mime=kind,
            complete=complete,
        ),
    ]


def knowledge_resources(bases: Mapping[str, KnowledgeBase]) -> list[McpResource]:
    """For each knowledge base: its documents, a search, and each passage."""
    return [resource for name, base in bases.items() for resource in _of_base(name, base)]


def _of_base(name: str, base: KnowledgeBase) -> list[McpResource]:
    address = f"treadle://knowledge/{name}"

    async def documents() -> str:
        return _json([{"name": d.name, "chunks": d.chunks} for d in await asyncio.to_thread(base.documents)])

    async def search(query: str) -> str:
        return _json([msgspec.to_builtins(chunk) for chunk in await asyncio.to_thread(base.search, query)])

    async def passage(id: str) -> str:
        found = await asyncio.to_thread(base.chunk, int(id)) if id.isdecimal() and len(id) < 19 else None
        if found is None:
            raise ToolError("there is no such passage")
        return found.text

    kind = "application/json"
    return [
        McpResource(uri=address, name=name, read=documents, description=f"The documents of {name}.", mime=kind),
        McpResource(
            uri=f"{address}/search/{{query}}",
            name=f"{name}-search",
            read=search,
            description=f"The passages of {name} that fit a query.",
            mime=kind,
        ),
        McpResource(
            uri=f"{address}/passages/{{id}}", name=f"{name}-passage", read=passage, description=f"A passage of {name}."
        ),
    ]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
