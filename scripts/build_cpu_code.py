"""Compile llama.cpp's code for ARM processors with dot-product instructions, of the pinned version:

    python3 scripts/build_cpu_code.py xllamacpp-2026.10.11549.tar.gz

The archive is the source package in the registry. Needs Linux on such a processor, g++, and an installed xllamacpp of
the same version (the environment of the tests has it). It takes a minute on two cores; what it prints at the end
belongs in `src/treadle/_local/runtime/cpu_code.py`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import lzma
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src/treadle/_local/runtime/cpu"
FLAGS = [
    *("-O3", "-fPIC", "-fopenmp", "-fvisibility=hidden", "-march=armv8.2-a+dotprod"),
    *("-Iggml/src", "-Iggml/include", "-Iggml/src/ggml-cpu", "-DNDEBUG", "-D_GNU_SOURCE", "-D_XOPEN_SOURCE=600"),
    *("-DGGML_BACKEND_DL", "-DGGML_BACKEND_BUILD", "-DGGML_BACKEND_SHARED"),
    *("-DGGML_USE_CPU_REPACK", "-DGGML_USE_LLAMAFILE", "-DGGML_USE_OPENMP"),
]
SOURCES = [
    *("ops.cpp", "ggml-cpu.c", "ggml-cpu.cpp", "repack.cpp", "hbm.cpp", "quants.c", "traits.cpp", "amx/amx.cpp"),
    *("amx/mmq.cpp", "tiled/tiled.cpp", "tiled/tiled-kernel.cpp", "binary-ops.cpp", "unary-ops.cpp", "vec.cpp"),
    *("llamafile/sgemm.cpp", "arch/arm/quants.c", "arch/arm/repack.cpp"),
]
"""As in ggml/src/ggml-cpu/CMakeLists.txt for ARM."""


def main(archive: str) -> None:
    version = Path(archive).name.removeprefix("xllamacpp-").removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as source:
            source.extractall(folder, filter="data")
        root = Path(folder) / f"xllamacpp-{version}" / "thirdparty" / "llama.cpp"
        built = link(root, [*ThreadPoolExecutor(2).map(partial(compiled, root), SOURCES)])
    name = f"ggml-cpu-{version}-aarch64-dotprod.so"
    (TARGET / f"{name}.xz").write_bytes(lzma.compress(built, preset=9 | lzma.PRESET_EXTREME))
    print(f"file={name!r}, version={version!r}, sha256={hashlib.sha256(built).hexdigest()!r}")


def compiled(root: Path, name: str) -> str:
    """The object file of a source. Paths are relative: they end up in the messages of assertions."""
    target = name.replace("/", "_") + ".o"
    compiler = ["gcc", "-std=c11"] if name.endswith(".c") else ["g++", "-std=c++17"]
    subprocess.run([*compiler, *FLAGS, "-c", f"ggml/src/ggml-cpu/{name}", "-o", target], cwd=root, check=True)
    return target


def link(root: Path, objects: list[str]) -> bytes:
    """Against the binding itself, which has the rest of ggml: there is one copy of that in a process."""
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        raise SystemExit("xllamacpp is not installed here")
    where = ["-L", str(Path(spec.origin).parent), "-l:xllamacpp.abi3.so", "-Wl,-rpath,$ORIGIN"]
    command = ["g++", "-shared", "-s", "-fopenmp", "-Wl,--no-undefined", "-o", "code.so", *objects, *where]
    subprocess.run(command, cwd=root, check=True)
    return (root / "code.so").read_bytes()


if __name__ == "__main__":
    main(*sys.argv[1:])
