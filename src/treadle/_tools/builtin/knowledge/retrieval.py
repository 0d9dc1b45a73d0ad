"""The tool that searches a local knowledge base; its results have ids that answers can cite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice, zip_longest
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle._models.embeddings import Embedder, embedded, embedder_named, nearest, packed
from treadle._safety.bounds import Count, NotNegative, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Query
from treadle._tools.builtin.knowledge.base import Chunk, Document, KnowledgeBase
from treadle._tools.function import tool
from treadle._types.errors import ConfigError, ToolError

__all__ = ["Chunk", "Document", "Embedder", "KnowledgeBase", "Retrieved", "retrieval"]


class Retrieved(Struct, frozen=True):
    query: str
    chunks: tuple[Chunk, ...]


_RERANKED = 4
"""How many times as many passages are looked at where they are ranked again."""
SEARCHED = "knowledge_bases"
"""The attribute of the tool's function that has the files it searches."""


@bounded
def retrieval(
    path: str | Path | Sequence[str | Path],
    *,
    k: Count = 5,
    embed: Embedder | str | None = None,
    rerank: Embedder | str | None = None,
    threshold: NotNegative = 0.0,
    name: str = "retrieval",
    about: str = "",
    timeout: Seconds = 30.0,
) -> Tool:
    """A tool that searches the knowledge base at `path`, or several at once; `about` tells the model what they contain.

    With `embed` (a function, or the name of an embedding model: `minilm` on this machine, or such as
    `openai:text-embedding-3-small`) vectors are searched too; chunks that have none yet are embedded first. With
    `rerank` more passages are looked at, and the nearest in meaning are given. Passages with less than `threshold`, as
    a share of the best one's score, are left out.
    """
    bases = [KnowledgeBase(one) for one in ([path] if isinstance(path, str | Path) else path)]
    if not bases:
        raise ConfigError("retrieval needs a knowledge base: give the path of at least one")
    if isinstance(embed, str):
        embed = embedder_named(embed)
    embedder = embed
    ranker = embedder_named(rerank) if isinstance(rerank, str) else rerank
    looked_at = k if ranker is None else k * _RERANKED
    what = f"the local knowledge base ({about})" if about else "the local knowledge base"

    async def search(query: Query) -> Retrieved:
        for base in bases:
            if not base.path.exists():
                raise ToolError(
                    f"there is no knowledge base {base.path.name} yet: add documents with `treadle kb add PATH`"
                )
        vector = None
        if embedder is not None:
            for base in bases:
                await base.embed(embedder)
            vector = (await embedded(embedder, [query]))[0]
        results = [await asyncio.to_thread(base.search, query, looked_at, vector=vector) for base in bases]
        chunks = results[0] if len(bases) == 1 else _merged(results, looked_at)
        if ranker is not None and chunks:
            chunks = await _reranked(ranker, query, chunks)
        return Retrieved(query, tuple(_above(chunks, threshold)[:k]))

    setattr(search, SEARCHED, tuple(base.path for base in bases))
    description = f"Search {what} for passages. Each has an id, its document and its place in it."
    return tool(
        search, name=name, description=description, timeout=timeout, effect="pure", untrusted="the knowledge base"
    )


async def _reranked(ranker: Embedder, query: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The passages by how near their meaning is to that of the question."""
    asked, *vectors = (packed(vector) for vector in await embedded(ranker, [query, *(chunk.text for chunk in chunks)]))
    scores = dict(nearest(asked, enumerate(vectors)))
    return sorted(
        (replace(chunk, score=round(scores.get(index, 0.0), 4)) for index, chunk in enumerate(chunks)),
        key=lambda chunk: -chunk.score,
    )


def _above(chunks: Sequence[Chunk], threshold: float) -> list[Chunk]:
    best = max((chunk.score for chunk in chunks), default=0.0)
    return [chunk for chunk in chunks if not threshold or best <= 0 or chunk.score / best >= threshold]


def searched_by(searching: Tool) -> tuple[Path, ...]:
    """The knowledge bases that a tool searches."""
    return getattr(searching.execute, SEARCHED, ())


def _merged(results: list[list[Chunk]], k: int) -> list[Chunk]:
    """The best of several bases: the first of each, then the second of each, since scores of different bases do not
    compare. Each id says which base it is from, so that no two passages have the same."""
    numbered = [
        [replace(chunk, id=chunk.id * len(results) + index) for chunk in chunks] for index, chunks in enumerate(results)
    ]
    in_turn = (chunk for rank in zip_longest(*numbered) for chunk in rank if chunk is not None)
    return list(islice(in_turn, k))
