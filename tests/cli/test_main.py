"""Starting quickly, and what the program says about itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.terminal import Inside, environment, treadle


def test_debug_shows_where(home: Path):
    done = treadle(home, "run", "q", "-m", "nonsense", TREADLE_DEBUG="1")
    assert "Traceback" in done.err
    assert "UnknownModelError" in done.err


@pytest.mark.parametrize(
    ("words", "close"),
    [
        (("rn",), "run"),
        (("runs", "lst"), "list"),
        (("kb", "serach"), "search"),
        (("run", "hi", "--modle", "x"), "--model"),
        (("runs", "list", "--jounal=x"), "--journal"),
    ],
)
def test_a_mistyped_word_names_the_one_that_was_meant(inside: Inside, words: tuple[str, ...], close: str):
    done = inside(*words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"did you mean {close!r}?" in done.err


@pytest.mark.parametrize("command", [("runs", "list"), ("run", "hi", "-m", "scripted:x"), ("report",)])
def test_a_mistyped_journal_creates_nothing(inside: Inside, tmp_path: Path, command: tuple[str, ...]):
    done = inside(*command, "--journal", str(tmp_path / "nowhere" / "journal.db"))
    assert (done.code, "there is no folder" in done.err) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_help_is_quick_and_imports_nothing_heavy(home: Path):
    code = (
        "import sys; from treadle._cli.main import main\n"
        "code = main(['--help'])\n"
        "heavy = {'msgspec', 'asyncio', 'rich', 'aiohttp', 'sqlite3', 'treadle._engine', 'treadle._flows'}\n"
        "assert code == 0 and not heavy & set(sys.modules), (code, heavy & set(sys.modules))\n"
        "print(len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(home))
    assert done.returncode == 0, done.stderr
    assert int(done.stderr) < 150, "the time to start is the number of modules that are imported"


def test_help_says_what_scripts_need(home: Path, inside: Inside):
    help_text = inside("--help").out
    for line in ("run ", "chat ", "runs ", "serve ", "0    an answer", "3    stopped", "4    paused", "130  cancelled"):
        assert line in help_text
    assert inside().code == 2
    assert inside("nonsense").code == 2
    assert "--max-cost" in inside("run", "--help").out
    assert "explain" in inside("runs", "--help").out
    assert inside("--version").out.startswith("treadle 0.")
    assert inside("version").out.startswith("treadle 0.")


def test_the_program_is_installed_under_its_name():
    program = shutil.which("treadle", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("treadle is not installed in this environment, only importable")
    assert subprocess.run([program, "version"], capture_output=True, text=True).stdout.startswith("treadle 0.")


def test_a_closed_pipe_is_no_error(home: Path):
    command = f"{sys.executable} -m treadle._cli.main tools | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment(home), cwd=home)
    assert done.stdout.startswith("TOOL")
    assert done.stderr == ""
