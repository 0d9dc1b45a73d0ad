"""Reads what a GGUF file says of itself: the texts at the beginning of its metadata."""

from __future__ import annotations

import struct
from pathlib import Path

from treadle._models.catalog.profiles import parameters_in

_START = 65_536
"""Bytes. The general keys come first; after them there are vocabularies of megabytes, which are not read."""
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by the number of its type: integers, floats and booleans."""
_STRING = 8


def parameters_of(path: Path) -> float | None:
    """Billions of parameters by the metadata, else by the file's name; None when neither says."""
    try:
        with path.open("rb") as file:
            label = _texts(file.read(_START)).get("general.size_label", "")
    except OSError:
        label = ""
    return parameters_in(label) or parameters_in(path.name)


def texts_of(path: Path) -> dict[str, str]:
    """The texts of a file's metadata up to its first list; none when it is no GGUF file of version 2 or later."""
    with path.open("rb") as file:
        return _texts(file.read(_START))


def _texts(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        magic, version, _, keys = struct.unpack_from("<4sIQQ", data)
        if magic != b"GGUF" or version < 2:
            return {}
        offset = 24
        for _ in range(keys):
            key, offset = _text(data, offset)
            (kind,) = struct.unpack_from("<I", data, offset)
            offset += 4
            if kind == _STRING:
                value, offset = _text(data, offset)
                found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
            elif kind in _WIDTHS:
                offset += _WIDTHS[kind]
            else:  # a list: here the general keys end
                break
    except (struct.error, OverflowError):  # the data ends, or a length that no file has
        pass
    return found


def _text(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", data, offset)
    end = offset + 8 + length
    return data[offset + 8 : end], end
