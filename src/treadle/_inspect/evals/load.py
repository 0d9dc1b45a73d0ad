"""Loading tasks by path: a task file, or a folder with questions and pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from treadle._inspect.evals.hotpot import load_hotpot
from treadle._inspect.evals.tasks import TaskSet, read_task_file, task_set
from treadle._types.errors import ConfigError


def load_tasks(path: str | Path, tools: Iterable[object] = ()) -> TaskSet:
    """The tasks of a file with the tools that they name (see `task_set`), or those of a folder of questions."""
    source = Path(path).expanduser()
    items = list(tools)
    if source.is_dir():
        if items:
            raise ConfigError(f"the tools for the questions in {source} are search and lookup: omit --tools")
        return load_hotpot(source)
    tasks = read_task_file(source)
    try:
        return task_set(source.stem, tasks, items)
    except ConfigError as error:
        raise ConfigError(f"{source.name}: {error}") from None
