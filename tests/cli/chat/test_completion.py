"""What the Tab key offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle import Agent, ScriptedModel, tool
from treadle._cli.chat.completion import USAGES, completions
from treadle._cli.chat.slash_commands import COMMANDS


@tool
def erase(path: str) -> str:
    """Erase a file."""
    return path


AGENT = Agent(ScriptedModel([]), [erase])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plan.md").write_text("")
    (tmp_path / "data.csv").write_text("")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "two words.txt").write_text("")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("/co", ["/cost"]),
        ("/f", ["/fork", "/file"]),
        ("look at @d", ["@data.csv", "@docs/"]),
        ("look at @docs/", ["@docs/plan.md"]),
        ("@.h", ["@.hidden"]),
        ("@nothing/here", []),
        ("/file da", ["data.csv"]),
        ("/save docs/", ["docs/plan.md"]),
        ("/approve ", ["erase", "all", "off"]),
        ("/approve e", ["erase"]),
        ("/plan o", ["on", "off"]),
        ("/cost x", []),
        ("plain words", []),
        ("", []),
    ],
)
def test_what_can_follow(line: str, offered: list[str]):
    word = line.rpartition(" ")[2]
    assert completions(line, word, AGENT) == offered


def test_models_that_can_be_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "x")
    assert completions("/model mis", "mis", AGENT) == ["mistral:mistral-small-latest"]
    assert all(name.startswith("local:") for name in completions("/model local:", "local:", AGENT))


def test_every_command_has_a_line_and_every_line_a_command():
    assert {*USAGES} == {*COMMANDS, "quit"}
