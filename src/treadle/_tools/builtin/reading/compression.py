"""Decompresses bodies of HTTP messages within a bound."""

from __future__ import annotations

import zlib

from treadle._types.errors import ToolError


class Inflater:
    """Decompresses a body piece by piece, never into more bytes than allowed."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(f"the server used an encoding that was not requested: {encoding[:40]!r}")
        self._plain = encoding in ("", "identity")
        self._codec = None

    def feed(self, data: bytes, max_length: int) -> bytes:
        if self._plain:
            return data
        out = bytearray()
        while data and len(out) < max_length:
            if self._codec is None:
                # Some servers send "deflate" without its header; the first byte shows it.
                self._codec = zlib.decompressobj(47 if data[0] & 0x0F in (8, 0x0F) else -15)
            try:
                out += self._codec.decompress(data, max_length - len(out))
            except zlib.error:
                raise ToolError("the body cannot be decompressed") from None
            data = self._codec.unconsumed_tail
            if self._codec.eof:  # a further gzip member may follow
                data, self._codec = self._codec.unused_data, None
                if not data.startswith(b"\x1f\x8b"):
                    break
        return bytes(out)
