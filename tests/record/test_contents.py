"""What was compressed on the way can be read afterwards."""

from __future__ import annotations

import gzip
import zlib

import pytest

from treadle._record.contents import UnreadableError, in_slices, unpacked, whole
from treadle._record.exchange import MAX_STORED

TEXT = b"data: one\n\ndata: two\n\n" * 50


def cut(data: bytes, size: int = 13) -> list[bytes]:
    return [data[index : index + size] for index in range(0, len(data), size)]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:]), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (zlib.compress(TEXT)[2:-4], "Deflate"),
        (gzip.compress(zlib.compress(TEXT)), "deflate, gzip"),
    ],
    ids=["none", "identity", "gzip", "two members", "deflate", "raw deflate", "two"],
)
def test_encodings(data: bytes, encoding: str):
    assert whole(cut(data), encoding) == TEXT


def test_a_stream_is_readable_as_far_as_it_came():
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(b"data: one\n\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    second = packer.compress(b"data: two\n\n") + packer.flush()
    assert list(unpacked([first, second], "gzip")) == [b"data: one\n\n", b"data: two\n\n"]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [(b"no gzip", "gzip"), (TEXT, "odd"), (gzip.compress(b"0" * (4 * MAX_STORED + 1)), "gzip")],
    ids=["not gzip", "unknown", "too long"],
)
def test_what_cannot_be_read_is_said(data: bytes, encoding: str):
    with pytest.raises(UnreadableError):
        whole([data], encoding)


def test_a_decoder_without_a_limit_is_stopped_soon():
    given: list[bytes] = []

    def decode(piece: bytes) -> bytes:
        given.append(piece)
        return bytes(MAX_STORED) if len(given) < 6 else pytest.fail("it was asked for more")

    with pytest.raises(UnreadableError, match="too large"):
        in_slices(decode)(bytes(10_000))
    assert in_slices(bytes.lower)(b"ABC" * 100) == b"abc" * 100
