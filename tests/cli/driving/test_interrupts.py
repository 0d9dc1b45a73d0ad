"""Ctrl-C at any moment: the work stops, the loop stays usable, the exit code is the right one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from cli.terminal import Terminal, call, interrupt, script, start, treadle, until
from processes import uninterruptible
from treadle._cli.driving import interrupts
from treadle._cli.driving.interrupts import HoldBack, RaiseOnce, run_async
from waiting import GUARD_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent there")
TRACED = {asyncio.runners.__file__, asyncio.base_events.__file__, interrupts.__file__}


class Finger:
    """Presses Ctrl-C when the code of the event loop, or ours around it, reaches its n-th line."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.seen = 0
        self._before: Any = None

    def __enter__(self) -> Finger:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.line:
                os.kill(os.getpid(), signal.SIGINT)
        return self._trace


async def work() -> str:
    await asyncio.sleep(0)
    return "done"


def outcome(runner: asyncio.Runner | None, line: int) -> tuple[str, bool]:
    """What comes of the work when Ctrl-C is pressed at that line, and whether the line was reached."""
    with Finger(line) as finger:
        try:
            result = run_async(work(), runner)
        except BaseException as error:
            result = type(error).__name__
    return result, finger.seen >= line


@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")  # interrupted before its first step
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a destructor, when all was done
@pytest.mark.parametrize("kept", [True, False], ids=["one-loop-for-a-chat", "a-loop-of-its-own"])
def test_at_every_line_of_the_event_loop(kept: bool):
    handler: Callable[[], AbstractContextManager[Any]] = HoldBack if kept else lambda: RaiseOnce(keep=False)
    outcomes: list[str] = []
    reached = True
    while reached:
        with handler(), asyncio.Runner() as runner:
            result, reached = outcome(runner if kept else None, len(outcomes) + 1)
            outcomes.append(result)
            assert run_async(work(), runner) == "done", f"the loop is broken after line {len(outcomes)}"
    assert len(outcomes) > 50
    assert set(outcomes) == {"done", "KeyboardInterrupt"}, outcomes


def test_what_is_held_back_is_raised_where_it_is_allowed():
    with HoldBack() as held:
        with held.allowed():
            pass
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), held.allowed():
            raise AssertionError("the block must not begin")
        with pytest.raises(KeyboardInterrupt), held.allowed():
            os.kill(os.getpid(), signal.SIGINT)
        with held.allowed():
            pass


def test_work_that_was_cancelled_by_somebody_else_is_not_an_interrupt():
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_async(cancelled())


def test_a_signal_on_purpose_ends_a_run_in_the_background(home: Path):
    model = script(home, [call("calculator", expression="1"), call("gate", name="a")], "never")
    with start(
        home, "run", "q", "-m", model, "-t", "mytools:gate", "-t", "calculator", signals=uninterruptible
    ) as process:
        until(process, "> calculator")
        interrupt(process)
        out, err = process.communicate(timeout=GUARD_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert "-- cancelled" in err


def test_ctrl_c_works_in_a_terminal_that_was_started_from_the_background(home: Path):
    model = script(home, call("gate", name="a"), "x")
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:gate", signals=uninterruptible) as screen:
        screen.wait_for("waiting at a")
        screen.ctrl_c()
        assert screen.end() == 130


def test_while_modules_are_imported(home: Path):
    (home / "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = treadle(home, "run", "q", "-m", script(home, "x"), "-t", "slow:x")
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == "cancelled"
    assert "Traceback" not in done.err


def test_while_the_program_shuts_down_the_exit_code_stays(home: Path):
    (home / "late.py").write_text(
        "import atexit, os, signal\nfrom treadle import tool\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n\n"
        '@tool\ndef late() -> str:\n    """Late."""\n    return ""\n'
    )
    done = treadle(home, "run", "q", "-m", script(home, "the answer"), "-t", "late:late")
    assert (done.code, done.out) == (0, "the answer\n")
    assert "Traceback" not in done.err


def test_ctrl_c_while_the_loop_waits_for_nothing_else():
    """The signal is delivered to another thread, so that the system call of the event loop is not interrupted."""

    async def wait_forever() -> None:
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run_async(wait_forever())
