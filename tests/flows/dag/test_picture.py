"""A plan drawn from the log."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from treadle._flows.dag.picture import COLOURS, mermaid, plan_diagram, read, svg
from treadle._types import events as ev

PLAN = ev.DagPlanned(
    1,
    (
        ev.PlannedStep("a", 'find "the" <price> & more ' + "x" * 60),
        ev.PlannedStep("b", "second"),
        ev.PlannedStep("c", "sum", ("a", "b")),
    ),
)
SVG = "{http://www.w3.org/2000/svg}"


def log(*events: Any) -> list[ev.Record]:
    return [ev.Record("run", n, 0.0, event) for n, event in enumerate((ev.RunStarted("q"), *events))]


WORK = (
    ev.StepStarted("a", "run-a", "find"), ev.StepStarted("b", "run-b", "second"),
    ev.StepDone("a", "completed", elapsed=1.25),
)  # fmt: skip


def test_each_step_is_as_far_as_the_log_says():
    picture = read(log(PLAN, *WORK))
    assert picture.status == {"a": "completed", "b": "running", "c": "waiting"}
    assert picture.seconds == {"a": 1.25}


def test_the_last_plan_counts():
    again = ev.DagPlanned(2, (ev.PlannedStep("z", "new"),))
    picture = read(log(PLAN, *WORK, again))
    assert picture.status == {"z": "waiting"}


@pytest.mark.parametrize(("format", "empty"), [("mermaid", "graph LR"), ("svg", 'width="1"')])
def test_a_run_without_a_plan_has_an_empty_picture(format: Any, empty: str):
    assert empty in plan_diagram(log(), format)
    assert plan_diagram(log(ev.StepDone("a", "completed")), format) == plan_diagram(log(), format)


def test_ids_and_tasks_of_a_model_cannot_change_the_picture():
    evil = 'x"] --> y; click z "javascript:alert(1)"'
    plan = ev.DagPlanned(
        1,
        (ev.PlannedStep(evil, "a <script> `task`"), ev.PlannedStep("end", "t", (evil,)), ev.PlannedStep("class", "t")),
    )
    lines = mermaid(log(plan)).splitlines()
    assert [line.split("[")[0] for line in lines[1:6] if "[" in line] == ["  step_1_", "  step_2_", "  step_3_"]
    assert "  step_1_ --> step_2_" in lines
    for line in lines[1:5]:
        assert not any(sign in line.replace('["', "").replace('"]', "") for sign in '"<>`()') or "-->" in line


def test_mermaid_has_a_node_for_each_step_and_an_arrow_for_each_dependency():
    lines = mermaid(log(PLAN, *WORK)).splitlines()
    assert lines[0] == "graph LR"
    assert "  a --> c" in lines
    assert "  b --> c" in lines
    (first,) = [line for line in lines if line.startswith("  a[")]
    assert first.endswith(":::completed")
    assert first.count('"') == 2
    assert "…" in first
    assert plan_diagram(log(PLAN, *WORK)) == "\n".join(lines)


def test_every_status_has_a_colour():
    text = mermaid(log(PLAN))
    for status in COLOURS:
        assert f"classDef {status} " in text


def test_the_svg_is_well_formed_and_shows_tasks_states_and_times():
    root = ElementTree.fromstring(svg(log(PLAN, *WORK)))
    assert len(root.findall(f"{SVG}g")) == 3
    assert len(root.findall(f"{SVG}path")) == 2
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "completed 1.2 s" in texts
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[0].startswith('find "the" <price> & more')  # type: ignore[union-attr]
    assert plan_diagram(log(PLAN, *WORK), "svg") == svg(log(PLAN, *WORK))


def test_waves_stand_side_by_side_and_nothing_overlaps():
    root = ElementTree.fromstring(svg(log(PLAN)))
    boxes = [(float(r.get("x", 0)), float(r.get("y", 0))) for r in root.iter(f"{SVG}rect")]
    (ax, ay), (bx, by), (cx, _) = boxes
    assert ax == bx < cx
    assert ay != by
    assert float(root.get("width", 0)) > cx
    assert len(set(boxes)) == 3


def test_a_status_of_a_newer_version_is_drawn_like_one_that_waits():
    assert COLOURS["waiting"][0] in svg(log(PLAN, ev.StepDone("a", "postponed")))
