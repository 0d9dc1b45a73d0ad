"""Written worlds: each task is what the engine does, says nothing that nobody said, and is in no task set."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
from training.render import render
from training.scenario import Act, Say, Scenario
from training.worlds.tools import Facts
from training.written import __main__ as checker

from training import slips, written
from treadle import Tool

ROOT = Path(__file__).resolve().parents[2]
WORLDS = written.worlds()


@pytest.mark.parametrize("name", [world.name for world in WORLDS])
def test_a_world_fits(name: str):
    assert asyncio.run(checker.check(written.FOLDER / f"{name}.json")) == []


def test_all_kinds_are_there_and_some_languages():
    assert {task.kind for world in WORLDS for task in world.tasks} == {
        "single", "choose", "chain", "recovery", "none", "unable",
    }  # fmt: skip
    assert len({world.language for world in WORLDS}) >= 5
    assert any(len(world.tools) == 1 for world in WORLDS)


def test_no_question_is_one_of_a_task_set():
    ours = {ask.lower().strip(" ?.!") for world in WORLDS for task in world.tasks for ask in task.ask}
    for path in [*(ROOT / "evals").glob("*.jsonl"), *(ROOT / "evals" / "later").glob("*.jsonl")]:
        theirs = [json.loads(line)["question"] for line in path.read_text().splitlines()]
        assert theirs
        assert not {question.lower().strip(" ?.!") for question in theirs} & ours


def test_a_number_that_nobody_said_is_found():
    assert checker.made_up("It weighs 48.5 kg.", "weight: 48.5") == []
    assert checker.made_up("It weighs 49 kg.", "weight: 48.7") == []
    assert checker.made_up("It costs 1,250.50 EUR.", "cost 1250.50") == []
    assert checker.made_up("It weighs 51 kg.", "weight: 48.5") == ["51"]


def test_ids_get_other_digits_that_are_the_same_everywhere():
    task = next(task for world in WORLDS for task in world.tasks if written.SHAPE.search(task.answer))
    other = written.with_other_ids(random.Random(3), task, "")
    changed = {"".join(found) for found in written.SHAPE.findall(other.answer)}
    assert changed
    assert changed != {"".join(found) for found in written.SHAPE.findall(task.answer)}
    said = other.ask[0] + "".join(str(step) for step in other.steps)
    assert all(id in said for id in changed)


def hasty() -> Scenario:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    named = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tools = [
        Tool("find", "Finds a boat by its name.", named, lambda name: "B-417", effect="pure"),
        Tool("length", "Tells the length of a boat.", schema, lambda id: "9.4 m", effect="pure"),
    ]
    script = [Act("find", {"name": "Ida"}), Act("length", {"id": "B-417"}), Say("Ida is 9.4 m long.")]
    return Scenario("chain", tools, "How long is Ida?", script, fill=False)


def test_a_chain_that_is_begun_at_its_end_is_refused_by_the_engine_and_goes_on():
    r = random.Random(1)
    conversation = asyncio.run(render(r, Facts(r), slips.begun_at_the_end(r, hasty()), "", 0))
    assert conversation is not None
    assert [turn.trained for turn in conversation.turns] == [False, True, True, True]
    assert "was not called" in conversation.turns[1].prompt
