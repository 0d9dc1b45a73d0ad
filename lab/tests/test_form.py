"""The prompts that adapters learn, whole: what the engine itself writes, not only the dialect.

`tests/local/dialects/test_compact.py` holds the instructions and single messages. Here are conversations as they come
out of the engine: errors, suggestions, words in between, earlier turns, summaries. When this fails, what the adapters
of the package have learnt is no longer what they are shown: look at the difference, then decide whether to train
again.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from lab_kit import LAB
from training.render import render
from training.scenario import Act, Leave, Say, Scenario
from training.worlds.tools import Facts
from treadle import Tool, ToolError

KEPT = LAB / "tests" / "form.txt"
SCHEMA = {
    "type": "object",
    "properties": {"thing": {"type": "string", "description": "Its name"}, "unit": {"enum": ["kg", "g"]}},
    "required": ["thing"],
}


def weigh(thing: str, unit: str = "kg") -> str:
    if thing not in ("lamp", "chair"):
        raise ToolError(f"no thing {thing!r}; there are: lamp, chair")
    return f"3 {unit}" if thing == "lamp" else '{"weight": 7}'


TOOL = Tool("weigh", "The weight of a thing.", SCHEMA, weigh, effect="pure")
SCENES = {
    "a call": Scenario("", [TOOL], "How heavy is the lamp?", [Act("weigh", {"thing": "lamp"}), Say("3 kg.")]),
    "an error": Scenario(
        "",
        [TOOL],
        "How heavy is the lmap?",
        [Act("weigh", {"thing": "lmap"}), Act("weigh", {"thing": "lamp"}), Say("The lamp weighs 3 kg.")],
    ),
    "nothing can tell": Scenario(
        "", [TOOL], "What does the lamp cost?", [Say("I have no tool for it.", successful=False)]
    ),
    "earlier turns": Scenario(
        "",
        [TOOL],
        "And the chair?",
        [Act("weigh", {"thing": "chair", "unit": "kg"}), Say("7 kg.")],
        history=[
            ("Hello!", [Leave("Hello. How can I help?")]),
            ("How heavy is the lamp?", [Act("weigh", {"thing": "lamp"}), Say("3 kg.")]),
        ],
    ),
    "words in between": Scenario(
        "",
        [TOOL],
        "How heavy is the lamp?",
        [Act("weigh", {"thing": "lamp"}), Act("weigh", {"thing": "lamp", "unit": "g"}), Say("3 g.")],
        steering="In grams, please.",
    ),
    "a summary": Scenario(
        "",
        [TOOL],
        "How heavy are the lamp and the chair?",
        [Act("weigh", {"thing": "lamp"}), Act("weigh", {"thing": "chair"}), Say("3 kg and 7 kg.")],
        summary="The lamp: 3 kg.",
        summary_after=1,
    ),
}


async def written() -> str:
    texts: list[str] = []
    for name, scene in SCENES.items():
        r = random.Random(1)
        made = await render(r, Facts(r), scene, "", 1)
        assert made is not None, name
        turns = "\n".join(f"{turn.prompt}{turn.reply}" for turn in made.turns[-2:])
        texts.append(f"=== {name}\n{turns}\n")
    return "\n".join(texts)


def test_the_prompts_are_those_that_were_learnt():
    """To accept a change: delete `form.txt`, run this twice, and say in the commit why no adapter suffers from it."""
    text = asyncio.run(written())
    if not KEPT.exists():
        KEPT.write_text(text)
        pytest.fail(f"{KEPT.name} was not there: written now")
    assert text == KEPT.read_text()
