"""The conversations that adapters learn from: the engine takes them as they are; nothing of a test is in them."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from training.render import DIALECT, Conversation  # noqa: E402
from training.scenes.talk import KNOWN, questions  # noqa: E402

from training import build  # noqa: E402
from treadle._types.request import Reply  # noqa: E402


async def conversations(scale: float, seed: int) -> list[Conversation]:
    return [conversation async for conversation in build.conversations(scale, seed, None)]


@pytest.fixture(scope="module")
def rendered() -> list[Conversation]:
    return asyncio.run(conversations(0.02, 3))


def test_the_engine_takes_every_script_as_it_is(rendered: list[Conversation], capsys: pytest.CaptureFixture[str]):
    asyncio.run(conversations(0.01, 4))
    assert "dropped {}" in capsys.readouterr().out


def test_every_kind_of_task_is_there(rendered: list[Conversation]):
    kinds = {conversation.kind for conversation in rendered}
    assert {"single", "choose", "chain", "compare", "misspelt", "picky", "hostile", "steered", "follow_up"} <= kinds
    assert {"number_first", "nested", "by_rate", "busy", "other_name", "mixed", "known_and_sum"} <= kinds
    assert {"sums", "conversion", "action", "unable", "files", "talk", "foreign"} <= kinds


def test_the_same_seed_gives_the_same_conversations(rendered: list[Conversation]):
    assert asyncio.run(conversations(0.02, 3)) == rendered


def test_what_is_learnt_is_what_the_dialect_reads(rendered: list[Conversation]):
    for conversation in rendered:
        for turn in conversation.turns:
            decision = DIALECT.decode(Reply(turn.reply), ())
            assert not decision.problem
            assert not decision.repaired
            assert decision.calls or decision.answer is not None
            assert turn.prompt.endswith("<|im_start|>assistant\n")


def test_no_question_of_the_knowledge_test_is_learnt():
    test = {json.loads(line)["question"] for line in (ROOT / "training" / "knowledge.jsonl").read_text().splitlines()}
    assert len(test) >= 200
    assert not test & {*questions(random.Random(7), 6000), *(question for question, _ in KNOWN)}


def test_no_task_of_our_sets_is_learnt(rendered: list[Conversation]):
    tasks = [json.loads(line) for path in (ROOT / "evals").glob("*.jsonl") for line in path.read_text().splitlines()]
    asked = {task["question"] for task in tasks}
    prompts = "\n".join(turn.prompt for conversation in rendered for turn in conversation.turns)
    assert tasks
    assert not [question for question in asked if question in prompts]
