"""The task sets that are shipped: every task can be solved, and its check knows right from wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kit import call, go
from treadle import ScriptedModel
from treadle._evals.checks import contains
from treadle._evals.runner import Variant, run_task
from treadle._evals.tasks import Task, TaskSet, load_tasks
from treadle._evals.toolbox import TOOLS, make_tools
from treadle._types.errors import ConfigError, ToolError

SETS = {
    name: load_tasks(Path(__file__).parents[2] / "evals" / f"{name}.jsonl")
    for name in ("shop", "office", "travel", "clinic")
}
CASES = [pytest.param(tasks, task, id=task.id) for tasks in SETS.values() for task in tasks.tasks]
KINDS = {"single", "choose", "chain", "none", "recovery"}


def play(tasks: TaskSet, task: Task, *script: object):
    return go(run_task(tasks, Variant("v", ScriptedModel([*script])), task))


@pytest.mark.parametrize(("tasks", "task"), CASES)
def test_the_solution_passes_and_other_answers_do_not(tasks: TaskSet, task: Task):
    assert task.solution is not None
    made = [call(step.tool, **step.args) for step in task.solution.calls]
    solved = play(tasks, task, *made, task.solution.answer)
    assert solved.passed, solved.problems
    assert solved.calls == tuple(step.tool for step in task.solution.calls)
    assert not play(tasks, task, *made, "I do hope this helps.").passed
    if task.kind == "none":
        name = task.tools[0]
        unneeded = play(tasks, task, call(name), task.solution.answer)
        assert not unneeded.passed
    else:
        assert not play(tasks, task, task.solution.answer).passed, "an answer without a tool must not pass"


@pytest.mark.parametrize(("tasks", "task"), [case for case in CASES if case.values[1].kind in ("single", "choose")])
def test_what_is_wanted_is_what_the_tool_says(tasks: TaskSet, task: Task):
    assert task.solution is not None
    tools = {tool.name: tool for tool in tasks.make_tools(task)}
    said = " ".join(str(tools[step.tool](**step.args)) for step in task.solution.calls)
    wanted = task.check.answer_contains
    for item in wanted if isinstance(wanted, tuple) else (wanted,):
        assert contains(said, item), said


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
    assert {name for task in every for name in task.tools} == set(TOOLS)


# ---- the toolbox


def test_the_order_desk_fails_once_in_every_run():
    for _ in range(2):
        (desk,) = make_tools(["order_status"])
        with pytest.raises(ToolError, match="call again"):
            desk(order_id="A-1001")
        assert "arrives on 2026-03-06" in desk(order_id=" a-1001 ")


def test_the_airport_fails_once_in_every_run():
    for _ in range(2):
        (airport,) = make_tools(["flight_status"])
        with pytest.raises(ToolError, match="call again"):
            airport(flight="F-422")
        assert "from gate A3" in airport(flight=" f-422 ")


def test_the_laboratory_fails_once_in_every_run():
    for _ in range(2):
        (laboratory,) = make_tools(["lab_result"])
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
    (made,) = make_tools([name])
    try:
        said = made(**args)
    except ToolError as error:
        said = str(error)
    assert result in said


def test_an_unknown_tool_is_named():
    with pytest.raises(ConfigError, match="no tool 'calcultor'; did you mean 'calculator'"):
        make_tools(["calcultor"])


# ---- files


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2"),
        ('{"id": "x"}', "missing required field"),
        ('{"id": "a", "kind": "k", "question": "q", "check": {"max_steps": 1}}', "there is a task 'a' already"),
        ('{"id": "b", "kind": "k", "question": "q", "check": {}}', "the check is empty"),
        ('{"id": "b", "kind": "k", "question": "q", "check": {"answer_regex": "("}}', "line 2"),
        ('{"id": "b", "kind": "k", "question": "q", "tools": ["nope"], "check": {"max_steps": 1}}', "no tool 'nope'"),
        (
            '{"id": "b", "kind": "k", "question": "q", "check": {"tools_called": {"exact": {"weather": 1}}}}',
            "speaks of 'weather'",
        ),
        ('{"id": "b", "kind": "k", "question": "q", "check": {"python": "1"}}', "unknown field"),
    ],
)
def test_a_bad_task_is_refused_with_its_place(tmp_path: Path, line: str, said: str):
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": "a", "kind": "k", "question": "q", "check": {"max_steps": 1}}\n' + line + "\n")
    with pytest.raises(ConfigError, match=r"t\.jsonl, line 2") as refused:
        load_tasks(path)
    assert said in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tasks(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(ConfigError, match="holds no task"):
        load_tasks(tmp_path / "empty.jsonl")
    (tmp_path / "odd.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tasks(tmp_path / "odd.jsonl")
