"""A small preview of a PNG picture in a terminal: two pixels in each character, the upper half block."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_COLUMNS, _LINES = 48, 24
_MOST = 3_000_000
"""The bytes of a picture without compression that are looked at: about half a second."""
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_WHITE = 255


def preview(data: bytes) -> list[str]:
    """The lines of a preview, with escape sequences for colours; none of a picture that is not read: damaged, too
    large, interlaced, or with other than eight bits."""
    try:
        width, height, channels, palette, packed = _read(data)
        rows = list(_unfiltered(packed, width * channels, height, channels))
    except (ValueError, IndexError, zlib.error):
        return []
    columns = min(_COLUMNS, width)
    lines = max(1, min(_LINES, round(height * columns / width / 2)))

    def colour(column: int, half: int) -> str:
        left, right = _part(column, columns, width)
        top, bottom = _part(half, lines * 2, height)
        area = b"".join(row[left * channels : right * channels] for row in rows[top:bottom])
        return ";".join(map(str, _mean(area, channels, palette)))

    def pair(column: int, line: int) -> str:
        return f"\x1b[38;2;{colour(column, 2 * line)};48;2;{colour(column, 2 * line + 1)}m▀"

    return ["".join(pair(column, line) for column in range(columns)) + "\x1b[0m" for line in range(lines)]


def _part(number: int, parts: int, size: int) -> tuple[int, int]:
    """Where a part of so many begins and ends, at least one wide."""
    start = number * size // parts
    return start, max(start + 1, (number + 1) * size // parts)


def _read(data: bytes) -> tuple[int, int, int, bytes, bytes]:
    """Width, height, bytes of a pixel, palette, and the rows as they are filtered."""
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    depth, kind, _, _, interlaced = data[24:29]
    channels = _CHANNELS.get(kind, 0)
    whole = (width * channels + 1) * height
    if data[:8] != b"\x89PNG\r\n\x1a\n" or depth != 8 or interlaced or not width * channels * height or whole > _MOST:
        raise ValueError
    at, palette, packed = 33, b"", b""
    while at + 8 <= len(data):
        length, name = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        palette = data[at + 8 : at + 8 + length] if name == b"PLTE" else palette
        packed += data[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    unpacked = zlib.decompressobj().decompress(packed, whole)
    if len(unpacked) < whole:
        raise ValueError
    return width, height, channels, palette if kind == 3 else b"", unpacked


def _unfiltered(data: bytes, size: int, height: int, step: int) -> Iterator[bytearray]:
    above = bytearray(size)
    for start in range(0, height * (size + 1), size + 1):
        row = bytearray(data[start + 1 : start + 1 + size])
        match data[start]:
            case 1:
                for at in range(step, size):
                    row[at] = (row[at] + row[at - step]) & 255
            case 2:
                row = bytearray((one + up) & 255 for one, up in zip(row, above, strict=True))
            case 3:
                for at in range(size):
                    row[at] = (row[at] + ((row[at - step] if at >= step else 0) + above[at]) // 2) & 255
            case 4:
                for at in range(size):
                    left, corner = (row[at - step], above[at - step]) if at >= step else (0, 0)
                    row[at] = (row[at] + _paeth(left, above[at], corner)) & 255
            case _:
                pass
        yield row
        above = row


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))


def _mean(area: bytes, channels: int, palette: bytes) -> list[int]:
    """The mean colour, on white where the picture is transparent."""
    if palette:
        area, channels = b"".join(palette[3 * index : 3 * index + 3] for index in area), 3
    count = max(1, len(area) // channels)
    means = [sum(area[at::channels]) // count for at in range(channels)]
    opaque = means.pop() if channels in (2, 4) else _WHITE
    return [_WHITE - (_WHITE - one) * opaque // _WHITE for one in (means if len(means) == 3 else means * 3)]
