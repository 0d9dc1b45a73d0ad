"""The rows of the study: the calls that reached a tool, one verdict for all engines, one file that survives a kill."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle._inspect.evals.checks import RecordedCall, evaluate_check
from treadle._inspect.evals.tasks import Task
from treadle._tools.base import Tool

MAX_STEPS = 10
MAX_TOKENS = 1024
CASE_SECONDS = 240.0
FIRST_STEPS = 2
"""Where only the first call counts: one more, for a reply that the engine could not read."""
ANSWER_CHARS = 300

Round = tuple[int, int, int]
"""One request: tokens of the prompt, those of them from the cache, tokens written."""


class Outcome(Struct, frozen=True, omit_defaults=True):
    """The outcome of a task, before it is checked."""

    answer: str = ""
    stop: str = "answer"
    """`answer`, `max_steps`, `timeout`, `error`, or the engine's own word for why it ended."""
    error: str = ""
    calls: tuple[RecordedCall, ...] = ()
    rounds: tuple[Round, ...] = ()
    seconds: float = 0.0
    dialect: str = ""
    run_id: str = ""
    first_call: float | None = None
    """Seconds until the first call of a tool."""


class Row(Struct, frozen=True, omit_defaults=True):
    label: str
    model: str
    who: str
    task: str
    kind: str
    split: str
    passed: bool
    seconds: float
    stop: str
    answer: str = ""
    problems: tuple[str, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    steps: int = 0
    """Tool calls."""
    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    rounds: tuple[Round, ...] = ()
    dialect: str = ""
    run_id: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.label, self.model, self.who, self.task


def checked_row(label: str, model: str, who: str, task: Task, outcome: Outcome) -> Row:
    """The row for an outcome. A run that was cut short has not solved its task, whatever it answered."""
    problems = evaluate_check(task.check, outcome.answer, outcome.calls).problems
    if outcome.error:
        problems = (outcome.error[:ANSWER_CHARS], *problems)
    read, cached, written = (
        (sum(column) for column in zip(*outcome.rounds, strict=True)) if outcome.rounds else (0, 0, 0)
    )
    return Row(
        label, model, who, task.id, task.kind, task.split, not problems, round(outcome.seconds, 2), outcome.stop,
        outcome.answer[:ANSWER_CHARS], problems, outcome.calls, len(outcome.calls), len(outcome.rounds), read, cached,
        written, outcome.rounds, outcome.dialect, outcome.run_id,
    )  # fmt: skip


def recorded(tool: Tool, on_call: Callable[[RecordedCall], None]) -> Tool:
    """The same tool, which reports every call that reaches it: what an engine itself records does not count."""
    execute = tool.execute
    signature = inspect.signature(execute)

    @functools.wraps(execute)
    def recording(*args: Any, **kwargs: Any) -> Any:
        on_call(RecordedCall(tool.name, dict(signature.bind(*args, **kwargs).arguments)))
        return execute(*args, **kwargs)

    return tool.replace(execute=recording)


def load_rows(path: Path) -> list[Row]:
    """Every complete row; a line that a kill cut short is skipped."""
    rows: list[Row] = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            rows.append(msgspec.json.decode(line, type=Row))
        except msgspec.DecodeError:
            continue
    return rows


def add_row(path: Path, row: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_short = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("ab") as file:
        file.write(b"\n" * cut_short + msgspec.json.encode(row) + b"\n")


def todo(tasks: Iterable[Task], done: Iterable[Row], label: str, model: str, who: str) -> list[Task]:
    """The tasks that are not done."""
    keys = {row.key for row in done}
    return [task for task in tasks if (label, model, who, task.id) not in keys]
