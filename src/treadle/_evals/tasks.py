"""Task files: one JSON object a line. Everything that could be wrong with one is said before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._evals.checks import Check, patterns_of, tools_of
from treadle._evals.toolbox import make_tools
from treadle._tools.base import Tool
from treadle._types.errors import ConfigError

Split = Literal["dev", "held"]


class Call(Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    args: dict[str, Any] = {}


class Solution(Struct, frozen=True, forbid_unknown_fields=True):
    """One right way, to prove that the task can be solved and its check passes. No model ever sees it."""

    answer: str
    calls: tuple[Call, ...] = ()


class Task(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    kind: str
    """What the task is a case of; reports give a figure for each kind."""
    question: str
    check: Check
    tools: tuple[str, ...] = ()
    split: Split = "dev"
    """`held` tasks are kept back: nobody looks at them while prompts are made better."""
    solution: Solution | None = None


class TaskSet(Struct, frozen=True):
    name: str
    tasks: tuple[Task, ...]
    make_tools: Callable[[Task], list[Tool]]
    """Tools for one run of a task; nothing is shared between runs."""
    instructions: str = ""


def load_tasks(path: str | Path) -> TaskSet:
    """The tasks of a file (JSON lines), or of a folder with HotpotQA questions."""
    place = Path(path).expanduser()
    if place.is_dir():
        from treadle._evals.hotpot import load_hotpot

        return load_hotpot(place)
    try:
        lines = place.read_text("utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"the task file {place} cannot be read: {error}") from None
    tasks: dict[str, Task] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            task = _task(line, f"{place.name}, line {number}")
            if task.id in tasks:
                raise ConfigError(f"{place.name}, line {number}: there is a task {task.id!r} already")
            tasks[task.id] = task
    if not tasks:
        raise ConfigError(f"the task file {place} holds no task")
    return TaskSet(place.stem, tuple(tasks.values()), lambda task: make_tools(task.tools))


def _task(line: str, where: str) -> Task:
    try:
        task = msgspec.json.decode(line, type=Task)
        make_tools(task.tools)
        unknown = set(tools_of(task.check)) - set(task.tools)
        if unknown:
            raise ValueError(f"the check speaks of {sorted(unknown)[0]!r}, which is not among the task's tools")
        if task.check == Check():
            raise ValueError("the check is empty: everything would pass")
        for pattern in patterns_of(task.check):
            re.compile(pattern)
    except (msgspec.MsgspecError, ConfigError, ValueError, re.error, RecursionError) as error:
        raise ConfigError(f"{where}: {error}") from None
    return task
