"""The study of local models: it continues after a stop, checks the calls that reached the tools, and compares only
tasks that every engine has done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab_kit import LAB
from study import study
from study.rows import Outcome, Row, checked_row
from treadle import ScriptedModel
from treadle._inspect.evals.checks import RecordedCall
from treadle._inspect.evals.tasks import read_task_file
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.request import Request

TASKS = {task.question: task for name in ("shop", "office") for task in read_task_file(LAB / "evals" / f"{name}.jsonl")}


def solution(request: Request) -> Any:
    """The next reply of a correct solution."""
    task = next(
        TASKS[text_of(m.content)]
        for m in request.messages
        if isinstance(m, UserMessage) and text_of(m.content) in TASKS
    )
    assert task.solution is not None
    count = sum(isinstance(message, ToolMessage) for message in request.messages)
    if count < len(task.solution.calls):
        call = task.solution.calls[count]
        return {"name": call.tool, "args": call.args}
    return task.solution.answer


def test_a_study_continues_where_it_was_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    asked: list[Request] = []
    monkeypatch.setattr(
        study.ours, "local_model", lambda name, who: ScriptedModel(lambda r: asked.append(r) or solution(r))
    )
    results = tmp_path / "rows.jsonl"
    command = ["run", "--model", "m", "--who", "auto,native", "--results", str(results)]
    study.main([*command, "--limit", "5"])
    rows = study.load_rows(results)
    assert [(row.who, row.passed, row.stop, row.dialect) for row in rows] == [
        (who, True, "answer", "native") for who in ("auto", "native") for _ in range(5)
    ]
    assert {row.kind for row in rows} == {"single", "choose", "chain", "none", "recovery"}
    assert {row.split for row in rows} == {"dev"}
    assert sum(row.requests for row in rows) == len(asked)
    for row in rows:
        task = next(task for task in TASKS.values() if task.id == row.task)
        assert task.solution is not None
        assert row.calls == tuple(RecordedCall(call.tool, call.args) for call in task.solution.calls)

    results.write_bytes(results.read_bytes()[:-40])  # killed while it wrote the last row
    asked.clear()
    study.main([*command, "--limit", "5"])
    again = study.load_rows(results)
    assert sorted(row.key for row in again) == sorted(row.key for row in rows)
    assert len(asked) == rows[-1].requests
    study.main([*command, "--limit", "5", "--label", "after"])
    assert len(study.load_rows(results)) == 20


def test_a_run_that_is_cut_short_has_solved_nothing():
    task = next(task for task in TASKS.values() if task.kind == "none")
    assert task.solution is not None
    assert checked_row("l", "m", "w", task, Outcome(task.solution.answer)).passed
    late = checked_row("l", "m", "w", task, Outcome(task.solution.answer, "timeout", "stopped after 240 s"))
    assert (late.passed, late.problems) == (False, ("stopped after 240 s",))


def test_the_report_compares_only_what_all_have_done():
    def row(who: str, task: str, passed: bool, seconds: float, kind: str = "single", label: str = "now") -> Any:
        rounds = ((100, 0, 10), (200, 190, 10))
        return Row(
            label,
            "m",
            who,
            task,
            kind,
            "dev",
            passed,
            seconds,
            "answer",
            requests=2,
            input=300,
            cached=190,
            output=20,
            rounds=rounds,
        )

    rows = [row("auto", "a", True, 1), row("auto", "b", True, 2, "none"), row("auto", "c", True, 50)]
    rows += [
        row("smolagents", "a", False, 10),
        row("smolagents", "b", True, 2, "none"),
        row("auto", "a", False, 9, label="before"),
    ]
    text = study.markdown(rows, label="now", who=["smolagents", "auto"])
    assert "2 tasks (all); 1 more are not done by all" in text
    assert "| smolagents | 1/2 = 50 % (9 to 91) | 0/1 | 1/1 |\n| auto | 2/2 = 100 % (34 to 100) | 1/1 | 1/1 |" in text
    assert "| auto | 3 | 1.5 | 25 % | 0 | 4 | 600 | 63 % | 95 % | 40 |" in text
    assert "before" not in text
    assert study.markdown(rows, split="held") == "no rows"
