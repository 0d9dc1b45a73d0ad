"""The size in a GGUF file's metadata."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from treadle._local.weights.gguf import parameters_of


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def header(*keys: bytes, version: int = 3, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, 0, len(keys)) + b"".join(keys)


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def strings(key: str, *values: str) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


NAME = string("general.name", "mine")
LABEL = string("general.size_label", "1.5B")


@pytest.mark.parametrize(
    ("data", "billions"),
    [
        (header(NAME, number("general.file_type", 3), LABEL), 1.5),
        (header(NAME, string("general.size_label", "8x7B")), 56),
        (header(NAME, string("general.size_label", "135M")), 0.135),
        (header(NAME, string("general.size_label", "large")), None),
        (header(NAME), None),
        (header(strings("tokenizer.ggml.tokens", "a", "b"), LABEL), None),
        (header(LABEL, version=1), None),
        (header(LABEL, magic=b"ABCD"), None),
        (header(NAME, LABEL)[:60], None),
        (header(text("a") + struct.pack("<IQ", 8, 2**64 - 1), LABEL), None),
        (b"", None),
    ],
    ids=[
        "label",
        "experts",
        "millions",
        "no size",
        "no label",
        "after lists",
        "version 1",
        "not GGUF",
        "cut",
        "huge length",
        "empty",
    ],
)
def test_the_label_of_the_publisher(data: bytes, billions: float | None, tmp_path: Path):
    path = tmp_path / "mine.gguf"
    path.write_bytes(data)
    assert parameters_of(path) == billions


def test_without_a_label_the_file_name_says_it(tmp_path: Path):
    path = tmp_path / "mine-3b.gguf"
    assert parameters_of(path) == 3
    path.write_bytes(header(NAME))
    assert parameters_of(path) == 3
    path.write_bytes(header(LABEL))
    assert parameters_of(path) == 1.5, "the publisher knows better than the name of the file"


def test_local_models_know_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    from treadle import LocalModel

    assert LocalModel("qwen2.5-coder-1.5b").profile.parameters == 1.5
    assert LocalModel("qwen2.5-coder-1.5b").profile.small
    path = tmp_path / "mine.gguf"
    path.write_bytes(header(NAME, string("general.size_label", "7B")))
    assert LocalModel(path).profile.parameters == 7
    assert LocalModel(tmp_path / "none-7b.gguf").profile.parameters == 7
    assert LocalModel(tmp_path / "none.gguf").profile.parameters is None
