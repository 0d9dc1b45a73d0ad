"""A model file without most of its layers: it does what a model does, in a tenth of the time, and makes no sense."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by the number of its type."""
STRING, LIST = 8, 9
ALIGNMENT = 32


def shorten(source: Path, target: Path, layers: Sequence[int]) -> None:
    """Write the model of `source` with these layers alone."""
    data = source.read_bytes()
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", data)
    at, metadata = 24, b""
    for _ in range(keys):
        start, (name, at) = at, text(data, at)
        value = at + 4
        at = end_of(data, value, *struct.unpack_from("<I", data, at))
        count = struct.pack("<I", len(layers))
        metadata += data[start:value] + count if name.endswith(".block_count") else data[start:at]
    infos: list[tuple[str, bytes, int]] = []
    for _ in range(tensors):
        name, at = text(data, at)
        shape = data[at : (at := at + 8 + 8 * struct.unpack_from("<I", data, at)[0])]
        infos.append((name, shape, *struct.unpack_from("<Q", data, at)))
        at += 8
    begin = at + -at % ALIGNMENT
    ends = dict(pairwise(sorted([*(offset for *_, offset in infos), len(data) - begin])))
    kept, content = b"", b""
    count = 0
    for name, shape, offset in infos:
        if layer := re.match(r"blk\.(\d+)\.", name):
            if int(layer[1]) not in layers:
                continue
            name = f"blk.{layers.index(int(layer[1]))}.{name[layer.end() :]}"
        kept += struct.pack("<Q", len(name)) + name.encode() + shape + struct.pack("<Q", len(content))
        content += data[begin + offset : begin + ends[offset]]
        content += b"\0" * (-len(content) % ALIGNMENT)
        count += 1
    head = struct.pack("<4sIQQ", magic, version, count, keys) + metadata + kept
    target.write_bytes(head + b"\0" * (-len(head) % ALIGNMENT) + content)


def text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 8 + struct.unpack_from("<Q", data, at)[0]
    return data[at + 8 : end].decode(), end


def end_of(data: bytes, at: int, kind: int) -> int:
    """Where a value of this type ends."""
    if kind == STRING:
        return text(data, at)[1]
    if kind != LIST:
        return at + WIDTHS[kind]
    kind, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind in WIDTHS:
        return at + count * WIDTHS[kind]
    for _ in range(count):
        at = end_of(data, at, kind)
    return at
