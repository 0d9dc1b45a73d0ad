"""Which display is chosen."""

from __future__ import annotations

import io

import pytest

from treadle._cli.display.factory import open_display, rich_terminal
from treadle._cli.display.plain import JsonDisplay, PlainDisplay


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_plain_text_or_json():
    assert isinstance(open_display("r"), PlainDisplay)
    assert isinstance(open_display("r", json=True), JsonDisplay)


def test_what_a_rich_terminal_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TREADLE_PLAIN", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert rich_terminal(Terminal())
    assert not rich_terminal(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not rich_terminal(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("TREADLE_PLAIN", "1")
    assert not rich_terminal(Terminal())
