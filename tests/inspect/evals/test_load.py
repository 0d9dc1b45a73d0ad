"""Loading tasks by path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import add, echo
from treadle._inspect.evals.load import load_tasks
from treadle._types.errors import ConfigError


def test_a_file_with_the_tools_it_names(tmp_path: Path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "a", "kind": "k", "question": "q", "tools": ["add"], "check": {"answer_contains": 3}}')
    tasks = load_tasks(path, [add, echo])
    assert (tasks.name, [task.id for task in tasks.tasks]) == ("mine", ["a"])
    assert [tool.name for tool in tasks.make_tools(tasks.tasks[0])] == ["add"]
    with pytest.raises(ConfigError, match=r"mine\.jsonl: task 'a' names the tool 'add'"):
        load_tasks(str(path), [echo])


def test_a_folder_brings_its_own_tools(tmp_path: Path):
    (tmp_path / "tasks.json").write_text(json.dumps([{"id": "q1", "question": "q", "answer": "yes"}]))
    (tmp_path / "wiki.json").write_text('{"Loom": ["A loom weaves."]}')
    tasks = load_tasks(tmp_path)
    assert [tool.name for tool in tasks.make_tools(tasks.tasks[0])] == ["search", "lookup"]
    with pytest.raises(ConfigError, match="omit --tools"):
        load_tasks(tmp_path, [add])
