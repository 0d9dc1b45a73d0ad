"""python -m training.pack ADAPTER.gguf FOLDER

Writes an adapter as it is shipped: weights with four binary digits behind the leading one, compressed with xz. That
is half of 16 bits a weight; each weight is off by at most 3 %, far less than one seed differs from the next.
Prints the SHA-256 of the file that a user's machine unpacks.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
from pathlib import Path

import gguf
import numpy as np

KEPT_BITS = 4
FRACTION_BITS = 10
"""Of a 16-bit floating-point number."""


def rounded(path: Path) -> bytes:
    """The file with its weights rounded."""
    content = bytearray(path.read_bytes())
    dropped = FRACTION_BITS - KEPT_BITS
    for tensor in gguf.GGUFReader(str(path)).tensors:
        assert tensor.tensor_type == gguf.GGMLQuantizationType.F16, f"{tensor.name} is {tensor.tensor_type.name}"
        start, size = int(tensor.data_offset), int(tensor.n_bytes)
        bits = np.frombuffer(content, np.uint16, size // 2, start).astype(np.uint32)
        bits = (bits + (1 << (dropped - 1))) >> dropped << dropped
        content[start : start + size] = bits.astype(np.uint16).tobytes()
    return bytes(content)


def main() -> None:
    source, folder = map(Path, sys.argv[1:])
    content = rounded(source)
    packed = lzma.compress(content, preset=6)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{source.stem}.gguf.xz").write_bytes(packed)
    print(f"{source.stem}: {hashlib.sha256(content).hexdigest()}, {len(packed):,} of {len(content):,} bytes")


if __name__ == "__main__":
    main()
