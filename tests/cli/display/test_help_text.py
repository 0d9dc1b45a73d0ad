"""Help that fits the terminal."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from cli.terminal import Inside
from treadle._cli.display.help_text import HelpLines

COMMANDS = ["", "runs", "doctor"]
"""Those without long lists of choices: argparse does not break them."""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_not_wider_than_the_terminal(inside: Inside, monkeypatch: pytest.MonkeyPatch, command: str):
    monkeypatch.setenv("COLUMNS", "44")
    done = inside(*command.split(), "--help")
    lines = done.out.splitlines()
    assert done.code == 0
    assert max(map(len, lines)) <= 44, max(lines, key=len)


def shown(text: str, width: int) -> str:
    parser = ArgumentParser(description=text, add_help=False, formatter_class=lambda prog: HelpLines(prog, width=width))
    return parser.format_help().partition("\n\n")[2].rstrip("\n")


def test_the_second_column_stays_one():
    text = "codes:\n  0    an answer that has some words\n  treadle run something   answers\n\nend"
    assert shown(text, 24).splitlines() == [
        "codes:",
        "  0    an answer that",
        "       has some words",
        "  treadle run something",
        "      answers",
        "",
        "end",
    ]
    assert shown(text, 80) == text
