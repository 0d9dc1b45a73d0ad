"""What is said while there is nothing to show yet."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.terminal import Terminal, environment, script, start, treadle, until
from treadle._cli.display import notice as module
from treadle._cli.display.notice import Notice, Waiting
from waiting import eventually


class Screen(io.StringIO):
    """A terminal whose lines are overwritten from the left."""

    def isatty(self) -> bool:
        return True

    @property
    def line(self) -> str:
        shown = ""
        for piece in self.getvalue().split("\r"):
            shown = piece + shown[len(piece) :]
        return shown.rstrip()


def test_a_line_is_replaced_and_erased(monkeypatch: pytest.MonkeyPatch):
    screen, notice = Screen(), Notice()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "44")
    notice.show("loading a large model …")
    assert screen.line == "loading a large model …"
    notice.show("starting …")
    assert screen.line == "starting …"
    notice.show("x" * 100)
    assert screen.line == "x" * 43, "a line that wraps could not be erased"
    notice.clear()
    assert screen.line == ""
    before = screen.getvalue()
    notice.clear()
    assert screen.getvalue() == before


def test_no_line_where_nobody_looks(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    notice = Notice()
    notice.show("starting …")
    notice.clear()
    with Waiting("loading"):
        pass
    assert stream.getvalue() == "", "what is quick says nothing in a pipe"


@pytest.mark.parametrize("quiet", [True, False])
def test_what_takes_long_is_said_in_a_pipe(monkeypatch: pytest.MonkeyPatch, quiet: bool):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.0)
    with Waiting("loading the model", quiet=quiet):
        if not quiet:
            eventually(lambda: "loading the model\n" in stream.getvalue(), "the line")
    assert bool(stream.getvalue()) is not quiet
    assert not [thread for thread in threading.enumerate() if thread.name == "treadle-waiting"]


def test_the_first_line_comes_before_anything_large_is_imported(home: Path):
    """Within 100 ms: the time until then is the number of modules that are imported."""
    code = """
import sys
class Screen:
    def isatty(self): return True
    def flush(self): pass
    def fileno(self): return 2
    def write(self, text):
        if "starting" in text:
            heavy = {"asyncio", "msgspec", "aiohttp", "rich", "sqlite3", "logging", "treadle._engine"}
            print(len(sys.modules), sorted(heavy & {*sys.modules}))
            raise SystemExit(0)
sys.stderr = Screen()
from treadle._cli.main import main
main(sys.argv[1:])
"""
    for command in (("run", "q", "-m", "scripted:x"), ("chat", "-m", "scripted:x")):
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, env=environment(home), cwd=home
        )
        count, _, heavy = done.stdout.strip().partition(" ")
        assert (heavy, int(count) < 130) == ("[]", True), done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_it_is_gone_when_the_program_has_something_to_say(home: Path):
    with Terminal(home, "run", "q", "-m", script(home, "an answer")) as screen:
        assert screen.end() == 0
    assert screen.text.startswith("starting …\r")
    assert f"\r{' ' * 10}\rmodel: scripted:" in screen.text
    assert "starting" not in treadle(home, "run", "q", "-m", script(home, "an answer")).err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("command", [("runs", "list", "--ids"), ("version",), ("runs", "show", "nothing")])
def test_nothing_is_left_of_it(home: Path, command: tuple[str, ...]):
    """However short what follows is: the line is erased, or was never there."""
    with Terminal(home, *command) as screen:
        screen.end()
    text = screen.text
    assert "starting" not in text or f"starting …\r{' ' * 10}\r" in text


def test_a_silent_pipe_is_said(home: Path):
    arguments = ("run", "sum it up", "-m", script(home, "an answer"))
    with start(home, *arguments, stdin=subprocess.PIPE) as process:
        until(process, "waiting for standard input")
        out, _ = process.communicate("late")
    assert out == "an answer\n"
    assert "late" in treadle(home, "runs", "show", "last", "--json").out
