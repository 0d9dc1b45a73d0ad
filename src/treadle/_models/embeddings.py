"""Vectors of texts, for search by meaning: the one way in which knowledge bases, memory and tool search get them."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from importlib import import_module
from inspect import isawaitable
from operator import mul
from typing import Any, Generic, TypeVar

from treadle._types.errors import ToolError

Vectors = Sequence[Sequence[float]]
Embedder = Callable[[list[str]], Vectors | Awaitable[Vectors]]
"""Turns texts into vectors, sync or async."""
MINILM = "minilm"
_FUSION = 60
"""The usual constant of reciprocal rank fusion."""
_MAX_CACHED = 5_000
_WORTH_A_MATRIX = 500
"""From so many vectors on, the import of numpy is earned back."""
Key = TypeVar("Key", bound=Hashable)


def embedder_named(name: str) -> Embedder:
    """The embedder of a name: `minilm` is on this machine, others are `provider:model`."""
    if name == MINILM:
        from treadle._models.minilm.embeddings import LocalEmbeddings

        return LocalEmbeddings()
    from treadle._models.openai.embeddings import Embeddings

    return Embeddings(name)


async def embedded(embedder: Embedder, texts: list[str]) -> Vectors:
    """One vector for each text."""
    result = embedder(texts)
    vectors = await result if isawaitable(result) else result
    if len(vectors) != len(texts):
        raise ToolError(f"the embedder returned {len(vectors)} vectors for {len(texts)} texts")
    return vectors


def packed(vector: Sequence[float]) -> bytes:
    """A vector of length one, as 32-bit floats: how vectors are stored and compared."""
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return array("f", (value / length for value in vector)).tobytes()


class VectorTable(Generic[Key]):
    """Packed vectors by their keys, to be compared with one: as a matrix where numpy is installed and it is worth it.

    A vector of another length is of another model: it is not compared.
    """

    def __init__(self, vectors: Iterable[tuple[Key, bytes]]) -> None:
        self._by_length: dict[int, tuple[list[Key], list[bytes]]] = {}
        for key, vector in vectors:
            if vector:
                keys, rows = self._by_length.setdefault(len(vector), ([], []))
                keys.append(key)
                rows.append(vector)
        self._matrices: dict[int, Any] = {}

    def nearest(self, wanted: bytes, most: int | None = None) -> list[tuple[Key, float]]:
        """The keys with their similarity to `wanted` (1.0: the same direction), best first, at most `most`."""
        keys, rows = self._by_length.get(len(wanted), ([], []))
        numpy = _numpy() if len(keys) >= _WORTH_A_MATRIX else None
        if numpy is None:
            target = _floats(wanted)
            scores: list[float] = [sum(map(mul, target, _floats(row))) for row in rows]
            order: list[int] = sorted(range(len(keys)), key=lambda index: -scores[index])[:most]
        else:
            matrix = self._matrices.get(len(wanted))
            if matrix is None:
                matrix = numpy.frombuffer(b"".join(rows), dtype="f4").reshape(len(rows), -1)
                self._matrices[len(wanted)] = matrix
                self._by_length[len(wanted)] = keys, []  # the matrix has them
            products = matrix @ numpy.frombuffer(wanted, dtype="f4")
            best = range(len(keys)) if most is None or most >= len(keys) else numpy.argpartition(-products, most)[:most]
            order = sorted(map(int, best), key=lambda index: (-products[index], index))
            scores = products
        return [(keys[index], float(scores[index])) for index in order]


def nearest(wanted: bytes, others: Iterable[tuple[Key, bytes]]) -> list[tuple[Key, float]]:
    """The keys of packed vectors with their similarity to `wanted`, best first."""
    return VectorTable(others).nearest(wanted)


def _numpy() -> Any:
    """Not a dependency: whoever computes vectors on this machine has it."""
    try:
        return import_module("numpy")
    except ImportError:
        return None


def fused(rankings: Iterable[Sequence[tuple[Key, float]]]) -> list[tuple[Key, float]]:
    """Several rankings of the same things as one (reciprocal rank fusion): their scores need not compare."""
    scores: dict[Key, float] = {}
    for ranking in rankings:
        for rank, (key, _) in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION + rank + 1)
    return sorted(scores.items(), key=lambda pair: -pair[1])


class Meanings:
    """Ranks texts by their meaning. The vectors of texts are kept, so that the same ones are embedded once."""

    def __init__(self, embedder: Embedder | str) -> None:
        self.embedder = embedder_named(embedder) if isinstance(embedder, str) else embedder
        self._vectors: OrderedDict[str, bytes] = OrderedDict()

    async def ranked(self, query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        """The index of each text and its similarity to the query, best first."""
        missing = [text for text in dict.fromkeys((*texts, query)) if text not in self._vectors]
        if missing:
            vectors = await embedded(self.embedder, missing)
            self._vectors.update(zip(missing, map(packed, vectors), strict=True))
        vectors_of = self._vectors.copy()
        while len(self._vectors) > _MAX_CACHED:
            self._vectors.popitem(last=False)
        return nearest(vectors_of[query], ((index, vectors_of[text]) for index, text in enumerate(texts)))


def _floats(data: bytes) -> array[float]:
    numbers = array("f")
    numbers.frombytes(data)
    return numbers
