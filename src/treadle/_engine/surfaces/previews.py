"""Small previews of what a run has made, for a terminal and a notebook: the first rows of a table, a picture's size."""

from __future__ import annotations

import csv
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from itertools import islice

from treadle._types.events import Artifact

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml")
ROWS, COLUMNS, CELL = 5, 8, 24
_TABLES = {"text/csv": ",", "text/tab-separated-values": "\t"}
_READ = 20_000
"""Characters of a table that are looked at."""


def contents(artifact: Artifact) -> bytes:
    """The bytes of the file."""
    if not artifact.base64:
        return artifact.content.encode(errors="replace")
    try:
        return b64decode(artifact.content, validate=True)
    except (NotBase64, ValueError):
        return b""


def described(artifact: Artifact) -> str:
    """What kind of file it is, and how large."""
    data = contents(artifact)
    pixels = f", {int.from_bytes(data[16:20])} x {int.from_bytes(data[20:24])}" if data[:4] == b"\x89PNG" else ""
    size = f"{len(data)} bytes" if len(data) < 10_000 else f"{len(data) // 1000} kB"
    return f"{artifact.mime}{pixels}, {size}"


def rows_of(artifact: Artifact) -> list[list[str]]:
    """The first rows of a table, cut to what can be looked at; empty for any other file."""
    separator = _TABLES.get(artifact.mime.partition(";")[0].strip().lower())
    if separator is None or artifact.base64:
        return []
    try:
        rows = list(islice(csv.reader(_lines(artifact.content[:_READ]), delimiter=separator), ROWS + 1))
    except csv.Error:
        return []
    return [[cell if len(cell) <= CELL else f"{cell[: CELL - 1]}…" for cell in row[:COLUMNS]] for row in rows]


def _lines(text: str) -> Iterator[str]:
    yield from text.splitlines(keepends=True)
