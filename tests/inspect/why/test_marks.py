"""What a person says is wrong with a run, and how it is judged."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import Agent, ConfigError, ScriptedModel, find_causes, mark_wrong, tool
from treadle._inspect.why.judges import ByMarks
from treadle._inspect.why.marks import Mark, marks_in
from treadle._journal.memory import MemoryJournal
from treadle._types.request import Request
from treadle._types.state import fold


def test_a_note_is_a_text_in_which_some_lines_are_marks():
    lines = ("Looked odd.", "expected: 5", "Expected answer at step 2: six", 'expected call at step 3: add {"a": 1}')
    note = "\n".join([*lines, "expected call: go {"])
    assert marks_in(note) == [Mark(0, "5"), Mark(2, "six"), Mark(3, "", "add", {"a": 1})]
    for mark in marks_in(note):
        assert marks_in(str(mark)) == [mark]
    assert marks_in("expected:\nexpectations were high: yes") == []


@tool(effect="pure")
def price(item: str) -> str:
    """The price of an item."""
    return {"lamp": "12", "desk": "90"}.get(item, "?")


def confused(request: Request) -> Any:
    """The first step looks up the wrong thing because of a line; the answer does not tell."""
    got = [m for m in request.messages if type(m).__name__ == "ToolMessage"]
    if got:
        return "Done."
    return {"name": "price", "args": {"item": "desk" if "desks" in str(request.messages[0]) else "lamp"}}


async def asked() -> tuple[Agent[Any, Any], MemoryJournal, str]:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(confused), [price], system="Be kind.\nThink of desks.", journal=journal)
    return agent, journal, (await agent.run("What does the lamp cost?")).run_id


async def test_a_step_that_is_wrong_is_searched_by_what_was_expected_of_it():
    agent, journal, run = await asked()
    info = await mark_wrong(journal, run, step=1, call="price", args={"item": "lamp"})
    assert (info.note, info.thumb) == ('expected call at step 1: price {"item":"lamp"}', "down")
    found = await find_causes(agent, run)
    assert found.judge == 'a person\'s mark, expected call at step 1: price {"item":"lamp"}'
    assert "at step 1" in found.problem
    assert found.causes[0].change.before == "Think of desks."


async def test_a_text_of_a_step_is_looked_for_in_what_it_said_and_what_came_of_it():
    agent, journal, run = await asked()
    state = fold(await journal.load(run))
    assert (await ByMarks([Mark(1, "90")]).judge(state)).right
    assert (await ByMarks([Mark(2, "done")]).judge(state)).right
    assert not (await ByMarks([Mark(1, "12")]).judge(state)).right
    assert not (await ByMarks([Mark(1, "90"), Mark(0, "12")]).judge(state)).right
    found = await find_causes(agent, run, step=1, answer="12")
    assert found.causes[0].change.before == "Think of desks."


async def test_a_later_mark_takes_the_place_of_an_earlier_one_and_notes_stay():
    _, journal, run = await asked()
    await journal.annotate(run, note="It was odd.")
    await mark_wrong(journal, run, answer="11")
    info = await mark_wrong(journal, run, answer="12\n  exactly")
    assert info.note == "It was odd.\nexpected: 12 exactly"


async def test_what_cannot_be_a_mark_is_refused():
    _, journal, run = await asked()
    with pytest.raises(ConfigError, match="say what was expected"):
        await mark_wrong(journal, run)
    with pytest.raises(ConfigError, match="say what was expected"):
        await mark_wrong(journal, run, answer="1", call="price")
    with pytest.raises(ConfigError, match="name its tool"):
        await mark_wrong(journal, run, answer="1", args={})
    with pytest.raises(ConfigError, match=r"no step 7; its steps are 1, 2"):
        await mark_wrong(journal, run, answer="1", step=7)
