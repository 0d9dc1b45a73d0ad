"""Where skips are errors (CI=true or TREADLE_NO_SKIPS=1), a skipped test fails and says what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ALLOWED_SKIPS
from programs import python

OURS = ("CI", "TREADLE_NO_SKIPS", "TREADLE_LONG_TESTS", "TREADLE_COVERAGE")
TESTS = Path(__file__).resolve().parent
SKIPPING = """
import pytest

@pytest.fixture
def browser():
    pytest.skip("there is no browser")

def test_with_a_fixture(browser): ...

@pytest.mark.skipif(True, reason="there is no compiler")
@pytest.mark.parametrize("n", [1, 2])
def test_marked(n): ...

@pytest.mark.xfail(strict=True)
def test_that_fails_as_expected():
    assert 0

@pytest.mark.skip(reason="file modes do not bind root")
def test_an_unreadable_script(): ...

def test_that_passes(): ...
"""
WHOLE_FILE = """
import pytest
pytest.importorskip("no_such_package")
def test_never_seen(): ...
"""


def run_pytest(folder: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(TESTS / "conftest.py", folder)
    shutil.copy(TESTS / "workers.py", folder)
    (folder / "programs.py").write_text("def start_server(): ...\ndef python(): ...\n")  # these tests start none
    clean = {name: value for name, value in os.environ.items() if name not in OURS}
    clean = {name: value for name, value in clean.items() if not name.startswith("PYTEST_")}
    clean["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing them all takes seconds
    command = [*python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    return subprocess.run([*command, *options], cwd=folder, env={**clean, **env}, capture_output=True, text=True)


@pytest.mark.parametrize(("workers", "variable"), [(0, {"CI": "true"}), (2, {"TREADLE_NO_SKIPS": "1"})])
def test_a_skipped_test_fails_and_says_what_is_missing(tmp_path: Path, workers: int, variable: dict[str, str]):
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    done = run_pytest(tmp_path, "--workers", str(workers), **variable)
    assert done.returncode == 1, done.stdout
    assert "test_skipping.py::test_with_a_fixture was skipped: there is no browser" in done.stdout
    assert "test_skipping.py::test_marked[2] was skipped: there is no compiler" in done.stdout
    assert "1 passed, 1 skipped, 1 xfailed, 3 errors" in done.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_a_skipped_file_fails(tmp_path: Path, workers: int):
    (tmp_path / "test_whole_file.py").write_text(WHOLE_FILE)
    done = run_pytest(tmp_path, "--workers", str(workers), CI="true")
    assert done.returncode != 0
    assert "test_whole_file.py was skipped: could not import 'no_such_package'" in done.stdout


ENDINGS = """
import os
import pytest

@pytest.fixture(scope="session")
def kept():
    yield
    with open("torn_down", "w") as file:
        file.write("yes")

def test_one(kept, tmp_path): ...
def test_that_ends_its_process(): os._exit(3)
def test_never_run(): ...
"""


def test_a_worker_that_ends_fails_the_test_it_was_in(tmp_path: Path):
    (tmp_path / "test_a.py").write_text(ENDINGS)
    (tmp_path / "test_b.py").write_text(ENDINGS.replace("os._exit(3)", "assert 0"))
    done = run_pytest(tmp_path, "--workers", "2")
    assert done.returncode == 1, done.stdout
    assert "the worker ended with 3 in this test" in done.stdout
    assert "test_a.py::test_that_ends_its_process" in done.stdout
    assert "2 failed, 3 passed" in done.stdout
    assert (tmp_path / "torn_down").exists()


def test_no_file_is_begun_after_the_failure_that_ends_the_session(tmp_path: Path):
    for name in ("test_a.py", "test_b.py", "test_c.py"):
        (tmp_path / name).write_text("def test_it(): assert 0")
    done = run_pytest(tmp_path, "--workers", "1", "-x")
    assert "stopping after" in done.stdout, done.stdout
    assert "test_c" not in done.stdout


def test_elsewhere_a_skip_stays_a_skip(tmp_path: Path):
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    (tmp_path / "test_whole_file.py").write_text(WHOLE_FILE)
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 5 skipped, 1 xfailed" in done.stdout


LONG = """
import pytest

@pytest.mark.long
def test_of_minutes():
    assert 0

def test_of_seconds(): ...
"""


@pytest.mark.parametrize(
    ("asked", "options", "outcome"),
    [
        ({}, [], "1 passed, 1 deselected"),
        ({"TREADLE_LONG_TESTS": "1"}, [], "1 failed, 1 passed"),
        ({}, ["-m", "long"], "1 failed, 1 deselected"),
    ],
)
def test_what_takes_minutes_is_left_out_unless_it_is_asked_for(
    tmp_path: Path, asked: dict[str, str], options: list[str], outcome: str
):
    (tmp_path / "test_long.py").write_text(LONG)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long: takes minutes\n")
    done = run_pytest(tmp_path, *options, CI="true", **asked)
    assert outcome in done.stdout, done.stdout


def test_the_allow_list_names_tests_that_exist():
    texts = (path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    functions = {name for text in texts for name in re.findall(r"^ *(?:async )?def (test_\w+)\(", text, re.MULTILINE)}
    assert set(ALLOWED_SKIPS) <= functions
