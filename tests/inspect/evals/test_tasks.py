"""Task files, and tasks with the tools that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import ScriptedModel, Tool, Toolkit, tool
from treadle._inspect.evals.checks import Check, ExpectedCall, ToolsCalled
from treadle._inspect.evals.runner import Variant, run_tasks
from treadle._inspect.evals.tasks import Task, read_task_file, task_set
from treadle._types.errors import ConfigError, DuplicateToolError

GOOD = '{"id": "a", "kind": "k", "question": "q", "check": {"max_steps": 1}}'


@tool(effect="pure")
def my_price(name: str) -> str:
    """The price of a thing."""
    return f"{name} costs 12 EUR"


@tool(effect="pure")
def my_stock(name: str) -> str:
    """How many there are of a thing."""
    return "3"


def make_counter() -> list[Tool]:
    """A tool with a memory."""
    count = 0

    @tool
    def count_up() -> int:
        """Count."""
        nonlocal count
        count += 1
        return count

    return [count_up]


def task(tools: tuple[str, ...] | None = None, **check: Any) -> Task:
    return Task("t1", "k", "q", Check(**check) if check else Check(answer_contains="12"), tools)


def names(tasks: Any) -> list[str]:
    return [one.name for one in tasks.make_tools(tasks.tasks[0])]


def test_a_task_is_offered_the_tools_it_names_in_its_own_order():
    assert names(task_set("s", [task(("my_stock", "my_price"))], [my_price, my_stock])) == ["my_stock", "my_price"]


def test_a_task_that_names_no_tools_is_offered_all_of_them():
    assert names(task_set("s", [task()], Toolkit([my_price, my_stock]))) == ["my_price", "my_stock"]
    assert names(task_set("s", [task(())], [my_price, my_stock])) == [], "an empty list means none"
    assert names(task_set("s", [task()])) == []


def test_plain_functions_and_tool_makers_may_be_mixed():
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    assert names(task_set("s", [task()], [my_price, make_counter, double])) == ["my_price", "count_up", "double"]


def test_a_tool_with_a_memory_starts_afresh_for_every_run():
    tasks = task_set("s", [task(("count_up",), answer_contains="1")], [make_counter])
    model = ScriptedModel(lambda request: str(request.messages[-1].content) if len(request.messages) > 1 else COUNT)
    trials = go(run_tasks(tasks, [Variant("v", model)], repeats=3))
    assert [trial.answer for trial in trials] == ["1", "1", "1"]


COUNT = call("count_up")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (task(("my_prize",)), "task 't1' names the tool 'my_prize', which was not given; did you mean 'my_price'?"),
        (
            task(("weather",)),
            "task 't1' names the tool 'weather', which is not among the tools given (my_price, my_stock): "
            "give it with --tools (module:name, file.py:name or the name of a built-in tool), "
            "or in Python with load_tasks(path, tools=[...]); a function that makes tools says so: "
            "def tools() -> list[Tool]",
        ),
        (task(("my_price", "my_price")), "task 't1' names the tool 'my_price' twice"),
        (
            task(("my_price",), tools_called=ToolsCalled(exact={"my_stock": 1})),
            "the check of task 't1' names the tool 'my_stock', which the task does not offer: add it to its 'tools'",
        ),
        (task(tools_called=ToolsCalled(order=("weather",))), "the check of task 't1' names the tool 'weather'"),
        (task(args=(ExpectedCall("weather", {}),)), "the check of task 't1' names the tool 'weather'"),
        (Task("t1", "k", "q", Check()), "the check of task 't1' is empty"),
        (task(answer_regex="("), "the check of task 't1' has an invalid pattern '('"),
        (task(all=(Check(answer_regex="["),)), "invalid pattern '['"),
    ],
)
def test_a_bad_task_is_refused_by_name(bad: Task, message: str):
    with pytest.raises(ConfigError) as refused:
        task_set("s", [bad], [my_price, my_stock])
    assert message in str(refused.value)


def test_without_any_tools_the_message_says_how_to_give_them():
    with pytest.raises(ConfigError, match="task 't1' names the tool 'my_price', but no tools were given: give it with"):
        task_set("s", [task(("my_price",))])


def test_two_tools_with_one_name_are_refused():
    with pytest.raises(DuplicateToolError, match="my_price"):
        task_set("s", [task()], [my_price, my_price])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "truncated"),
        ('{"id": "x"}', "missing required field"),
        (GOOD, "there is already a task with the id 'a'"),
        ('{"id": "b", "kind": "k", "question": "q", "check": {"python": "1"}}', "expected one of: "),
        ("[" * 100_000, ""),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, line: str, message: str):
    path = tmp_path / "t.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(ConfigError, match=r"t\.jsonl, line 2: ") as refused:
        read_task_file(path)
    assert message in str(refused.value)


def test_blank_lines_are_skipped(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text(f"\n{GOOD}\n\n")
    assert [one.id for one in read_task_file(tmp_path / "t.jsonl")] == ["a"]


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_task_file(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(ConfigError, match="holds no task"):
        read_task_file(tmp_path / "empty.jsonl")
    (tmp_path / "odd.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_task_file(tmp_path / "odd.jsonl")
