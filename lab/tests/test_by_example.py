"""Codes whose form an error tells by an example: what is to be called follows from the question and that."""

from __future__ import annotations

import asyncio
import random
import re

import pytest

from training.render import render
from training.scenario import Act
from training.scenes import by_example
from training.worlds.tools import Facts
from treadle import ToolError


def test_the_engine_takes_them_as_they_are():
    async def lost() -> int:
        made = 0
        for seed in range(200):
            r = random.Random(seed)
            scenario = by_example.by_example(r, Facts(r))
            rendered = await render(r, Facts(r), scenario, "", 3)
            made += rendered is None or "was not called" in rendered.turns[-1].prompt
        return made

    assert asyncio.run(lost()) == 0


def test_a_letter_stands_for_one_kind():
    assert all(len({kind[0] for kind in thing.kinds}) == len(thing.kinds) for thing in by_example.things())


def test_the_error_has_an_example_and_the_second_call_its_form():
    told = 0
    for seed in range(300):
        r = random.Random(seed)
        scenario = by_example.by_example(r, Facts(r))
        calls = [step for step in scenario.script if isinstance(step, Act)]
        if len(calls) < 2:
            continue
        told += 1
        (tool,) = scenario.tools
        with pytest.raises(ToolError) as refused:
            tool.execute(**calls[0].args)
        (right,) = calls[1].args.values()
        (tried,) = calls[0].args.values()
        assert tool.execute(**calls[1].args)
        shape = re.sub(r"[A-Z]+", "A+", re.sub(r"\d+", "9+", right))
        pattern = re.escape(shape).replace(r"A\+", "[A-Z]+").replace(r"9\+", r"\d+")
        assert re.search(rf"(?<!\w){pattern}(?!\w)", str(refused.value)), (right, str(refused.value))
        said = {run.lstrip("0") for run in re.findall(r"\d+", tried)}
        assert all(any(run.lstrip("0").endswith(part) for part in said) for run in re.findall(r"\d+", right))
    assert told > 200
