"""Every command that a page tells people to type: parsed by the program it names, or started."""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from treadle._cli.command_table import COMMANDS, build_parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
OURS = (
    "treadle ",
    "python3 tasks.py ",
    "python3 benchmarks/",
    "python benchmarks/",
    "python scripts/",
)
BLOCK = re.compile(r"^ *```(?:sh|console|bash)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`")
PLACEHOLDERS = {"...", "…"}


def commands_of(page: Path) -> set[str]:
    """The lines of a page's shell blocks, and what stands in backticks, where they begin with a program of ours."""
    text = page.read_text("utf-8")
    lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"^    (\S.*)$", text, re.MULTILINE) if page.name in ("CONTRIBUTING.md", "README.md") else []
    lines += INLINE.findall(re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))
    cleaned = (re.sub(r"\s+#\s.*$", "", line).strip().removeprefix("$ ") for line in lines)
    return {line for line in cleaned if line.startswith(OURS)}


ALL = sorted({command for page in PAGES for command in commands_of(page)})


def words_of(command: str) -> list[str]:
    """The first program of a line: without what it is piped into, and what its output is written to."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        words.append(word)
    return words


@cache
def tasks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def measurements() -> dict[str, str]:
    return tasks().measurements()


@cache
def parser() -> argparse.ArgumentParser:
    return build_parser(list(COMMANDS))[0]


def test_there_are_many():
    assert len(ALL) > 100
    assert {command.split()[0] for command in ALL} >= {"treadle", "python3"}


@pytest.mark.parametrize("command", [command for command in ALL if command.startswith("treadle ")])
def test_a_command_of_the_program_is_parsed(command: str, capsys: pytest.CaptureFixture[str]):
    _, *words = words_of(command)
    if not words or words[0].startswith("-"):  # `treadle --version`, or the name alone
        return
    assert words[0] in COMMANDS, f"there is no command {words[0]!r}"
    if PLACEHOLDERS & set(words) or any(part in words[0] for part in "[{") or is_name_only(words):
        return  # says which command is meant, not what to type
    try:
        parser().parse_args(words)
    except SystemExit as ended:
        if ended.code:
            pytest.fail(capsys.readouterr().err)


def is_name_only(words: list[str]) -> bool:
    """`treadle runs replay`: the command itself, in a sentence; its sub-commands have to exist all the same."""
    known = parser()
    for word in words:
        inner = next((a for a in known._actions if isinstance(a, argparse._SubParsersAction)), None)  # pyright: ignore
        if inner is None or word not in inner.choices:
            return False
        known = inner.choices[word]
    return True


def source_of(program: Path) -> str:
    """Of a program and of what it imports from its own folder."""
    text = program.read_text("utf-8")
    beside = [program.with_name(f"{name}.py") for name in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)]
    return text + "".join(path.read_text("utf-8") for path in beside if path.is_file())


@pytest.mark.parametrize("command", [command for command in ALL if command.startswith("python3 tasks.py ")])
def test_a_task_exists(command: str):
    _, _, name, *arguments = words_of(command)
    assert name in tasks().TASKS
    if name == "test":
        assert [path for path in arguments if path.startswith("tests") and not (ROOT / path).exists()] == []
    elif name == "prove":
        assert arguments[0] in tasks().PROOFS
    elif name == "measure" and arguments and arguments[0] not in ("NAME", "..."):
        source = source_of(ROOT / "benchmarks" / f"{arguments[0]}.py")
        assert arguments[0] in measurements()
        options = [word for word in arguments[1:] if word.startswith("--")]
        assert [option for option in options if f'"{option.partition("=")[0]}"' not in source] == []
    elif name == "lab":
        assert (ROOT / "lab" / arguments[0].replace(".", "/")).with_suffix(".py").exists()


@pytest.mark.parametrize(
    "command", [command for command in ALL if command.startswith("python") and "tasks.py" not in command]
)
def test_a_script_of_ours_is_there(command: str):
    path = ROOT / words_of(command)[1]
    assert path.exists()
    if path.parent.name == "benchmarks":
        assert "environment(" in path.read_text("utf-8"), "it needs an environment: python3 tasks.py measure NAME"


def test_measure_says_which_there_are_and_runs_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    called = list[tuple[object, ...]]()
    monkeypatch.setattr(tasks(), "environment", lambda which: f"python of {which}")
    monkeypatch.setattr(tasks(), "call", lambda *command: called.append(command) or 0)
    assert tasks().measure([]) == 0
    assert "recall" in capsys.readouterr().err
    assert tasks().measure(["nothing"]) == 2
    assert "there is no measurement 'nothing'" in capsys.readouterr().err
    assert tasks().measure(["recall", "--case", "known"]) == 0
    assert called == [("python of test", "benchmarks/recall.py", "--case", "known")]
