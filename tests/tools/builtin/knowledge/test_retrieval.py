"""The tool that searches a knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tools.builtin.loopback import use
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase, Retrieved, retrieval
from treadle._types.errors import ToolError

FABLE = """# The tortoise and the hare

A hare laughed at a slow tortoise. They agreed to race through the forest, and a fox measured the course.

## The race

The hare ran ahead and lay down to sleep beneath an oak.

The tortoise never stopped. Perseverance carried it over the finishing line first.

## Moral

Slow and steady wins.
"""


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase(tmp_path / "kb" / "base.db", chunk_chars=200, overlap=80)


def toy_embedder(texts: list[str]) -> Sequence[Sequence[float]]:
    """Three meanings: animals, fruit, machines."""
    groups = (("tortoise", "hare", "animal", "creature"), ("apple", "fruit", "pear"), ("engine", "machine", "motor"))
    return [[float(sum(word in text.lower() for word in group)) + 0.01 for group in groups] for text in texts]


def test_the_tool(base: KnowledgeBase):
    base.add(FABLE, name="fable.md")
    tool = retrieval(base.path, k=2, about="fables")
    assert "fables" in tool.description
    result = asyncio.run(use(tool, query="perseverance"))
    assert isinstance(result, Retrieved)
    (shown, *_) = msgspec.json.decode(msgspec.json.encode(result))["chunks"]
    assert {"id", "document", "position", "text", "score"} <= shown.keys()


def test_the_tool_embeds_sync_or_async(base: KnowledgeBase):
    base.add("The tortoise is slow.", name="t")
    base.add("An apple a day.", name="a")

    async def later(texts: list[str]) -> Sequence[Sequence[float]]:
        await asyncio.sleep(0)
        return toy_embedder(texts)

    for embedder in (toy_embedder, later):
        result = asyncio.run(use(retrieval(base.path, embed=embedder), query="creature"))
        assert result.chunks[0].document == "t"


def test_an_embedder_that_miscounts(base: KnowledgeBase):
    base.add(FABLE, name="fable")
    with pytest.raises(ToolError, match="0 vectors"):
        asyncio.run(base.embed(lambda texts: []))


def test_a_knowledge_base_that_is_not_there(tmp_path: Path):
    with pytest.raises(ToolError, match="treadle kb add"):
        asyncio.run(use(retrieval(tmp_path / "none.db"), query="x"))
    assert not (tmp_path / "none.db").exists()
