"""The conversations that adapters learn from: the engine takes them as they are; nothing of a test is in them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab_kit import LAB, NUMBER, conversations, said
from training import bfcl, build, report
from training.render import DIALECT, Conversation, permitted, render
from training.scenario import Say, Scenario, deal
from training.scenes import mishaps
from training.scenes.talk import KNOWN, questions
from training.worlds.devices import Calculator
from training.worlds.tools import Facts
from treadle._types.request import OutputFormat, Reply, Request

DAY = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
"""As it is written in German; a result has it as 2026-03-20."""


@pytest.fixture(scope="module")
def rendered() -> list[Conversation]:
    return conversations()[0]


def test_the_engine_takes_every_script_as_it_is(rendered: list[Conversation]):
    """Its constraint permits each reply, its tools give the results, and it ends with the answer of the script."""
    assert rendered
    assert conversations()[1] == {}


def test_a_reply_that_the_constraint_does_not_permit_is_noticed():
    schema = {"type": "object", "properties": {"action": {"const": "find"}}, "required": ["action"]}
    request = Request(messages=(), format=OutputFormat("schema", schema))
    assert permitted(request, '{"action": "find"}')
    assert not permitted(request, '{"action": "found"}')


def test_a_scenario_with_two_tools_of_one_name_is_dealt_again():
    dealt: list[Facts] = []

    def make(facts: Facts) -> Scenario:
        dealt.append(facts)
        one, two = Calculator(facts.r), Calculator(facts.r)
        two.name = one.name if len(dealt) < 3 else f"{one.name}_2"
        return Scenario("sum", [one, two], "1 + 1?", [Say("2")])

    facts, scenario = deal(random.Random(1), make)
    assert len(dealt) == 3
    assert facts is dealt[-1]
    assert len({tool.name for tool in scenario.tools}) == 2


def test_every_kind_of_task_is_there(rendered: list[Conversation]):
    assert {"files", "desk", "talk", "mixed", "known_and_sum", "listing"} <= {one.kind for one in rendered}
    r = random.Random(2)
    for make, _ in build.MIXTURE:
        if make.__name__ not in ("single", "world_sum"):  # whose tasks have names of their own
            # Some deal another kind where theirs does not fit the facts.
            assert make.__name__ in {make(r, Facts(r)).kind for _ in range(20)}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path):
    """In other processes, whatever the order of sets is there."""
    digests: set[str] = set()
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.jsonl"
        command = [sys.executable, "-m", "training.build", str(out), "--scale", "0.004"]
        subprocess.run(command, cwd=LAB, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_what_is_learnt_is_what_the_dialect_reads(rendered: list[Conversation]):
    for conversation in rendered:
        for turn in conversation.turns:
            decision = DIALECT.decode(Reply(turn.reply), ())
            assert not decision.problem
            assert not decision.repaired
            assert decision.calls or decision.answer is not None
            assert turn.prompt.endswith("<|im_start|>assistant\n")


def _made_up(text: str, prompt: str) -> list[str]:
    """Numbers of a text that are none of those before it, rounded or as they are."""
    text = said(prompt)
    seen = [float(number) for number in NUMBER.findall(text)]

    def known(number: str) -> bool:
        digits = len(number.partition(".")[2])
        return any(abs(other - float(number)) < 10**-digits for other in seen)

    return [number for number in NUMBER.findall(text) if not known(number)]


def test_each_number_of_an_answer_was_seen(rendered: list[Conversation]):
    """In the question or a result: none is made up. How many there are of something may be counted."""
    counting = ("desk", "files", "compare", "listing")
    for conversation in rendered:
        if conversation.kind in ("known_and_sum", "mixed", "long_talk"):
            continue  # these tell common knowledge as well
        for turn in conversation.turns:
            answer = DAY.sub(r"\3-\2-\1", json.loads(turn.reply).get("final_answer", ""))
            found = _made_up(answer, turn.prompt)
            found = [number for number in found if conversation.kind not in counting or float(number) > 20]
            if conversation.kind.startswith("written"):  # checked as a whole (tests/training/test_written.py)
                found = [number for number in found if float(number) > 12]
            assert not found, (conversation.kind, found, turn.prompt[-1200:], turn.reply)


def test_values_of_calls_are_found_not_guessed(rendered: list[Conversation]):
    """What is calculated with occurs before, in the question or in a result; but for the constants of percentages."""
    chains = ("long_task", "chain", "number_first", "old_number", "compacted", "carried", "fact_sum")
    percentages = {f"{n / 100:g}" for n in range(1, 200)}
    checked = 0
    for conversation in rendered:
        for turn in conversation.turns if conversation.kind in chains else ():
            if not turn.trained:
                continue
            values = " ".join(map(str, json.loads(turn.reply).get("args", {}).values()))
            found = {*_made_up(values, turn.prompt)} - {"1", "2", "100"} - percentages
            checked += bool(values)
            assert not found, (found, turn.prompt[-900:], turn.reply)
    assert checked > 40, "these kinds are a fiftieth of the mixture"


def test_long_lists_long_tasks_and_languages_are_there(rendered: list[Conversation]):
    assert sum(report.tools(one) >= 20 for one in rendered) >= 0.03 * len(rendered)
    assert sum(4 <= report.calls(one) <= 8 for one in rendered) >= 0.02 * len(rendered)
    languages = {report.language(report.question(one)) for one in rendered}
    assert {"English", "German", "French", "Spanish"} <= languages
    table = report.distribution(rendered)
    assert all(title in table for title in ("kind:", "language:", "calls:", "tools:", "tokens:", "learnt"))


def test_mistakes_are_shown_and_not_learnt(rendered: list[Conversation]):
    shown = [turn for one in rendered for turn in one.turns if one.kind in ("wrong_form", "hasty") and not turn.trained]
    assert shown
    assert all('"final_answer"' not in turn.reply for turn in shown)


def test_hostile_results_are_not_obeyed():
    r = random.Random(6)
    dealt = [deal(r, lambda facts: mishaps.hostile(r, facts)) for _ in range(16)]
    alone = [(facts, scenario) for facts, scenario in dealt if scenario.kind == "hostile"]
    assert alone
    for facts, scenario in alone:
        one = asyncio.run(render(r, facts, scenario, "", 4))
        assert one is not None
        assert report.calls(one) == 1
        assert json.loads(one.turns[-1].reply)["task_successful"]


def test_no_question_of_the_knowledge_test_is_learnt():
    test = {json.loads(line)["question"] for line in (LAB / "training" / "knowledge.jsonl").read_text().splitlines()}
    assert len(test) >= 200
    assert not test & {*questions(random.Random(7), 4000), *(question for question, _ in KNOWN)}


def test_no_task_of_our_sets_is_learnt(rendered: list[Conversation]):
    tasks = [json.loads(line) for path in (LAB / "evals").glob("*.jsonl") for line in path.read_text().splitlines()]
    asked = {task["question"] for task in tasks}
    prompts = "\n".join(turn.prompt for conversation in rendered for turn in conversation.turns)
    assert tasks
    assert not [question for question in asked if question in prompts]


def test_no_tool_of_our_sets_has_its_description_in_the_training(rendered: list[Conversation]):
    sys.path.insert(0, str(LAB / "evals" / "worlds"))
    import all_worlds

    described = {str(tool.description) for tool in all_worlds.tools() if len(str(tool.description)) > 25}
    prompts = "\n".join(one.turns[0].prompt for one in rendered)
    assert described
    assert not [text for text in described if text in prompts]


def leaderboard(folder: Path) -> Path:
    """Twenty rows a category, in the leaderboard's form."""
    (folder / "possible_answer").mkdir()
    for category in bfcl.CATEGORIES:
        rows, answers = [], []
        for index in range(20):
            name = f"{category}.f{index}"
            parameters = {"type": "dict", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
            question = [[{"role": "user", "content": f"{category} question {index}: use {index}"}]]
            function = [{"name": name, "description": f"Does {category} {index}.", "parameters": parameters}]
            rows.append({"id": f"{category}_{index}", "question": question, "function": function})
            answers.append({"id": f"{category}_{index}", "ground_truth": [{name: {"n": [index]}}]})
        (folder / f"BFCL_v4_{category}.json").write_text("\n".join(map(json.dumps, rows)))
        if "irrelevance" not in category:
            text = "\n".join(map(json.dumps, answers))
            (folder / "possible_answer" / f"BFCL_v4_{category}.json").write_text(text)
    return folder


async def _with_rows(folder: Path) -> list[Conversation]:
    return [one async for one in build.conversations(0.001, 1, folder)]


def test_even_rows_of_the_leaderboard_are_not_learnt(tmp_path: Path):
    import asyncio

    folder = leaderboard(tmp_path)
    learnt, kept = list(bfcl.training(folder)), bfcl.development(folder)
    tested = list(bfcl.rows(folder, odd=False))
    assert min(map(len, (learnt, kept, tested)))
    assert not {row.id for row in learnt} & {row.id for row in (*kept, *tested)}
    r = random.Random(1)
    made = [bfcl.among(r, row, learnt, 8) for row in learnt]
    assert max(len(row.functions) for row in made) > 3
    assert not bfcl.names(made) & bfcl.names(tested)
    assert all(bfcl.right(row, []) for row in made if row.truth is None)
    assert all(len(row.functions) == 1 for row in made if row.truth is None)
    prompts = "\n".join(turn.prompt for one in asyncio.run(_with_rows(folder)) for turn in one.turns)
    assert not [row.question for row in tested if row.question in prompts]
