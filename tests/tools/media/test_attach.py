"""Paths, bytes and addresses as parts of a message."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest

from kit import row
from treadle._tools.media import attach as module
from treadle._tools.media.attach import attach, checked, mime_of
from treadle._types.errors import ConfigError
from treadle._types.messages import AudioPart, FilePart, ImagePart

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
WAV = b"RIFF\x24\0\0\0WAVEfmt "
PDF = b"%PDF-1.4\n"


def test_the_type_is_found_out():
    for data, name, mime in (
        (PNG, "", "image/png"),
        (PNG, "photo.jpg", "image/png"),
        (WAV, "", "audio/wav"),
        (PDF, "", "application/pdf"),
        (b"\xff\xd8\xff\xe0", "", "image/jpeg"),
        (b"RIFF....WEBPVP8 ", "", "image/webp"),
        (b"ID3\x04", "", "audio/mpeg"),
        (b"a,b\n1,2\n", "table.csv", "text/csv"),
        (b"# title", "notes.md", "text/markdown"),
        (b"{}", "x.json", "application/json"),
        (b"plain", "", "text/plain"),
        (b"not a picture", "fake.png", "text/plain"),
        ("Zoë ".encode() * 2048, "", "text/plain"),
        (b"\0\1\2", "", "application/octet-stream"),
    ):
        assert mime_of(data, name) == mime, data


def test_a_file_by_its_path(tmp_path: Path):
    path = tmp_path / "scan.png"
    path.write_bytes(PNG)
    expected = ImagePart(data=b64encode(PNG).decode(), mime="image/png", name="scan.png")
    assert attach(path) == attach(str(path)) == expected


def test_bytes_and_addresses():
    assert attach(WAV, name="a.wav") == AudioPart(data=b64encode(WAV).decode(), mime="audio/wav", name="a.wav")
    url = "https://example.org/docs/My%20report.pdf?x=1"
    assert attach(url) == FilePart(url=url, mime="application/pdf", name="My report.pdf")
    assert attach("https://example.org/a.png") == ImagePart(url="https://example.org/a.png", name="a.png")
    inline = attach(f"data:image/gif;base64,{b64encode(b'GIF8').decode()}")
    assert inline == ImagePart(data=b64encode(b"GIF8").decode(), mime="image/gif")


def test_only_files_within_the_folder(tmp_path: Path):
    inside, outside = tmp_path / "in", tmp_path / "secret.txt"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "ok.txt").write_text("fine")
    (inside / "link.txt").symlink_to(outside)
    assert attach(inside / "ok.txt", within=inside).name == "ok.txt"
    for path in (inside / "link.txt", inside / ".." / "secret.txt", outside):
        with pytest.raises(ConfigError, match="outside of"):
            attach(path, within=inside)


def test_what_is_no_file_is_refused_and_nothing_waits(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "not a file"), (tmp_path, "folder"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(ConfigError, match=words):
            attach(path)
    with pytest.raises(ConfigError, match="not a file"):
        attach("/dev/zero")


def test_sizes_are_checked_before_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(module.MAX_BYTES + 1)
    with pytest.raises(ConfigError, match=r"has 32.0 MB, and at most 32 MB can be attached: make it smaller"):
        attach(large)
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    with pytest.raises(ConfigError, match="can be attached"):
        attach(b"x" * 11)
    with pytest.raises(ConfigError, match="can be attached"):
        checked(ImagePart(data=b64encode(b"x" * 30).decode()))
    with pytest.raises(ConfigError, match="is empty"):
        attach(b"")


def test_parts_that_cannot_be_used():
    for part, words in (
        (ImagePart(), "has no content"),
        (ImagePart(url="https://x", data="aGk="), "url and data: give its content in one way"),
        (ImagePart(url="file:///etc/passwd"), "only http and https"),
        (ImagePart(url="/etc/passwd"), "only http and https"),
        (ImagePart(data="*not base64*"), "not base64"),
        (ImagePart(url="data:text/plain,hello"), "must be base64"),
    ):
        with row(part, words), pytest.raises(ConfigError, match=words):
            checked(part)


def test_base64_is_made_canonical_and_a_reference_is_no_content():
    assert checked(ImagePart(data="aG\nk=", blob="0" * 64)) == ImagePart(data="aGk=")
