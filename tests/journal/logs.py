"""Small logs for the tests."""

from __future__ import annotations

import time

from treadle._types.events import AnswerDone, Event, MessageAdded, Record, RunFinished, RunStarted, ToolDone
from treadle._types.messages import UserMessage


def started(run: str, *, at: float | None = None, parent: str = "", **fields: object) -> Record:
    facts = {"question": "How far is the moon?", "agent": "astronomer", "model": "scripted", "depth": _depth(parent)}
    event = RunStarted(**{**facts, **fields})  # pyright: ignore
    return Record(run, 0, time.time() if at is None else at, event, parent, 0, _depth(parent))


def _depth(parent: str) -> int:
    return 1 if parent else 0


def done(run: str, seq: int, text: str = "384 400 km", parent: str = "") -> Record:
    return Record(run, seq, time.time(), ToolDone("c1", "search", seq, text, elapsed=0.25), parent, 0, _depth(parent))


def message(run: str, seq: int, text: str) -> Record:
    return Record(run, seq, time.time(), MessageAdded(UserMessage(text)))


def ended(run: str, seq: int, *, at: float | None = None, parent: str = "") -> Record:
    finished = RunFinished("answer", "384 400 km")
    return Record(run, seq, time.time() if at is None else at, finished, parent, 0, _depth(parent))


def record(run: str, seq: int, event: Event) -> Record:
    return Record(run, seq, time.time(), event)


def log(run: str, steps: int = 3, *, at: float | None = None, parent: str = "") -> list[Record]:
    """A whole run of `steps` + 3 records."""
    body = [done(run, seq, f"result {seq}", parent) for seq in range(1, steps + 1)]
    answer = Record(run, steps + 1, time.time(), AnswerDone("384 400 km", "loop"), parent, 0, _depth(parent))
    return [started(run, at=at, parent=parent), *body, answer, ended(run, steps + 2, at=at, parent=parent)]
