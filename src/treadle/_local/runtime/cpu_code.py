"""llama.cpp's arithmetic for this processor, where the wheel's own does without instructions that it has.

The wheel of xllamacpp for ARM is compiled for the oldest 64-bit processors and reads a prompt three to four times
slower than code with dot-product instructions. llama.cpp keeps its arithmetic in a table of backends, so that one part
can be exchanged: the package has this part of the same version, compiled by `scripts/build_cpu_code.py`, and puts it in
the place of the wheel's before a model is loaded. Wherever something does not fit, the wheel's own stays in use.
"""

from __future__ import annotations

import ctypes
import hashlib
import lzma
import os
import platform
import secrets
import sys
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from treadle._local.weights.files import is_whole, unpack
from treadle._safety.logs import get_logger
from treadle._types.paths import cache_folder

log = get_logger(__name__)
FAST = ("DOTPROD = 1", "MATMUL_INT8 = 1", "AVX2 = 1")
"""What llama.cpp says of itself where its code is fast for small models: any of these."""
_lock = threading.Lock()
_in_use: dict[str, str] = {}
"""The file of a loaded binding -> the name of the code that was put into it; empty for the wheel's own."""


class Code(Struct, frozen=True):
    file: str
    version: str
    """Of xllamacpp: the layout of what both sides share is that of exactly this one."""
    sha256: str
    needs: tuple[str, ...] = ("asimddp", "atomics")
    """Instructions, as Linux names them."""


OWN = Code(
    file="ggml-cpu-2026.10.11549-aarch64-dotprod.so",
    version="2026.10.11549",
    sha256="5d8155842736cbb01228c3e6bb11f9a478b114a1ff1964728b5acd858ac8f40c",
)


def is_fast(binding: Any) -> bool:
    """Return whether llama.cpp has code for the instructions that make small models fast, or a GPU."""
    devices = {str(device["type"].name) for device in binding.get_device_info()}
    return any(fact in str(binding.get_system_info()) for fact in FAST) or any("GPU" in device for device in devices)


def exchange(binding: Any) -> str:
    """Give the binding the faster code if there is some for this processor. The name of what is in use; empty: the
    wheel's own. Once per process, and before any model is loaded."""
    native = getattr(sys.modules.get(f"{binding.__name__}.xllamacpp"), "__file__", None) or ""
    with _lock:
        if native not in _in_use:
            _in_use[native] = ""
            try:
                if fits(OWN, str(binding.__version__), str(binding.get_system_info())):
                    _put(ctypes.CDLL(native), ctypes.CDLL(str(unpacked(OWN, Path(native)))))
                    _in_use[native] = OWN.file
            except (OSError, AttributeError, lzma.LZMAError) as error:
                log.debug("the wheel's own code is used: %s", error)
        return _in_use[native]


def fits(code: Code, version: str, system_info: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether a code is for this version of the binding, and for instructions that the processor has and the
    wheel does not use."""
    if sys.platform != "linux" or platform.machine() != "aarch64" or os.environ.get("TREADLE_CPU_CODE") == "wheel":
        return False
    return version == code.version and FAST[0] not in system_info and set(code.needs) <= _instructions(cpuinfo)


def _instructions(cpuinfo: Path) -> set[str]:
    """Those that every core has."""
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return set()
    found = [set(line.partition(":")[2].split()) for line in lines if line.startswith("Features")]
    return set[str].intersection(*found) if found else set()


def unpacked(code: Code, native: Path) -> Path:
    """The library in the user's cache, beside a link to the binding: it takes the rest of llama.cpp from there."""
    home = hashlib.sha256(os.fsencode(native.resolve())).hexdigest()[:16]
    folder = cache_folder() / "cpu" / home
    path = folder / code.file
    if not is_whole(path, code.sha256):
        unpack(files("treadle._local.runtime") / "cpu" / f"{code.file}.xz", path, code.sha256)
    link = folder / native.name
    if not link.exists():
        part = link.with_name(f"{link.name}.{secrets.token_hex(4)}")
        part.symlink_to(native.resolve())
        part.replace(link)
    return path


def _put(ggml: ctypes.CDLL, code: ctypes.CDLL) -> None:
    """Register the new code and take the old one out, in this order: there is always one."""
    for function in (code.ggml_backend_init, ggml.ggml_backend_reg_by_name):
        function.restype = ctypes.POINTER(ctypes.c_int)
    old, new = ggml.ggml_backend_reg_by_name(b"CPU"), code.ggml_backend_init()
    if not old or not new or old[0] != new[0]:  # both begin with the version of the interface
        raise OSError("the two sides of llama.cpp do not fit together")
    register, unload = ggml.ggml_backend_register, ggml.ggml_backend_unload
    register.restype = unload.restype = None
    register(new)
    unload(old)
