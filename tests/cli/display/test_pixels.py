"""A PNG picture as characters, whatever filter its rows have."""

from __future__ import annotations

import random
import re
import struct
import time
import zlib

import pytest

from treadle._cli.display.pixels import preview

RED, BLUE = (255, 0, 0), (0, 0, 255)


def png(rows: list[bytes], width: int, kind: int, palette: bytes = b"", depth: int = 8) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, len(rows), depth, kind, 0, 0, 0)
    parts = chunk(b"IHDR", head) + (chunk(b"PLTE", palette) if palette else b"")
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


def filtered(rows: list[bytes], step: int, kind: int) -> list[bytes]:
    """The rows as an encoder writes them, straight from the PNG specification."""
    above = bytes(len(rows[0]))
    made: list[bytes] = []
    for row in rows:
        out = bytearray([kind])
        for at, value in enumerate(row):
            left, corner = (row[at - step], above[at - step]) if at >= step else (0, 0)
            up = above[at]
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            out.append((value - (0, left, up, (left + up) // 2, nearest)[kind]) & 255)
        made.append(bytes(out))
        above = row
    return made


def colours(line: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, found.split(";"))) for found in re.findall(r"[34]8;2;(\d+;\d+;\d+)", line)]


@pytest.mark.parametrize("kind", range(5))
def test_each_filter_gives_the_picture_back(kind: int):
    draw = random.Random(kind)
    rows = [bytes(draw.randrange(256) for _ in range(4 * 3)) for _ in range(4)]
    lines = preview(png(filtered(rows, 3, kind), 4, 2))
    assert len(lines) == 2
    for number, line in enumerate(lines):
        upper, lower = rows[2 * number], rows[2 * number + 1]
        wanted = [tuple(row[3 * at : 3 * at + 3]) for at in range(4) for row in (upper, lower)]
        assert colours(line) == wanted
        assert line.endswith("\x1b[0m")


def test_palettes_greys_and_transparent_pixels():
    assert colours(preview(png([b"\0\0\1", b"\0\1\0"], 2, 3, bytes(RED + BLUE)))[0]) == [RED, BLUE, BLUE, RED]
    assert colours(preview(png([b"\0\x40", b"\0\x80"], 1, 0))[0]) == [(64,) * 3, (128,) * 3]
    assert colours(preview(png([b"\0\0\0\0\0", b"\0\0\0\0\xff"], 1, 6))[0]) == [(255,) * 3, (0,) * 3]
    assert colours(preview(png([b"\0\x40\xff", b"\0\x40\0"], 1, 4))[0]) == [(64,) * 3, (255,) * 3]


def test_a_large_picture_is_made_small():
    lines = preview(png([b"\0" + bytes(RED) * 640] * 480, 640, 2))
    assert (len(lines), len(colours(lines[0]))) == (18, 96)
    assert set(colours(lines[0])) == {RED}


def test_what_cannot_be_read_has_no_preview():
    good = png([b"\0" + bytes(RED) * 64] * 64, 64, 2)
    bad = {
        "cut": good[:-30],
        "bomb": png([b"\0" * 400_000] * 100, 100_000, 6),
        "deep": png([b"\0" + bytes(RED) * 64] * 64, 64, 2, depth=16),
        "text": b"<svg/>",
        "tall": good[:20] + b"\xff\xff\xff\xff" + good[24:],
    }
    began = time.thread_time()
    assert {change: lines for change, data in bad.items() if (lines := preview(data))} == {}
    assert time.thread_time() - began < 5


def test_a_picture_damaged_anywhere_has_an_empty_preview_or_some():
    good = png([b"\0" + bytes(RED) * 12] * 12, 12, 2)
    draw = random.Random(1)
    for _ in range(500):
        torn = bytearray(good)
        torn[draw.randrange(len(torn))] = draw.randrange(256)
        preview(bytes(torn))
