"""Messages from a pipe."""

from __future__ import annotations

import io
import sys

import pytest

from treadle._cli.chat.input import Reader


def reader(monkeypatch: pytest.MonkeyPatch, text: str) -> Reader:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return Reader()


def test_one_message_per_line(monkeypatch: pytest.MonkeyPatch):
    messages = reader(monkeypatch, "one\n\ntwo")
    assert [messages.read(), messages.read(), messages.read(), messages.read()] == ["one", "", "two", None]


def test_a_backslash_continues_the_line(monkeypatch: pytest.MonkeyPatch):
    messages = reader(monkeypatch, "one \\\ntwo\nthree\\\n")
    assert [messages.read(), messages.read(), messages.read()] == ["one \ntwo", "three", None]
