"""Search by meaning: the one seam of knowledge bases, memory and tool search."""

from __future__ import annotations

import pytest

from kit import go
from treadle._models.embeddings import Meanings, embedded, fused, nearest, packed
from treadle._types.errors import ToolError


def test_texts_are_ranked_and_embedded_once():
    seen: list[str] = []

    async def embedder(texts: list[str]) -> list[tuple[float, float]]:
        seen.extend(texts)
        return [(1.0, 0.1) if "ship" in text else (0.1, 3.0) for text in texts]

    async def main() -> None:
        meanings = Meanings(embedder)
        texts = ["bread", "a ship", "bread"]
        assert [index for index, _ in await meanings.ranked("two ships", texts)] == [1, 0, 2]
        assert await meanings.ranked("two ships", []) == []
        ((best, score), *_) = await meanings.ranked("ship!", texts)
        assert (best, round(score, 3)) == (1, 1.0)

    go(main())
    assert seen == ["bread", "a ship", "two ships", "ship!"]


def test_vectors_of_another_length_are_of_another_model():
    assert nearest(packed([1, 0]), [("a", packed([0, 2])), ("b", packed([1, 0, 0])), ("c", packed([5, 0]))]) == [
        ("c", 1.0),
        ("a", 0.0),
    ]
    assert nearest(packed([0, 0]), [("a", packed([0, 0]))]) == [("a", 0.0)]


def test_rankings_are_fused_by_their_order():
    assert [key for key, _ in fused([[("a", 9.0), ("b", 8.0)], [("b", 0.1), ("c", 0.0)]])] == ["b", "a", "c"]


def test_an_embedder_that_loses_a_text_is_told():
    with pytest.raises(ToolError, match="1 vectors for 2 texts"):
        go(embedded(lambda texts: [[1.0]], ["a", "b"]))
