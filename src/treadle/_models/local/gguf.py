"""The size that the publisher wrote into a GGUF file: the key `general.size_label` of its metadata."""

from __future__ import annotations

import struct
from pathlib import Path

from treadle._models.catalog.sizes import parameters_in

_KEY = b"general.size_label"
_START = 65_536
"""Bytes. The general keys come first; after them there are vocabularies of megabytes, which are not read."""
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by the number of its type: integers, floats and booleans."""
_STRING = 8


def parameters_of(path: Path) -> float | None:
    """Billions of parameters by the metadata, else by the file's name; None when neither says."""
    try:
        with path.open("rb") as file:
            label = _size_label(file.read(_START))
    except OSError:
        label = ""
    return parameters_in(label) or parameters_in(path.name)


def _size_label(data: bytes) -> str:
    """The label; empty when the first keys have none, or when this is not a GGUF file of version 2 or later."""
    try:
        magic, version, _, keys = struct.unpack_from("<4sIQQ", data)
        if magic != b"GGUF" or version < 2:
            return ""
        offset = 24
        for _ in range(keys):
            key, offset = _text(data, offset)
            (kind,) = struct.unpack_from("<I", data, offset)
            offset += 4
            if kind == _STRING:
                value, offset = _text(data, offset)
                if key == _KEY:
                    return value.decode("utf-8", "replace")
            elif kind in _WIDTHS:
                offset += _WIDTHS[kind]
            else:  # a list: here the general keys end
                return ""
    except (struct.error, OverflowError):  # the data ends, or a length that no file has
        pass
    return ""


def _text(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", data, offset)
    end = offset + 8 + length
    return data[offset + 8 : end], end
