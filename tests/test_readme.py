"""The README: every command exists, from a clone, with what it needs; every row of the table has its check."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from treadle._cli.command_table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
PEERS = ("LangGraph", "pydantic-ai", "OpenAI Agents", "smolagents")


def load_tasks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> list[str]:
    """Every command of the page: lines of its shell blocks, and what stands in backticks and begins like one."""
    blocks = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line] + re.findall(r"(?<!`)`((?:python3? |treadle |pip )[^`]+)`", TEXT)


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_command(command: str):
    program, *rest = shlex.split(command)
    if program == "treadle":
        assert rest[0] in COMMANDS
        return
    if program in ("pip", "pipx", "uvx"):  # tests/test_release.py runs them
        assert rest[-1] in (".[all]", ".", "./packages/treadle-adapters") or rest[0] == "--from"
        return
    script, *rest = rest
    assert (ROOT / script).exists()
    if script != "tasks.py":
        assert "environment(" in (ROOT / script).read_text("utf-8"), "a bare script makes its own environment"
        return
    tasks = load_tasks()
    name, *arguments = rest
    assert name in tasks.TASKS
    if name == "prove":
        assert (ROOT / tasks.PROOFS[arguments[0]]).exists()
    elif name == "test":
        assert all((ROOT / path).exists() for path in arguments)


def test_there_are_commands():
    assert len(set(commands())) > 8


@pytest.mark.parametrize("name", ["crash", "plan", "size"])
def test_a_proof_is_run_in_the_environment_of_the_tests(name: str, monkeypatch: pytest.MonkeyPatch):
    """Not with the python that happens to be there, which has none of what the proof needs."""
    tasks, called = load_tasks(), []
    monkeypatch.setattr(tasks, "environment", lambda which: f"python of {which}")
    monkeypatch.setattr(tasks, "call", lambda *command: called.append(command) or 0)
    assert tasks.prove([name, "--more"]) == 0
    assert called == [("python of test", tasks.PROOFS[name], "--more")]


def test_an_unknown_proof_says_which_there_are(capsys: pytest.CaptureFixture[str]):
    assert load_tasks().prove(["what"]) == 2
    assert "crash, plan, size" in capsys.readouterr().err


def test_every_row_of_the_comparison_says_how_it_was_checked():
    table = TEXT[TEXT.index("## Beside others") :].split("\n\n")[1].splitlines()
    headings = [cell.strip() for cell in table[0].split("|")[1:-1]]
    assert all(any(heading.startswith(peer) for heading in headings) for peer in PEERS)
    for line in table[2:]:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert len(cells) == len(headings)
        checked = "`" in cells[-1] or "](" in cells[-1] or all("](" in cell for cell in cells[1:-1])
        assert checked, line


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", TEXT):
        assert "://" in target or (ROOT / target).exists(), target
