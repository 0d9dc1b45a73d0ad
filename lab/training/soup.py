"""python -m training.soup OUT.gguf ONE.gguf TWO.gguf ...

One adapter in place of several: the mean of what they change, as near as the same rank can come to it. Seeds differ
in what they get wrong; their mean often gets wrong less than any of them, and costs no more than one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training.adapter_file import AdapterFile, Array, read, write


def mean(adapters: Sequence[AdapterFile], rank: int = 0) -> AdapterFile:
    """The mean of the changes. `rank`: that of the first, unless given."""
    first = adapters[0]
    for other in adapters[1:]:
        if other.tensors.keys() != first.tensors.keys() or other.texts.get("treadle.format") != first.texts.get(
            "treadle.format"
        ):
            raise ValueError("these adapters are for different models or forms of prompts")
    tensors: dict[str, Array] = {}
    for projection in first.projections:
        a, b = _joined(adapters, projection)
        # The singular values of b @ a, by way of a small matrix: b and a are thin.
        left, core_left = np.linalg.qr(b)
        right, core_right = np.linalg.qr(a.T)
        u, values, v = np.linalg.svd(core_left @ core_right.T)
        kept = min(rank or len(first.parts(projection)[0]), len(values))
        root = np.sqrt(values[:kept])
        scale = first.alpha / kept
        tensors[f"{projection}.lora_a"] = ((right @ v[:kept].T) * root).T.astype(np.float16)
        tensors[f"{projection}.lora_b"] = ((left @ u[:, :kept]) * (root / scale)).astype(np.float16)
    texts = {**first.texts, "treadle.seed": "+".join(one.texts.get("treadle.seed", "?") for one in adapters)}
    return AdapterFile(texts, first.alpha, tensors)


def _joined(adapters: Sequence[AdapterFile], projection: str) -> tuple[Array, Array]:
    """Two matrices whose product is the mean of the changes, exactly."""
    parts = [one.parts(projection) for one in adapters]
    scales = [one.alpha / len(a) / len(adapters) for one, (a, _) in zip(adapters, parts, strict=True)]
    b = np.concatenate([b.astype(np.float64) * scale for (_, b), scale in zip(parts, scales, strict=True)], 1)
    return np.concatenate([a.astype(np.float64) for a, _ in parts]), b


def lost(adapters: Sequence[AdapterFile], made: AdapterFile) -> float:
    """The part of the mean change that the rank could not hold, 0 to 1."""
    missing = whole = 0.0
    for projection in made.projections:
        a, b = _joined(adapters, projection)
        kept_a, kept_b = _joined([made], projection)
        missing += _square(np.concatenate([a, kept_a]), np.concatenate([b, -kept_b], 1))
        whole += _square(a, b)
    return max(0.0, missing / whole) if whole else 0.0


def _square(a: Array, b: Array) -> float:
    """The sum of the squares of b @ a, without that product: it is large, and a and b are thin."""
    return float(((b.T @ b) * (a @ a.T)).sum())


def main() -> None:
    out, *paths = map(Path, sys.argv[1:])
    adapters = [read(path) for path in paths]
    made = mean(adapters)
    write(out, made)
    print(f"{out.name}: the mean of {len(adapters)}, {lost(adapters, made):.1%} of the change lost")


if __name__ == "__main__":
    main()
