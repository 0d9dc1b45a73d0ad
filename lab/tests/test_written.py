"""Written worlds: each task is what the engine does, says nothing that nobody said, and is in no task set."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import msgspec
import pytest

from training import build, recipe, slips, written
from training.render import render
from training.scenario import Act, Say, Scenario
from training.worlds.tools import Facts
from training.written import __main__ as checker
from training.written import refusals, renaming
from treadle import Tool

LAB = Path(__file__).resolve().parents[1]
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


def test_no_question_is_one_of_a_test():
    ours = {ask.lower().strip(" ?.!") for world in WORLDS for task in world.tasks for ask in task.ask}
    for path in [*(LAB / "evals").glob("*.jsonl"), *(LAB / "evals" / "later").glob("*.jsonl")]:
        theirs = [json.loads(line)["question"] for line in path.read_text().splitlines()]
        assert theirs
        assert not {question.lower().strip(" ?.!") for question in theirs} & ours


def test_no_question_is_one_of_the_knowledge_test():
    ours = {ask.lower().strip(" ?.!") for world in WORLDS for task in world.tasks for ask in task.ask}
    known = [json.loads(line)["question"] for line in (LAB / "training" / "knowledge.jsonl").read_text().splitlines()]
    assert known
    assert not {question.lower().strip(" ?.!") for question in known} & ours


def test_a_number_that_nobody_said_is_found():
    assert checker.made_up("It weighs 48.5 kg.", "weight: 48.5") == []
    assert checker.made_up("It weighs 49 kg.", "weight: 48.7") == []
    assert checker.made_up("It costs 1,250.50 EUR.", "cost 1250.50") == []
    assert checker.made_up("It weighs 51 kg.", "weight: 48.5") == ["51"]


def test_ids_get_other_digits_that_are_the_same_in_every_form():
    task = written.Task(
        "recovery",
        ["The status of 447?", "tal-447?"],
        [written.Call("get", {"key": "447"}, fails="write TAL-0447"), written.Call("get", {"key": "TAL-0447"}, "open")],
        "TAL-0447 is open since 2026-05-03, week 12.",
    )
    other = written.with_other_ids(random.Random(3), task, "")
    digits = other.steps[0].args["key"]
    assert digits != "447"
    assert other.ask == [f"The status of {digits}?", f"tal-{digits}?"]
    assert other.steps[1].args == {"key": f"TAL-0{digits}"}
    assert other.answer == f"TAL-0{digits} is open since 2026-05-03, week 12."
    assert written.with_other_ids(random.Random(3), task, "e.g. TAL-447") == task


def test_a_day_that_has_the_digits_of_an_id_stays_as_it_is():
    step = written.Call("list", {"list": "LA00014", "days": 14}, "3 names")
    task = written.Task("single", ["LA00014 for a fortnight", "list LA00014, two weeks"], [step], "3 names.")
    assert written.with_other_ids(random.Random(3), task, "") == task
    other = msgspec.structs.replace(task, steps=[written.Call("list", {"list": "LA00014", "days": 7}, "3 names")])
    assert written.with_other_ids(random.Random(3), other, "") != other


def boats() -> tuple[written.World, written.Task]:
    schema = {"type": "object", "properties": {"boat_id": {"type": "string"}, "day": {"type": "string"}}}
    tools = [
        written.Described("find_boat", "Finds the boat_id of a boat.", schema),
        written.Described("berth_plan", "Tells who lies where. See find_boat.", schema),
        written.Described("weather", "Tells the weather.", schema),
    ]
    task = written.Task(
        "chain",
        ["Does find_boat know the Tern?"],
        [written.Call("find_boat", {"boat_id": "Tern"}, fails="boat_id: see berth_plan"), written.Call("weather", {})],
        "It does, says find_boat.",
    )
    return written.World("boats", tools, [task]), task


def test_tools_and_parameters_get_other_names_wherever_they_stand():
    world, task = boats()
    seen: set[str] = set()
    for seed in range(60):
        other, said = written.with_other_names(random.Random(seed), world, task)
        find, plan, weather = (tool.name for tool in other.tools)
        (identifier,) = {*other.tools[0].parameters["properties"]} - {"day"}
        assert weather == "weather"
        assert identifier in ("boat_id", "boatId")
        assert other.tools[0].description == f"Finds the {identifier} of a boat."
        assert other.tools[1].description == f"Tells who lies where. See {find}."
        assert said.steps[0] == written.Call(find, {identifier: "Tern"}, fails=f"{identifier}: see {plan}")
        assert (said.ask, said.answer) == (task.ask, task.answer), "what people say stays as it is"
        assert len({find, plan, weather}) == 3
        seen |= {find, plan}
    assert {"tool_1", "tool_2", "lookup_boat", "searchBoat", "BerthPlan", "get-berth-plan"} <= seen


def test_names_that_would_be_the_same_stay_as_they_are():
    for seed in range(30):
        others = renaming.other_names(random.Random(seed), ["get_boat", "getBoat"], ["boat_id", "boatId"])
        assert len(set(others.values())) == len(others)


def test_nothing_is_learnt_from_a_world_that_is_held_out():
    held = [world for world in WORLDS if written.held_out(world)]
    assert 0.05 < len(held) / len(WORLDS) < 0.15
    theirs = {ask for world in held for task in world.tasks for ask in task.ask}
    theirs -= {ask for world in WORLDS if world not in held for task in world.tasks for ask in task.ask}

    async def questions(hold_out: bool) -> set[str]:
        made = build.conversations(0.05, 4, None, None, hold_out)
        return {ask async for one in made for ask in theirs if ask in one.turns[-1].prompt}

    async def measured_by() -> list[str]:
        return [one.turns[0].prompt async for one in build.held_conversations(4)]

    assert asyncio.run(questions(hold_out=True)) == set()
    assert asyncio.run(questions(hold_out=False))
    prompts = asyncio.run(measured_by())
    assert len(prompts) == sum(len(world.tasks) for world in held)
    as_written = [any(ask in prompt for ask in theirs) for prompt in prompts[::20]]
    assert sum(as_written) > 0.7 * len(as_written), "the others have other ids"


def test_a_calculator_stands_beside_what_no_tool_can_do_as_well():
    """Else a model learns that there is always a way where there is one."""
    r = random.Random(5)
    kinds = {"unable": 1.0, **dict.fromkeys(("single", "choose", "chain", "recovery", "none"), 0.0)}
    made = list(written.scenarios(r, kinds, WORLDS[:60]))
    assert {one.kind for one in made} == {"written_unable"}
    # its name may be another one, what it takes is not
    computes = [
        any("expression" in str(tool.parameters) for tool in one.tools if isinstance(tool, Tool)) for one in made
    ]
    assert 0.15 < sum(computes) / len(made) < 0.6


def test_what_no_tool_can_do_is_refused_plainly():
    """`I can see A, but not B` sounds like an answer: plain words stand before it."""
    r = random.Random(2)
    english = [world for world in WORLDS if world.language == "en"][:150]
    made = list(written.scenarios(r, {**dict.fromkeys(build.WRITTEN, 0.0), "unable": 1.0}, english))
    said = [step.text for one in made for step in one.script if isinstance(step, Say)]
    assert len(said) > 500
    back = [text for text in said if text.endswith("?")]
    assert len(back) < 0.05 * len(said), "those ask for what is missing"
    plain = ("can't", "cannot", "could not", "couldn't", "don't", "do not", "doesn't", "does not", "none of", "nothing")
    plain = (*plain, "have no", "no tool", "no way")
    vague = [text for text in said if text not in back and not any(word in text.lower() for word in plain)]
    assert len(vague) < 0.1 * len(said), vague[:5]
    assert refusals.plainly(r, "Which one?", "I see neither.") != "I see neither."
    assert refusals.plainly(r, "Which one?", "None of my tools knows.") == "None of my tools knows."


def test_a_recipe_is_read():
    assert recipe.recipe_of("rate=2e-4,dropout=0.1") == recipe.Recipe(2e-4, 0.1)
    assert recipe.recipe_of("") == recipe.Recipe()
    with pytest.raises(TypeError, match="speed"):
        recipe.recipe_of("speed=2")


def test_every_way_to_ask_a_task_is_played_as_it_is_written():
    """With other ids, other names, other tools beside it, another calculator."""

    async def lost() -> list[str]:
        r = random.Random(5)
        made = list(written.scenarios(r, 0.25))
        return [one.question for one in made if await render(r, Facts(r), one, "", 0, guarded=False) is None]

    assert asyncio.run(lost()) == []


def test_the_guards_refuse_ids_nobody_said():
    """Of chains begun with an invented id most are refused."""

    async def refused() -> list[bool]:
        found: list[bool] = []
        for world in WORLDS[::3]:
            for task in world.tasks:
                r = random.Random(task.ask[0])
                plain = written.scenario(r, world, task, plain=True)
                slipped = slips.begun_at_the_end(r, plain)
                conversation = await render(r, Facts(r), slipped, "", 0) if slipped is not plain else None
                if conversation is not None:
                    found.append("was not called" in conversation.turns[1].prompt)
        return found

    found = asyncio.run(refused())
    assert len(found) > 80
    assert sum(found) / len(found) > 0.85


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
