"""Which tool a question is for, by the words they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.setup.toolbox import find_tools
from treadle._evals.tasks import Task, read_task_file
from treadle._plugins.small_models.relevance import tool_for

ROOT = Path(__file__).resolve().parents[2]

EVALS = ROOT / "evals"
TASKS = [task for name in ("shop", "office", "travel") for task in read_task_file(EVALS / f"{name}.jsonl")]
SCHEMAS = {tool.name: tool.schema for tool in find_tools([f"{EVALS / 'worlds' / 'all_worlds.py'}:tools", "calculator"])}


@pytest.mark.parametrize("task", [task for task in TASKS if task.kind == "none"], ids=lambda task: task.id)
def test_a_question_that_needs_no_tool_is_for_none(task: Task):
    assert tool_for(task.question, [SCHEMAS[name] for name in task.tools or ()]) == ""


def test_half_of_the_others_name_a_tool_and_nearly_always_one_of_use():
    others = [task for task in TASKS if task.kind != "none" and task.solution is not None]
    found = [(task, tool_for(task.question, [SCHEMAS[name] for name in task.tools or ()])) for task in others]
    named = [(task, name) for task, name in found if name]
    assert len(named) > 0.4 * len(others)
    assert sum(
        name in {call.tool for call in (task.solution.calls if task.solution else ())} for task, name in named
    ) > 0.8 * len(named)


def test_nothing_at_all():
    assert tool_for("", []) == ""
    assert tool_for("What which does have?", [SCHEMAS["weather"]]) == ""
