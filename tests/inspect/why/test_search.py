"""The search for causes, on runs that were broken on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from why.cases import Broken
from why.scripted import CASES as BROKEN
from why.scripted import EFFECTS

from treadle import Agent, ConfigError, ScriptedModel, tool
from treadle._inspect.why.changes import Change, Kind
from treadle._inspect.why.findings import Causes
from treadle._inspect.why.patches import apply_patch, patch_for
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._types.request import Request


async def found(broken: Broken, **options: Any) -> Causes:
    agent = broken.agent(MemoryJournal())
    result = await agent.run("How many people live in Lyon?", history=broken.history, on_error="result")
    assert broken.answer not in result.answer, "it must go wrong first"
    EFFECTS.clear()
    return await find_causes(agent, result.run_id, answer=broken.answer, **broken.options(), **options)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
async def test_the_known_cause_is_ranked_first(broken: Broken):
    causes = await found(broken)
    assert causes.places, str(causes)
    assert broken.is_cause(causes.places[0]), str(causes)
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
    guess = Change("prompt", before="Guess.")
    assert patch_for(guess, [file, tmp_path / "none"], agent)[0] == causes.causes[0].patch
    (tmp_path / "two.txt").write_text("Guess.\n")
    assert patch_for(guess, [file, tmp_path / "two.txt"], agent) == ("", ""), "it could be either"


async def test_every_kind_of_change_has_a_run_in_which_it_is_tried():
    kinds: set[str] = set()
    for broken in BROKEN:
        kinds |= {one.change.kind for one in (await found(broken)).experiments}
    assert kinds == {*get_args(Kind)} - {"route"}  # what a component of a document chooses: `test_flows.py`


async def test_a_line_that_is_missing_and_a_guard_that_was_not_there():
    def needs_a_line(request: Request) -> str:
        return "42" if "Say 42." in str(request.messages[0]) else "no"

    agent = Agent(ScriptedModel(needs_a_line), None, system="Be kind.", journal=MemoryJournal())
    result = await agent.run("q")
    causes = await find_causes(agent, result.run_id, answer="42", lines=["Say 42."], guards=["reflection"])
    assert str(causes.causes[0].change) == "the system prompt with 'Say 42.' added"
    assert "with the plug-in reflection" in [str(one.change) for one in causes.experiments]


async def test_a_value_that_is_only_repeated_is_traced_to_where_it_stands():
    broken = next(b for b in BROKEN if b.name == "the only source is wrong")
    causes = await found(broken)
    assert causes.causes == (), "to put the expected value there helps with any model: it says where, not why"
    assert "the wrong value '77' comes from record 4 (registry): with '522250' there it goes right" in str(causes)


async def test_what_helps_by_luck_is_told_from_the_cause_by_neutral_words():
    """Any small change tips the model over for once; only the cause does it whatever else is said."""

    def nervous(request: Request) -> str:
        system = str(request.messages[0])
        if "Guess." not in system:
            return "42"
        return "no" if "Be kind." in system or "Thank you." in system or "a request of a user" in system else "42"

    agent = Agent(ScriptedModel(nervous), None, system="Be kind.\nBe brief.\nGuess.", journal=MemoryJournal())
    result = await agent.run("q")
    causes = await find_causes(agent, result.run_id, answer="42")
    assert [cause.change.before for cause in causes.causes] == ["Guess.", "Be kind."]
    assert [(cause.experiment.right, cause.experiment.trials) for cause in causes.causes] == [(3, 3), (1, 3)]


async def test_a_patch_is_applied_only_to_the_file_it_was_made_for(tmp_path: Path):
    file = tmp_path / "prompt.txt"
    file.write_text("Be kind.\nGuess.\n")
    agent = Agent(
        ScriptedModel(lambda r: "no" if "Guess." in str(r.messages[0]) else "42"), None, system="Be kind.\nGuess.",
        journal=MemoryJournal(),
    )  # fmt: skip
    result = await agent.run("q")
    cause = (await find_causes(agent, result.run_id, answer="42", files=[file])).causes[0]
    file.write_text("Be kind.\nNow.\nGuess.\n")
    with pytest.raises(ConfigError, match="has changed since the patch was made"):
        apply_patch(cause, agent)
    file.write_text("Be kind.\nGuess.\n")
    assert apply_patch(cause, agent) == file
    assert file.read_text() == "Be kind.\n"


async def test_texts_are_tried_in_the_order_of_the_words_that_the_wrong_answer_has():
    """With little to spend, what the answer repeats is looked at first: here an example far down in a parameter."""

    def copies(request: Request) -> str:
        return "It is Mira." if "Mira" in str(request.tools) else "It is Vera."

    @tool(effect="pure")
    def contact(name: str) -> str:
        """Look up somebody.

        Args:
            name: the name, such as Mira
        """
        return name

    system = "\n".join(f"Rule {n}." for n in range(8))
    agent = Agent(ScriptedModel(copies), [contact], system=system, journal=MemoryJournal())
    result = await agent.run("Who is it?")
    causes = await find_causes(agent, result.run_id, answer="Vera", requests=3, parallel=1)
    assert causes.causes[0].change.name == "contact"
    assert "Mira" in causes.causes[0].change.before
