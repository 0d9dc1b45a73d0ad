"""Plans: read from data that a model wrote, checked, kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._flows.dag.plan import MAX_STEPS, DagStep, Plan, fingerprint, resolve
from treadle._types.errors import ConfigError


def row(step_id: str, task: str = "do it", *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "task": task, "dependencies": list(needs), **more}


def parse(*rows: dict[str, Any], **options: Any) -> Plan:
    return Plan.parse({"steps": list(rows)}, **options)


def test_a_plan_keeps_tasks_hints_and_dependencies():
    plan = parse(row("a", "find"), row(" b ", "sum", "a", tool_hint="add", model_hint=None))
    assert plan.steps == (DagStep("a", "find"), DagStep("b", "sum", ("a",), tool_hint="add"))
    assert plan.notes == ()


def test_a_reference_in_a_task_is_a_dependency():
    plan = parse(row("a"), row("b"), row("c", "add $a.price and $b; $nothing stays", "b"))
    assert plan.steps[2].dependencies == ("b", "a")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row("a"), row("a")], "same id: a"),
        ([row("a", "x", "b"), row("b", "x", "a")], "a, b wait for each other"),
        ([row("a"), row("b", "$c"), row("c", "$b")], "b, c wait for each other"),
        ([row(f"s{n}") for n in range(MAX_STEPS + 1)], "this one has 11"),
        ([], "this one has 0"),
    ],
    ids=["double", "circle", "circle of references", "too many", "none"],
)
def test_what_is_no_plan_is_refused(rows: list[Any], says: str):
    with pytest.raises(ValueError, match=says):
        parse(*rows)


def test_steps_come_in_waves():
    plan = parse(row("d", "x", "b", "c"), row("b", "x", "a"), row("c", "x", "a"), row("a"), row("e"))
    assert [[step.id for step in wave] for wave in plan.levels()] == [["a", "e"], ["b", "c"], ["d"]]


names = [f"s{n}" for n in range(MAX_STEPS)]


@given(st.lists(st.lists(st.sampled_from(names), max_size=4), min_size=1, max_size=MAX_STEPS))
def test_any_plan_either_has_waves_that_respect_it_or_is_refused(needs: list[list[str]]):
    rows = [row(names[n], "x", *others) for n, others in enumerate(needs)]
    try:
        plan = parse(*rows)
    except ValueError:
        return
    done: set[str] = set()
    for wave in plan.levels():
        assert all(set(step.dependencies) <= done for step in wave)
        done |= {step.id for step in wave}
    assert done == {step.id for step in plan.steps}


def test_a_file_that_holds_no_plan_is_named(tmp_path: Path):
    path = tmp_path / "bad.json"
    with pytest.raises(ConfigError, match=r"bad\.json is not a plan"):
        Plan.load(path)  # it is missing
    for content in ("{", "[]", '{"steps": [{"task": "x"}]}', '{"steps": []}', "{}"):
        path.write_text(content)
        with pytest.raises(ConfigError, match=r"bad\.json is not a plan"):
            Plan.load(path)


def test_a_plan_survives_the_log():
    plan = parse(row("a"), row("b", "x", "a", "zz"))
    record = plan.as_record(2, 1)
    assert (record.round, record.free_replans) == (2, 1)
    assert Plan.of_record(record) == plan


def test_references_are_replaced_by_what_was_found():
    whole = '{"price": 5, "tags": ["x", "y"], "deep": {"x": {"z": 1}}}'
    for task, resolved in {
        "use $b.price, $b.tags.1 and $b.deep.x": 'use 5, y and {"z":1}',
        "use $b.missing": f"use {whole}",
        "use $a.field": "use three",
        "$unknown costs $5 or $": "$unknown costs $5 or $",
        "$b.tags.9": whole,
        "as it is: $c": r"as it is: \1 $b",
    }.items():
        assert resolve(DagStep("c", task), {"a": "three", "b": whole, "c": r"\1 $b"}) == resolved


def test_the_same_work_on_the_same_inputs_has_the_same_fingerprint():
    step = DagStep("a", "sum", tool_hint="add")
    first = fingerprint(step, "sum", {"x": "1", "y": "2"})
    assert fingerprint(DagStep("other", "sum", tool_hint="add"), "sum", {"p": "2", "q": "1"}) == first
    for other in (
        fingerprint(step, "sum up", {"x": "1", "y": "2"}),
        fingerprint(step, "sum", {"x": "1"}),
        fingerprint(DagStep("a", "sum"), "sum", {"x": "1", "y": "2"}),
        fingerprint(DagStep("a", "sum", tool_hint="add", model_hint="fast"), "sum", {"x": "1", "y": "2"}),
    ):
        assert other != first
