"""`py.typed` from outside: users' programs in strict mode, in a project of their own, against the installed package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import aiohttp
import msgspec
import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "user_program.py"
MISTAKES = "typed_programs.py"
NAMES = (PROGRAM.name, MISTAKES)
SOURCE = HERE.parents[1] / "src"


Errors = dict[str, dict[int, list[str]]]
"""What a checker finds, by file and line."""


def pyright(folder: Path) -> Errors:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "reportUnusedCoroutine": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings | {"extraPaths": [str(SOURCE)]}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, *NAMES], cwd=folder, capture_output=True, text=True, timeout=900)
    errors: Errors = {name: {} for name in NAMES}
    for item in json.loads(done.stdout)["generalDiagnostics"]:
        line = item["range"]["start"]["line"] + 1
        errors[Path(item["file"]).name].setdefault(line, []).append(item["message"])
    return errors


def mypy(folder: Path) -> Errors:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--no-error-summary", "--hide-error-context"]
    command += ["--python-version", "3.11", "--follow-imports", "silent", "--no-site-packages"]
    core = folder / "core"  # what the package needs; all that this environment has takes three times as long to read
    core.mkdir()
    for package in (aiohttp, msgspec):
        (core / package.__name__).symlink_to(Path(package.__file__).parent)
    environment = os.environ | {"MYPYPATH": f"{SOURCE}{os.pathsep}{core}"}
    done = subprocess.run([*command, *NAMES], cwd=folder, capture_output=True, text=True, timeout=900, env=environment)
    errors: Errors = {name: {} for name in NAMES}
    for found in re.finditer(r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.MULTILINE):
        errors[found[1]].setdefault(int(found[2]), []).append(found[3])
    assert any(errors.values()), done.stdout + done.stderr
    return errors


@pytest.fixture(scope="module", params=[pyright, mypy], ids=lambda check: check.__name__)
def errors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Errors:
    """Both programs in one go: most of the time goes into reading the library."""
    folder = tmp_path_factory.mktemp("project")
    for name in NAMES:
        shutil.copy(HERE / name, folder)
    return request.param(folder)


@pytest.mark.slow
def test_a_users_program_is_typed(errors: Errors):
    assert errors[PROGRAM.name] == {}


@pytest.mark.slow
def test_mistakes_are_found_and_nothing_else(errors: Errors):
    """Without `py.typed`, or with `Any` where a type could be, the marked lines would pass."""
    lines = (HERE / MISTAKES).read_text("utf-8").splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "# wrong: " in line}
    found = errors[MISTAKES]
    assert len(expected) >= 15
    assert {line: text for line, text in found.items() if line not in expected} == {}
    assert [lines[number - 1] for number in sorted(expected - found.keys())] == []


def test_the_program_runs(tmp_path: Path):
    done = subprocess.run([sys.executable, str(PROGRAM)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Offer(item='lamp', dollars=10)" in done.stdout
