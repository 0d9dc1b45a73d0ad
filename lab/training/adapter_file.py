"""Adapters as GGUF files: what llama.cpp loads, read and written with numpy alone."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ALIGNMENT = 32
TEXT, FLOAT32, UINT32 = 8, 6, 4
"""Numbers that GGUF has for the types of metadata."""
KINDS: dict[int, Any] = {0: np.float32, 1: np.float16}
"""Types of tensors that an adapter may have, by their number."""
ARCHITECTURE, ALPHA = "general.architecture", "adapter.lora.alpha"

Array = np.ndarray[Any, np.dtype[Any]]


class AdapterFile(NamedTuple):
    texts: dict[str, str]
    alpha: float
    tensors: dict[str, Array]
    """`NAME.lora_a` has a row for each dimension of its rank, `NAME.lora_b` a column."""

    @property
    def projections(self) -> list[str]:
        return [name.removesuffix(".lora_a") for name in self.tensors if name.endswith(".lora_a")]

    def parts(self, projection: str) -> tuple[Array, Array]:
        return self.tensors[f"{projection}.lora_a"], self.tensors[f"{projection}.lora_b"]

    def change(self, projection: str) -> Array:
        """What is added to the weights of a projection."""
        a, b = (part.astype(np.float32) for part in self.parts(projection))
        return b @ a * (self.alpha / len(a))


def described(architecture: str, name: str, notes: dict[str, str]) -> dict[str, str]:
    """The texts of an adapter's metadata. The architecture has to be the first of all keys."""
    return {
        ARCHITECTURE: architecture,
        "general.type": "adapter",
        "adapter.type": "lora",
        "general.name": name,
        **{f"treadle.{key}": value for key, value in notes.items()},
    }


def write(path: Path, file: AdapterFile) -> None:
    """Whole or not at all: an adapter that is being written is not taken for one that is finished."""
    keys = [_text(key) + struct.pack("<I", TEXT) + _text(value) for key, value in file.texts.items()]
    keys.append(_text(ALPHA) + struct.pack("<If", FLOAT32, file.alpha))
    keys.append(_text("general.alignment") + struct.pack("<II", UINT32, ALIGNMENT))
    numbers = {np.dtype(kind): number for number, kind in KINDS.items()}
    infos, data = b"", bytearray()
    for name, tensor in file.tensors.items():
        rows, columns = tensor.shape
        infos += _text(name) + struct.pack("<IQQIQ", 2, columns, rows, numbers[tensor.dtype], len(data))
        data += np.ascontiguousarray(tensor).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(file.tensors), len(keys)) + b"".join(keys) + infos
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
    part.replace(path)


def read(path: Path) -> AdapterFile:
    content = path.read_bytes()
    magic, _, tensor_count, key_count = struct.unpack_from("<4sIQQ", content)
    if magic != b"GGUF":
        raise ValueError(f"{path} is no GGUF file")
    at, texts, alpha = 24, dict[str, str](), 0.0
    for _ in range(key_count):
        key, at = _read_text(content, at)
        (kind,) = struct.unpack_from("<I", content, at)
        at += 4
        if kind == TEXT:
            texts[key], at = _read_text(content, at)
        elif kind in (FLOAT32, UINT32):
            (value,) = struct.unpack_from("<f" if kind == FLOAT32 else "<I", content, at)
            at += 4
            alpha = float(value) if key == ALPHA else alpha
        else:
            raise ValueError(f"{path}: {key} has a type that adapters do not have ({kind})")
    infos: list[tuple[str, int, int, int, int]] = []
    for _ in range(tensor_count):
        name, at = _read_text(content, at)
        dimensions, columns, rows, kind, offset = struct.unpack_from("<IQQIQ", content, at)
        if dimensions != 2 or kind not in KINDS:
            raise ValueError(f"{path}: {name} is no matrix of 16 or 32 bits")
        infos.append((name, columns, rows, kind, offset))
        at += 32
    start = at + -at % ALIGNMENT
    tensors = {
        name: np.frombuffer(content, KINDS[kind], columns * rows, start + offset).reshape(rows, columns)
        for name, columns, rows, kind, offset in infos
    }
    return AdapterFile(texts, alpha, tensors)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _read_text(content: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", content, at)
    return content[at + 8 : at + 8 + length].decode(), at + 8 + length
