"""The search for causes, on runs that were broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from evals.why.broken_runs import BROKEN, EFFECTS, Broken
from treadle._evals.why.search import Causes, find_causes
from treadle._journal.memory import MemoryJournal

pytestmark = pytest.mark.anyio


async def found(broken: Broken, **options: Any) -> Causes:
    agent = broken.agent(MemoryJournal())
    result = await agent.run("How many people live in Lyon?", history=broken.history)
    assert broken.answer not in result.answer, "it must go wrong first"
    EFFECTS.clear()
    return await find_causes(agent, result.run_id, answer=broken.answer, **broken.options(), **options)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
async def test_the_known_cause_is_ranked_first(broken: Broken):
    causes = await found(broken)
    assert causes.causes, str(causes)
    assert broken.is_cause(causes.causes[0].change), str(causes)
    assert causes.requests <= 60, str(causes)
    assert EFFECTS == [], "nothing with an effect runs"
    print(broken.name, causes.requests, len(causes.experiments))
