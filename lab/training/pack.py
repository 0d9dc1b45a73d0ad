"""python -m training.pack ADAPTER.gguf FOLDER

Writes an adapter as it is shipped: weights with four binary digits behind the leading one, compressed with xz. That
is half of 16 bits a weight; each weight is off by at most 3 %, far less than one seed differs from the next.
Prints the SHA-256 of the file that a user's machine unpacks.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
import tempfile
from pathlib import Path

import numpy as np

from training.adapter_file import AdapterFile, Array, read, write

KEPT_BITS = 4
FRACTION_BITS = 10
"""Of a 16-bit floating-point number."""


def rounded(file: AdapterFile) -> AdapterFile:
    return file._replace(tensors={name: _rounded(tensor) for name, tensor in file.tensors.items()})


def _rounded(tensor: Array) -> Array:
    dropped = FRACTION_BITS - KEPT_BITS
    bits = tensor.astype(np.float16).view(np.uint16).astype(np.uint32)
    return ((bits + (1 << (dropped - 1))) >> dropped << dropped).astype(np.uint16).view(np.float16)


def pack(source: Path, folder: Path) -> tuple[Path, str]:
    """The compressed file, and the hash of what it unpacks to."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder / f"{source.stem}.gguf.xz"
    with tempfile.TemporaryDirectory(dir=folder) as aside:  # another process may pack the same
        plain, part = Path(aside) / "plain", Path(aside) / "packed"
        write(plain, rounded(read(source)))
        content = plain.read_bytes()
        part.write_bytes(lzma.compress(content, preset=6))
        part.replace(packed)
    return packed, hashlib.sha256(content).hexdigest()


def main() -> None:
    source, folder = map(Path, sys.argv[1:])
    packed, digest = pack(source, folder)
    print(f"{source.stem}: {digest}, {packed.stat().st_size:,} of {source.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
