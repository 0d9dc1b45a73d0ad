"""The tool that searches a local knowledge base; its results have ids that answers can cite."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from treadle._tools.base import Tool
from treadle._tools.builtin.common import QUERY_SCHEMA
from treadle._tools.builtin.knowledge.base import Chunk, Document, Embedder, KnowledgeBase, embedded
from treadle._types.errors import ToolError

__all__ = ["Chunk", "Document", "Embedder", "KnowledgeBase", "Retrieved", "retrieval"]


class Retrieved(Struct, frozen=True):
    query: str
    chunks: tuple[Chunk, ...]


def retrieval(
    path: str | Path,
    *,
    k: int = 5,
    embed: Embedder | str | None = None,
    name: str = "retrieval",
    about: str = "",
    timeout: float = 30.0,
) -> Tool:
    """A tool that searches the knowledge base at `path`; `about` tells the model what it contains.

    With `embed` (a function, or the name of an embedding model such as `openai:text-embedding-3-small`) vectors are
    searched too; chunks that have none yet are embedded first.
    """
    base = KnowledgeBase(path)
    if isinstance(embed, str):
        from treadle._models.embeddings import Embeddings

        embed = Embeddings(embed)
    embedder = embed
    what = f"the local knowledge base ({about})" if about else "the local knowledge base"

    async def execute(query: str) -> Retrieved:
        if not base.path.exists():
            raise ToolError(
                f"there is no knowledge base {base.path.name} yet: add documents with `treadle kb add PATH`"
            )
        vector = None
        if embedder is not None:
            await base.embed(embedder)
            vector = (await embedded(embedder, [query]))[0]
        chunks = await asyncio.to_thread(base.search, query, k, vector=vector)
        return Retrieved(query, tuple(chunks))

    return Tool(
        name=name,
        description=f"Search {what} for passages. Each has an id, its document and its place in it.",
        parameters=QUERY_SCHEMA,
        execute=execute,
        timeout=timeout,
        effect="pure",
        untrusted="the knowledge base",
    )
