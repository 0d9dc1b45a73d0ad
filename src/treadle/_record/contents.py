"""The contents of an exchange as text: what was compressed on the way is unpacked, after it has passed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Protocol

from treadle._record.passed import MAX_KEPT


class UnreadableError(Exception):
    """The contents cannot be unpacked here."""


class _Unpacker(Protocol):
    def __call__(self, piece: bytes) -> bytes: ...


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
        size += len(piece)
        if size > 4 * MAX_KEPT:
            raise UnreadableError("it is too large when unpacked")
        yield piece


def _unpacker(coder: str) -> _Unpacker:
    if coder in ("gzip", "x-gzip"):
        return _Gzip()
    if coder == "deflate":
        return _Deflate()
    module, maker, install = {
        "br": ("brotli", "Decompressor", "brotli"),
        "zstd": ("zstandard", "ZstdDecompressor", "zstandard"),
    }.get(coder, ("", "", ""))
    try:
        found: Any = getattr(import_module(module), maker)() if module else None
    except ImportError:
        raise UnreadableError(f"it is compressed with {coder}: `pip install {install}` to record it") from None
    if found is None:
        raise UnreadableError(f"its encoding {coder} is not known")
    return in_slices(found.process if coder == "br" else found.decompressobj().decompress)


def _bounded(decoder: Any) -> _Unpacker:
    def unpack(piece: bytes) -> bytes:
        out = decoder.decompress(piece, 4 * MAX_KEPT)
        if decoder.unconsumed_tail:
            raise UnreadableError("it is too large when unpacked")
        return out

    return unpack


_SLICE = 64
"""Bytes given at once to a decoder that knows no limit: the largest block of either format is made of a few bytes."""


def in_slices(decode: _Unpacker) -> _Unpacker:
    """Bounds a decoder that has no bound of its own: it stops soon after too much has come out."""

    def unpack(piece: bytes) -> bytes:
        out = bytearray()
        for start in range(0, len(piece), _SLICE):
            out += decode(piece[start : start + _SLICE])
            if len(out) > 4 * MAX_KEPT:
                raise UnreadableError("it is too large when unpacked")
        return bytes(out)

    return unpack


class _Gzip:
    """One member after the other: a body may have several."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def __call__(self, piece: bytes) -> bytes:
        out = bytearray()
        while piece:
            if self._decoder.eof:
                self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
            out += self._decoder.decompress(piece, 4 * MAX_KEPT - len(out) + 1)
            if self._decoder.unconsumed_tail or len(out) > 4 * MAX_KEPT:
                raise UnreadableError("it is too large when unpacked")
            piece = self._decoder.unused_data
        return bytes(out)


class _Deflate:
    """With or without the frame of zlib: servers send both."""

    def __init__(self) -> None:
        self._unpack: _Unpacker | None = None

    def __call__(self, piece: bytes) -> bytes:
        if self._unpack is None:
            if not piece:
                return b""
            framed = piece[0] & 0x0F == 8
            self._unpack = _bounded(zlib.decompressobj(zlib.MAX_WBITS if framed else -zlib.MAX_WBITS))
        return self._unpack(piece)


def whole(pieces: Iterable[bytes], encoding: str) -> bytes:
    return b"".join(unpacked(pieces, encoding))
