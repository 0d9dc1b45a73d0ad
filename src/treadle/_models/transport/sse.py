"""A parser of server-sent events: bytes in, payloads out."""

from __future__ import annotations

from treadle._types.errors import BadReplyError

MAX_EVENT = 32 * 1024 * 1024
"""A line that grows beyond this is an attack or a fault."""


class SSEParser:
    """Splits a byte stream into the `data` payloads of its events.

    It works on bytes, so a character split between two reads does not matter. Line ends may be LF, CRLF or CR.
    Comments, ids and names are dropped (every provider repeats the event's name inside the payload); several data
    lines are joined.
    """

    __slots__ = ("_after_cr", "_data", "_pending", "_size")

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that `chunk` completes."""
        if self._after_cr:
            # The CR that ended the last chunk has already ended its line: an LF now is the rest of the same line end.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._pending:
            self._pending.append(lines[0])
            lines[0] = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        rest = lines.pop()
        payloads = self._read(lines)
        if rest:
            self._keep(rest)
        return payloads

    def close(self) -> list[bytes]:
        """The payloads that are left when the stream ends without a final blank line."""
        lines = [b"".join(self._pending), b""]
        self._pending.clear()
        return self._read(lines)

    def _keep(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._size += len(piece)
        if self._size > MAX_EVENT:
            raise BadReplyError(f"an event of the stream is larger than {MAX_EVENT} bytes")

    def _read(self, lines: list[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line and data:
                payloads.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
        return payloads


class LineParser(SSEParser):
    """Splits a byte stream into its lines, each of which is a payload."""

    __slots__ = ()

    def _read(self, lines: list[bytes]) -> list[bytes]:
        return [line for line in lines if line]
