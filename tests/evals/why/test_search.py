"""The search for causes, on runs that were broken on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from why.cases import Broken
from why.scripted import CASES as BROKEN
from why.scripted import EFFECTS

from treadle import Agent, ConfigError, ScriptedModel
from treadle._evals.why.findings import Causes
from treadle._evals.why.lab.changes import Change
from treadle._evals.why.patches import patch_for
from treadle._evals.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._types.request import Request

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


def test_there_are_twenty_of_them():
    assert len({broken.name for broken in BROKEN}) >= 20


async def test_where_chance_decides_only_what_helps_more_often_is_a_cause():
    counted = iter(range(10**6))

    def moody(request: Request) -> str:
        sober = "Guess." not in str(request.messages[0])
        return "522250" if sober or next(counted) % 3 == 1 else "no idea"

    agent = Agent(ScriptedModel(moody), None, system="Be kind.\nGuess.", journal=MemoryJournal())
    result = await agent.run("How many?")
    causes = await find_causes(agent, result.run_id, answer="522250", parallel=1)
    assert causes.repeated is not None
    assert 0 < causes.repeated.value < 1
    assert causes.repeated_until == 1
    assert [cause.change.before for cause in causes.causes][:1] == ["Guess."]
    assert causes.causes[0].experiment.trials == 3
    assert causes.causes[0].experiment.share.low > 0.4
    assert "there chance decides" in str(causes)


async def test_the_step_at_which_it_went_wrong_is_found_by_bisection():
    broken = next(b for b in BROKEN if b.name == "a wrong result at the second step")
    agent = broken.agent(MemoryJournal())
    result = await agent.run("How many people live in Lyon?")
    causes = await find_causes(agent, result.run_id, answer=broken.answer)
    assert causes.causes[0].experiment.step == causes.causes[0].last_step == 3


async def test_a_model_judges_as_a_last_resort_and_the_report_says_so():
    def judge(request: Request) -> str:
        return "YES" if "Answer: right" in str(request.messages[-1]) else "NO, it is wrong"

    agent = Agent(
        ScriptedModel(lambda r: "wrong" if "Err." in str(r.messages[0]) else "right"), None, system="Be kind.\nErr.",
        journal=MemoryJournal(),
    )  # fmt: skip
    result = await agent.run("q")
    with pytest.raises(ConfigError, match="say what is wrong"):
        await find_causes(agent, result.run_id)
    causes = await find_causes(agent, result.run_id, judge_model=ScriptedModel(judge, name="wise"))
    assert causes.causes[0].change.before == "Err."
    assert "the model wise, as a last resort" in str(causes)


async def test_a_patch_for_the_users_own_file(tmp_path: Path):
    file = tmp_path / "agent.yaml"
    file.write_text("system: |\n  Be kind.\n  Guess.\ntemperature: 0.9\n")
    agent = Agent(
        ScriptedModel(lambda r: "no" if "Guess." in str(r.messages[0]) else "42"), None, system="Be kind.\nGuess.",
        journal=MemoryJournal(),
    )  # fmt: skip
    result = await agent.run("q")
    causes = await find_causes(agent, result.run_id, answer="42", files=[file])
    assert "-  Guess." in causes.causes[0].patch
    assert "+" not in causes.causes[0].patch.replace("+++", "").replace("+1", "").replace("@@", "")
    assert "temperature: 0.0" in patch_for(Change("setting", "temperature", value=0.0), [file])[0]
    assert patch_for(Change("prompt", before="Guess."), [file, tmp_path / "none"])[0] == causes.causes[0].patch
    (tmp_path / "two.yaml").write_text("Guess.\n")
    assert patch_for(Change("prompt", before="Guess."), [file, tmp_path / "two.yaml"]) == ("", ""), "it could be either"
