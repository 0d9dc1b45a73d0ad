"""Where escape sequences may be used."""

from __future__ import annotations

import io
import sys

import pytest

from treadle._cli.display.ansi import capable, colours, styled


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("platform", "env", "can", "colour"),
    [
        ("linux", {"TERM": "xterm-256color"}, True, True),
        ("linux", {"TERM": "xterm-256color", "NO_COLOR": "1"}, True, False),
        ("linux", {"TERM": "xterm-256color", "NO_COLOR": ""}, True, True),
        ("linux", {"TERM": "dumb"}, False, False),
        ("linux", {"TERM": "unknown"}, False, False),
        ("win32", {}, False, False),
        ("win32", {"WT_SESSION": "a-b-c"}, True, True),
        ("win32", {"WT_SESSION": "a-b-c", "NO_COLOR": "1"}, True, False),
        ("win32", {"ConEmuANSI": "ON"}, True, True),
        ("win32", {"ConEmuANSI": "OFF"}, False, False),
        ("win32", {"ANSICON": "80x25"}, True, True),
        ("win32", {"TERM": "xterm"}, True, True),
    ],
)
def test_by_platform_and_environment(
    monkeypatch: pytest.MonkeyPatch, platform: str, env: dict[str, str], can: bool, colour: bool
):
    for name in ("TERM", "NO_COLOR", "WT_SESSION", "ConEmuANSI", "ANSICON"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    screen = Terminal()
    assert (capable(screen), colours(screen)) == (can, colour)
    assert styled("x", "2", screen) == ("\x1b[2mx\x1b[0m" if colour else "x")
    assert not capable(io.StringIO())
    assert styled("x", "2", io.StringIO()) == "x"
