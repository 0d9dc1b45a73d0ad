"""The faster code for ARM: used where it fits exactly, and computes what the wheel's own does."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from local.local_kit import GUARD, SMALL, need_model
from treadle._local.runtime import cpu_code
from treadle._local.runtime.runtime import library
from treadle._local.weights import weights

SWITCH = "TREADLE_CPU_CODE"
WHEEL = "CPU : NEON = 1 | ARM_FMA = 1 | "
HERE = sys.platform == "linux" and platform.machine() == "aarch64"
ROOT = Path(__file__).resolve().parents[3]

ANSWER = f"""
import json
from treadle._local.weights import weights
from treadle._local.runtime.runtime import Options, library, serve

server = serve(Options(str(weights.find({SMALL!r})), 512, 2, 1, None), "key")
found = []
body = {{"prompt": "The capital of France is", "max_tokens": 8, "temperature": 0, "stream": True}}
server.handle_completions(json.dumps(body), lambda chunk: found.append(json.loads(chunk)) and False)
print(json.dumps([library().get_system_info(), "".join(part["choices"][0]["text"] for part in found)]))
"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Linux says of an ARM processor with dot-product instructions."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.delenv(SWITCH, raising=False)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd atomics asimddp\n\nFeatures\t: fp asimd atomics asimddp\n")
    return cpuinfo


def test_it_is_of_the_version_that_the_extra_pins():
    """Fails when xllamacpp is upgraded: then compile it again with scripts/build_cpu_code.py."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras["local"] == [f"xllamacpp=={cpu_code.OWN.version}"]
    assert cpu_code.OWN.version in cpu_code.OWN.file


def test_it_is_for_one_version_and_for_processors_whose_cores_all_have_the_instructions(arm: Path):
    assert cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL, arm)
    assert not cpu_code.fits(cpu_code.OWN, "2026.11.1", WHEEL, arm)
    assert not cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL + "DOTPROD = 1 | ", arm), (
        "built from source: it has them"
    )
    assert not cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL, arm.with_name("none"))
    arm.write_text("Features\t: fp asimd atomics asimddp\nFeatures\t: fp asimd atomics\n")
    assert not cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL, arm), "a core without"


@pytest.mark.parametrize(("system", "machine"), [("linux", "x86_64"), ("darwin", "aarch64"), ("win32", "ARM64")])
def test_other_systems_keep_the_wheels_own(arm: Path, monkeypatch: pytest.MonkeyPatch, system: str, machine: str):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert not cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL, arm)


def test_it_can_be_switched_off(arm: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SWITCH, "wheel")
    assert not cpu_code.fits(cpu_code.OWN, cpu_code.OWN.version, WHEEL, arm)


def test_it_is_unpacked_once_and_again_when_it_was_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    native = tmp_path / "xllamacpp.abi3.so"
    native.touch()
    path = cpu_code.unpacked(cpu_code.OWN, native)
    before = path.stat().st_mtime_ns
    assert sorted(file.name for file in path.parent.iterdir()) == [cpu_code.OWN.file, native.name]
    assert (path.parent / native.name).resolve() == native
    assert cpu_code.unpacked(cpu_code.OWN, native).stat().st_mtime_ns == before
    content = path.read_bytes()
    path.write_bytes(content[:1000])
    assert cpu_code.unpacked(cpu_code.OWN, native).read_bytes() == content
    with pytest.raises(OSError, match="have changed"):
        cpu_code.unpacked(msgspec.structs.replace(cpu_code.OWN, sha256="0" * 64), native)


def test_a_binding_into_which_it_cannot_be_put_stays_as_it_is(
    arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cpu_code, "fits", partial(cpu_code.fits, cpuinfo=arm))
    native = tmp_path / "xllamacpp.abi3.so"
    native.write_text("not a library")
    monkeypatch.setitem(sys.modules, "other.xllamacpp", SimpleNamespace(__file__=str(native)))
    binding = SimpleNamespace(__name__="other", __version__=cpu_code.OWN.version, get_system_info=lambda: WHEEL)
    assert cpu_code.exchange(binding) == ""


@pytest.mark.parametrize(
    ("info", "device", "fast"),
    [
        (WHEEL, "CPU", False),
        (WHEEL + "DOTPROD = 1", "CPU", True),
        ("CPU : SSE3 = 1 | AVX2 = 1", "CPU", True),
        ("CPU : SSE3 = 1 | AVX = 1", "CPU", False),
        (WHEEL, "GGML_BACKEND_DEVICE_TYPE_GPU", True),
    ],
)
def test_what_counts_as_fast(info: str, device: str, fast: bool):
    devices: list[dict[str, Any]] = [{"type": SimpleNamespace(name=device)}]
    binding = SimpleNamespace(get_system_info=lambda: info, get_device_info=lambda: devices)
    assert cpu_code.is_fast(binding) is fast


@pytest.mark.model
@GUARD
def test_a_real_model_says_the_same_with_both():
    """In processes of their own: code is exchanged once in each."""
    need_model()
    where = {"TREADLE_WEIGHTS": str(Path(weights.ensure(SMALL)).parent)}
    said: dict[str, tuple[str, str]] = {}
    for name in ("", "wheel") if HERE else ("wheel",):  # elsewhere there is only one
        env = {**os.environ, **where, SWITCH: name}
        done = subprocess.run([sys.executable, "-c", ANSWER], env=env, capture_output=True, text=True, check=True)
        info, text = msgspec.json.decode(done.stdout.splitlines()[-1], type=tuple[str, str])
        said[name] = (info, text)
        assert "ggml-cpu" not in done.stderr, "nothing is printed about it"
    assert "Paris" in said["wheel"][1]
    assert {text for _, text in said.values()} == {said["wheel"][1]}
    pinned = library().__version__ == cpu_code.OWN.version
    if HERE and pinned and re.search(r"\basimddp\b", Path("/proc/cpuinfo").read_text()):
        assert [cpu_code.FAST[0] in said[name][0] for name in ("", "wheel")] == [True, False]
