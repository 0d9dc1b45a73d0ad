"""Tasks and task files (one JSON object a line). Whatever is wrong with a task is reported before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from treadle._inspect.evals.checks import Check, patterns_of, tools_of
from treadle._safety.data import DataError, decode_json, read_text
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit, makes_tools
from treadle._types.errors import ConfigError

Split = Literal["dev", "held"]
MAX_TASK_FILE = 256 * 1024 * 1024
GIVE_TOOLS = (
    "give it with --tools (module:name, file.py:name or the name of a built-in tool), "
    "or in Python with load_tasks(path, tools=[...]); a function that makes tools says so: def tools() -> list[Tool]"
)


class Call(Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    args: dict[str, Any] = {}


class Solution(Struct, frozen=True, forbid_unknown_fields=True):
    """One correct way, to prove that the task can be solved and its check passes. No model ever sees it."""

    answer: str
    calls: tuple[Call, ...] = ()


class Task(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    id: str
    kind: str
    """What the task is an example of; reports give a figure for each kind."""
    question: str
    check: Check
    tools: tuple[str, ...] | None = None
    """The names of the tools that are offered, in this order; all that were given when it is None."""
    split: Split = "dev"
    """`held` tasks are held out: nobody looks at them while prompts are improved."""
    solution: Solution | None = None


class TaskSet(Struct, frozen=True):
    name: str
    tasks: tuple[Task, ...]
    make_tools: Callable[[Task], list[Tool]]
    """Called for each run of a task."""
    instructions: str = ""


def task_set(name: str, tasks: Sequence[Task], tools: Iterable[object] = (), *, instructions: str = "") -> TaskSet:
    """Tasks with the tools that they name. A task that needs a tool which is not given is refused.

    Each item of `tools` is a tool, or what an `Agent` makes one of; or a function that says it returns tools
    (`-> list[Tool]`, `-> Toolkit`). Such a function is called for every run, so that tools with a memory start afresh.
    """
    items = list(tools)
    names = Toolkit(_expanded(items)).names
    for task in tasks:
        _check_task(task, names)

    def make_tools(task: Task) -> list[Tool]:
        kit = Toolkit(_expanded(items))
        return list(kit) if task.tools is None else [cast(Tool, kit.get(tool)) for tool in task.tools]

    return TaskSet(name, tuple(tasks), make_tools, instructions)


def read_task_file(path: Path) -> list[Task]:
    """The tasks of a file. An error names the line."""
    try:
        lines = read_text(path, MAX_TASK_FILE).split("\n")
    except (OSError, DataError) as error:
        raise ConfigError(f"the task file {path} cannot be read: {error}") from None
    tasks: dict[str, Task] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = decode_json(line, Task)
        except DataError as error:
            raise ConfigError(f"{path.name}, line {number}: {_explained(str(error))}") from None
        if task.id in tasks:
            raise ConfigError(f"{path.name}, line {number}: there is already a task with the id {task.id!r}")
        tasks[task.id] = task
    if not tasks:
        raise ConfigError(f"the task file {path} holds no task")
    return list(tasks.values())


def _explained(message: str) -> str:
    """Explain what is wrong with a line; for an unknown field, list the existing ones."""
    unknown = re.search(r"unknown field `[^`]+`(?: - at `([^`]*)`)?", message)
    if unknown is None:
        return message
    kinds: dict[str, type[Struct]] = {"$.check": Check, "$.solution": Solution}
    return f"{message}; expected one of: {', '.join(kinds.get(unknown[1] or '', Task).__struct_fields__)}"


def _expanded(items: Iterable[object]) -> list[object]:
    tools: list[object] = []
    for item in items:
        if makes_tools(item):
            tools += cast("Callable[[], Iterable[object]]", item)()
        else:
            tools.append(item)
    return tools


def _check_task(task: Task, available: Sequence[str]) -> None:
    where = f"task {task.id!r}"
    for name in task.tools or ():
        if name not in available:
            raise ConfigError(f"{where} names the tool {name!r}, {_not_available(name, available)}")
    offered = available if task.tools is None else task.tools
    if doubles := [name for name in offered if offered.count(name) > 1]:
        raise ConfigError(f"{where} names the tool {doubles[0]!r} twice: remove one of them")
    for name in tools_of(task.check):
        if name not in available:
            raise ConfigError(f"the check of {where} names the tool {name!r}, {_not_available(name, available)}")
        if name not in offered:
            raise ConfigError(
                f"the check of {where} names the tool {name!r}, which the task does not offer: add it to its 'tools'"
            )
    if task.check == Check():
        raise ConfigError(f"the check of {where} is empty, so that every answer would pass: say what must be true")
    for pattern in patterns_of(task.check):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ConfigError(f"the check of {where} has an invalid pattern {pattern!r}: {error}") from None


def _not_available(name: str, available: Sequence[str]) -> str:
    from difflib import get_close_matches

    if matches := get_close_matches(name, available, 1):
        return f"which was not given; did you mean {matches[0]!r}?"
    if not available:
        return f"but no tools were given: {GIVE_TOOLS}"
    return f"which is not among the tools given ({', '.join(available)}): {GIVE_TOOLS}"
