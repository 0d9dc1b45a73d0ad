"""The contents of an exchange as text: what was compressed on the way is unpacked, after it has passed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from treadle._record.exchange import MAX_STORED
from treadle._tools.builtin.reading.compression import Inflater


class UnreadableError(Exception):
    """The contents cannot be unpacked here."""


_Unpacker = Callable[[bytes], bytes]


def unpacked(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The pieces of a body without its content encoding, each as far as it can be read when it has come."""
    coders = [token.strip().lower() for token in encoding.split(",") if token.strip().lower() not in ("", "identity")]
    unpackers = [_unpacker(coder) for coder in reversed(coders)]
    size = 0
    for piece in pieces:
        for unpack in unpackers:
            try:
                piece = unpack(piece)
            except Exception as error:
                raise UnreadableError(f"its {encoding} encoding is broken: {error}") from None
            if len(piece) > 4 * MAX_STORED:  # the next unpacker would read it as whole
                raise UnreadableError("it is too large when unpacked")
        size += len(piece)
        if size > 4 * MAX_STORED:
            raise UnreadableError("it is too large when unpacked")
        yield piece


def _unpacker(coder: str) -> _Unpacker:
    if coder in ("gzip", "x-gzip", "deflate"):
        return partial(Inflater(coder).feed, max_length=4 * MAX_STORED + 1)
    module, maker, install = {
        "br": ("brotli", "Decompressor", "brotli"),
        "zstd": ("zstandard", "ZstdDecompressor", "zstandard"),
    }.get(coder, ("", "", ""))
    try:
        decoder: Any = getattr(import_module(module), maker)() if module else None
    except ImportError:
        raise UnreadableError(f"it is compressed with {coder}: `pip install {install}` to record it") from None
    if decoder is None:
        raise UnreadableError(f"its encoding {coder} is unknown")
    return in_slices(decoder.process if coder == "br" else decoder.decompressobj().decompress)


_SLICE = 64
"""Bytes given at once to a decoder that knows no limit: the largest block of either format is made of a few bytes."""


def in_slices(decode: _Unpacker) -> _Unpacker:
    """Bounds a decoder that has no bound of its own: it stops soon after too much has come out."""

    def unpack(piece: bytes) -> bytes:
        out = bytearray()
        for start in range(0, len(piece), _SLICE):
            out += decode(piece[start : start + _SLICE])
            if len(out) > 4 * MAX_STORED:
                raise UnreadableError("it is too large when unpacked")
        return bytes(out)

    return unpack


def whole(pieces: Iterable[bytes], encoding: str) -> bytes:
    return b"".join(unpacked(pieces, encoding))
