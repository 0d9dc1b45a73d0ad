"""Keys become lines."""

from __future__ import annotations

import subprocess
import sys

import pytest

from treadle._cli.driving.keyboard import LineBuffer


@pytest.mark.parametrize(
    ("keys", "lines", "rest"),
    [
        ("hello\n", ["hello"], ""),
        ("one\r\ntwo\rthree", ["one", "two"], "three"),
        ("euross\x7f?", [], "euros?"),
        ("\x7f\x7f", [], ""),
        ("some words\x17", [], "some "),
        ("some words \x17", [], "some "),
        ("forget this\x15kept", [], "kept"),
        ("\x1b[A\x1b[1;5Cx\x1bOPy", [], "xy"),
        ("\x04", ["/quit"], ""),
        ("typed\x04", [], "typed"),
        (" \n\n", [], ""),
        ("tab\tand é\x01\x02", [], "tab\tand é"),
    ],
)
def test_editing(keys: str, lines: list[str], rest: str):
    buffer = LineBuffer()
    assert buffer.feed(keys) == lines
    assert buffer.text == rest


def test_a_line_may_come_in_pieces():
    buffer = LineBuffer()
    assert [buffer.feed(key) for key in "hi\n"] == [[], [], ["hi"]]


LOST = """
import asyncio, os, pty, sys, termios
from treadle._cli.driving.keyboard import Keyboard

async def main():
    master, slave = pty.openpty()
    os.dup2(slave, 0)
    keyboard = Keyboard(print, print, raw=True)
    os.write(master, b"ye")
    asyncio.get_running_loop().call_soon(termios.tcflush, 0, termios.TCIFLUSH)  # as Ctrl-C does
    keyboard._keys._read()
    await asyncio.sleep(0)
    keyboard._keys._read()
    keyboard.close()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminal")
def test_keys_that_ctrl_c_has_taken_back_are_not_waited_for():
    subprocess.run([sys.executable, "-c", LOST], check=True, timeout=60, stdin=subprocess.DEVNULL)
