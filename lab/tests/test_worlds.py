"""The task sets: every task can be solved with the tools of its world, and wrong answers do not pass."""

from __future__ import annotations

from collections import Counter

import pytest

from kit import call, go
from lab_kit import LAB
from treadle import ScriptedModel, Tool
from treadle._cli.setup.toolbox import find_tools
from treadle._inspect.evals.checks import contains
from treadle._inspect.evals.runner import Variant, run_task
from treadle._inspect.evals.tasks import Task, TaskSet, load_tasks
from treadle._types.errors import ToolError

EVALS = LAB / "evals"
WORLDS = ("shop", "office", "travel", "clinic")


def world_tools(name: str, **options: bool) -> list[Tool]:
    return find_tools([f"{EVALS / 'worlds' / name}.py:tools", "calculator"], **options)


def make_tool(name: str) -> Tool:
    return next(tool for tool in world_tools("all_worlds") if tool.name == name)


SETS = {name: load_tasks(EVALS / f"{name}.jsonl", world_tools(name, call_factories=False)) for name in WORLDS}
CASES = [pytest.param(tasks, task, id=task.id) for tasks in SETS.values() for task in tasks.tasks]
LATER = {
    path.stem: load_tasks(path, world_tools(path.stem, call_factories=False))
    for path in sorted((EVALS / "later").glob("*.jsonl"))
}
"""Written by others, with checks of their own style."""
KINDS = {"single", "choose", "chain", "none", "recovery"}


def play(tasks: TaskSet, task: Task, *script: object):
    return go(run_task(tasks, Variant("v", ScriptedModel([*script])), task))


@pytest.mark.parametrize(("tasks", "task"), CASES)
def test_the_solution_passes_and_other_answers_do_not(tasks: TaskSet, task: Task):
    assert task.solution is not None
    calls = [call(step.tool, **step.args) for step in task.solution.calls]
    solved = play(tasks, task, *calls, task.solution.answer)
    assert solved.passed, solved.problems
    assert solved.calls == tuple(step.tool for step in task.solution.calls)
    assert not play(tasks, task, *calls, "I do hope this helps.").passed
    if task.kind == "none":
        assert task.tools
        unneeded = play(tasks, task, call(task.tools[0]), task.solution.answer)
        assert not unneeded.passed
    else:
        assert not play(tasks, task, task.solution.answer).passed, "an answer without a tool must not pass"


@pytest.mark.parametrize("tasks", LATER.values(), ids=LATER.keys())
def test_tasks_written_by_others_can_be_solved_and_not_by_chance(tasks: TaskSet):
    assert len(tasks.tasks) == 18
    for task in tasks.tasks:
        assert task.solution is not None
        calls = [call(step.tool, **step.args) for step in task.solution.calls]
        solved = play(tasks, task, *calls, task.solution.answer)
        assert solved.passed, (task.id, solved.problems)
        assert not play(tasks, task, *calls, "I do hope this helps.").passed, task.id
        assert task.kind == "none" or not play(tasks, task, task.solution.answer).passed, task.id


@pytest.mark.parametrize(("tasks", "task"), [case for case in CASES if case.values[1].kind in ("single", "choose")])
def test_what_the_check_expects_is_what_the_tool_returns(tasks: TaskSet, task: Task):
    assert task.solution is not None
    tools = {tool.name: tool for tool in tasks.make_tools(task)}
    results = " ".join(str(tools[step.tool](**step.args)) for step in task.solution.calls)
    expected = task.check.answer_contains
    for item in expected if isinstance(expected, tuple) else (expected,):
        assert contains(results, item), results


def test_the_sets_are_spread_as_they_should_be():
    every = [task for tasks in SETS.values() for task in tasks.tasks]
    assert {name: len(tasks.tasks) for name, tasks in SETS.items()} == {
        "shop": 35,
        "office": 35,
        "travel": 24,
        "clinic": 24,
    }
    assert len({task.id for task in every}) == len({task.question for task in every}) == len(every)
    for name, tasks in SETS.items():
        assert {task.kind for task in tasks.tasks} == KINDS
        assert all(task.id.startswith(f"{name}-{task.kind}-") for task in tasks.tasks)
        for kind in KINDS:
            splits = Counter(task.split for task in tasks.tasks if task.kind == kind)
            least, most = (1, 1) if name in ("travel", "clinic") else (0.25, 0.45)
            assert least <= splits["held"] / splits.total() <= most
    for name, tasks in SETS.items():
        assert {tool for task in tasks.tasks for tool in task.tools or ()} <= {tool.name for tool in world_tools(name)}
    later = [task for tasks in LATER.values() for task in tasks.tasks]
    used = {tool for task in [*every, *later] for tool in task.tools or ()}
    assert used == {tool.name for tool in world_tools("all_worlds")}


# ---- the tools of the worlds


def test_the_order_desk_fails_once_in_every_run():
    for _ in range(2):
        desk = make_tool("order_status")
        with pytest.raises(ToolError, match="call again"):
            desk(order_id="A-1001")
        assert "arrives on 2026-03-06" in desk(order_id=" a-1001 ")


def test_the_airport_fails_once_in_every_run():
    for _ in range(2):
        airport = make_tool("flight_status")
        with pytest.raises(ToolError, match="call again"):
            airport(flight="F-422")
        assert "from gate A3" in airport(flight=" f-422 ")


def test_the_laboratory_fails_once_in_every_run():
    for _ in range(2):
        laboratory = make_tool("lab_result")
        with pytest.raises(ToolError, match="call again"):
            laboratory(sample="S-224")
        assert "too little iron" in laboratory(sample=" s-224 ")


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("convert_units", {"value": 212, "from_unit": "Fahrenheit", "to_unit": "°C"}, "212 fahrenheit = 100 celsius"),
        ("convert_units", {"value": 2, "from_unit": "feet", "to_unit": "inches"}, "2 foot = 24 inch"),
        ("convert_units", {"value": 1, "from_unit": "kilogrammes", "to_unit": "g"}, "no unit"),
        ("convert_units", {"value": 1, "from_unit": "kg", "to_unit": "m"}, "cannot be converted"),
        ("shipping_cost", {"weight_kg": 31, "country": "Japan"}, "at most 30 kg"),
        ("product_info", {"name": "KETTLE"}, "kettle: SKU K-100, price 34.90 EUR"),
        ("product_info", {"name": "car"}, "there is no product 'car'; known are: kettle"),
        ("add_days", {"day": "2026-01-01", "days": 10**9}, "too far away"),
        ("weekday", {"day": "5 March"}, "YYYY-MM-DD"),
        ("room_bookings", {"room": "cirrus", "day": "2026-01-01"}, "free all day"),
        ("distance", {"origin": "Lisbon", "destination": "madrid"}, "625 km"),
        ("distance", {"origin": "Paris", "destination": "Oslo"}, "no city 'Paris'"),
        ("count_letter", {"text": "Banana", "letter": "A"}, "3 times"),
        ("count_letter", {"text": "Banana", "letter": "an"}, "exactly one"),
        ("translate", {"word": "Bread", "language": "welsh"}, "bara"),
        ("exchange_rate", {"source": "chf", "target": "EUR"}, "1 CHF = 1.1 EUR"),
        (
            "train_times",
            {"start": "turin", "destination": "LYON"},
            "train R-119, leaves 14:25, arrives 18:10, platform 2",
        ),
        ("train_times", {"start": "Porto", "destination": "Lyon"}, "there is no train from 'Porto'; known are: Lyon"),
        (
            "train_times",
            {"start": "Lyon", "destination": "Graz"},
            "there is no train from Lyon to 'Graz'; known are: Turin, Bern",
        ),
        ("train_fare", {"train": "r-302"}, "second class 42.50 EUR, first class 68.00 EUR"),
        ("hotel_info", {"name": "old mill inn"}, "city Graz, 3 stars, room code MI-20, breakfast until 10:00"),
        ("room_price", {"code": "ZZ-1"}, "there is no room code 'ZZ-1'; known are: MI-20"),
        ("forecast", {"city": "graz", "day": "sunday"}, "foggy, 9 degrees Celsius"),
        ("forecast", {"city": "Lyon", "day": "Sat"}, "there is no day 'Sat'; known are: Monday, Tuesday"),
        ("visa_rule", {"country": "india"}, "it costs 35 EUR"),
        ("patient_record", {"name": "hazel"}, "rabbit, weight 1.9 kg, owner Mira Stahl, takes Pulvexin"),
        ("patient_record", {"name": "Rex"}, "there is no patient 'Rex'; known are: Biscuit, Pepper"),
        ("owner_contact", {"name": "leo  marek"}, "phone 77592, lives in Millbrook"),
        ("next_appointment", {"patient": "NALA"}, "Monday at 10:05, doctor: Karl Ostrow"),
        ("doctor_info", {"name": "Samir Haddad"}, "special field birds, room 9"),
        ("doctor_info", {"name": "Dr. Haddad"}, "there is no doctor 'Dr. Haddad'; known are: Karl Ostrow"),
        ("medicine_info", {"name": "artrolin"}, "32.00 EUR a pack, 40 tablets in a pack, shelf B1"),
        ("opening_hours", {"day": "sunday"}, "closed all day"),
    ],
)
def test_tools(name: str, args: dict[str, object], result: str):
    try:
        text = make_tool(name)(**args)
    except ToolError as error:
        text = str(error)
    assert result in text
