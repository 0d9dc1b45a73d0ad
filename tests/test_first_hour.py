"""The ten tasks of a first hour: each program of the page prints what the page says, with documented names only."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from programs import run_programs

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "first_hour.md"
BLOCKS = re.compile(r"^```python([^\n]*)\n(.*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
VALUES = {"result", "paused", "step", "waiting", "model", "server", "segment", "record", "agent", "event", "request"}
"""The variables of the programs that hold values of Treadle."""


class Task(NamedTuple):
    title: str
    text: str
    remark: str
    program: str
    printed: str


def tasks() -> list[Task]:
    found: list[Task] = []
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        for remark, program, printed in BLOCKS.findall(text):
            found.append(Task(title, text, remark, program, printed))
    return found


TASKS = tasks()
ids = [task.title for task in TASKS]


def run(task: Task, folder: Path, **more: str) -> str:
    env = {"PATH": "", "HOME": str(folder), "TREADLE_STATE": str(folder), "TREADLE_PLAIN": "1"}
    env |= {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **more}
    command = [sys.executable, "-W", "error", "-c", task.program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_there_are_ten():
    assert [title.partition(".")[0] for title in ids] == [str(number) for number in range(1, 11)]


def test_tasks(tmp_path: Path):
    without_a_model = {task.title: task for task in TASKS if not task.remark}
    assert len(without_a_model) == 9
    for title, ran in run_programs({title: task.program for title, task in without_a_model.items()}, tmp_path).items():
        assert ran.code == 0, f"{title}\n{ran.out}{ran.err}"
        assert lines(ran.out) == lines(without_a_model[title].printed)


@pytest.mark.model
@pytest.mark.parametrize("task", [task for task in TASKS if task.remark], ids=lambda task: task.title)
def test_task_with_a_local_model(task: Task, tmp_path: Path):
    from treadle._local.weights.weights import cache_dir

    assert lines(run(task, tmp_path, TREADLE_CACHE=str(cache_dir()))) == lines(task.printed)


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_every_name_is_in_the_reference(task: Task):
    """What a program uses can be found without a look into the source."""
    documented = "\n".join(page.read_text("utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
    inner = re.findall(r"'''\n(.*?)'''", task.program, re.DOTALL)
    used = {name for program in [task.program, *inner] for name in names_of_treadle(program)}
    assert len(used) >= 4
    assert {name for name in used if not re.search(rf"\b{re.escape(name)}\b", documented)} == set()


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_each_task_names_its_page(task: Task):
    pages = re.findall(r"\]\(((?:howto/|tutorial/)[^)#]+)", task.text)
    assert pages
    assert all((DOCS / page).exists() for page in pages)


def names_of_treadle(program: str) -> set[str]:
    """What a program imports from Treadle, the keywords it gives to that, and what it reads of its values."""
    tree = ast.parse(program)
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treadle")
        for alias in node.names
    }
    used = set(imported)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if isinstance(owner, ast.Name) and owner.id in imported | VALUES:
                used |= {keyword.arg for keyword in node.keywords if keyword.arg}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in VALUES:
            used.add(node.attr)
    return used - {"should_exit"}  # of uvicorn's server
