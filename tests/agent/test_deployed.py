"""Runs that go on after a deployment: which tools are not as they were, and what happens to calls of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel, Tool, external_tool, tool
from treadle._journal.memory import MemoryJournal
from treadle._tools.versions import changed_versions, version_of
from treadle._types.events import Approved, Record, Resumed
from treadle._types.state import fold
from treadle._view.notices import ALONE

DONE: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    DONE.clear()


def pay_of(release: int) -> Tool[..., Any]:
    """The tool as it is in a release: the second has other code behind the same words, the third another schema."""

    async def first(amount: int) -> str:
        """Pay."""
        DONE.append(f"{amount} dollars")
        return "paid"

    async def second(amount: int) -> str:
        """Pay."""
        DONE.append(f"{amount} cents")
        return "paid"

    async def third(amount: int, currency: str = "USD") -> str:
        """Pay."""
        DONE.append(f"{amount} {currency}")
        return "paid"

    return tool(name="pay", approval="ask")((first, second, third)[release - 1])


@tool(effect="pure")
async def look(where: str) -> str:
    """Look."""
    return "a cat"


def agent(release: int, journal: MemoryJournal, script: list[Any], **settings: Any) -> Agent:
    return Agent(ScriptedModel(script), [pay_of(release), look], journal=journal, **settings)


def waiting(journal: MemoryJournal) -> tuple[str, str]:
    """A run that waits for a person while something is deployed, and the call that it waits for."""
    result = go(agent(1, journal, [call("look", where="left"), call("pay", amount=5)]).run("q"))
    return result.run_id, result.pending[0].call_id


def test_what_did_not_change_is_not_said_to_have():
    journal = MemoryJournal()
    run_id, call_id = waiting(journal)
    result = go(agent(1, journal, ["done"]).resume(run_id, approve={call_id: True}))
    state = fold(go(journal.load(run_id)))
    assert (state.changed_tools, set(state.versions), result.answer) == (set(), {"pay", "look"}, "done")


@pytest.mark.parametrize(("release", "paid"), [(2, "5 cents"), (3, "5 USD")])
def test_by_default_it_runs_and_the_log_says_so(release: int, paid: str):
    journal = MemoryJournal()
    run_id, call_id = waiting(journal)
    model = ScriptedModel(["done"])
    later = Agent(model, [pay_of(release), look], journal=journal)
    assert go(later.resume(run_id, approve={call_id: True})).answer == "done"
    assert [paid] == DONE
    records = go(journal.load(run_id))
    [resumed] = [one.event for one in records if isinstance(one.event, Resumed)]
    assert list(resumed.changed) == ["pay"]
    assert "changed since then: pay" in str(ALONE[Resumed](resumed, "1"))
    assert model.requests[0].tools[0].parameters == pay_of(release).schema.parameters


@pytest.mark.parametrize("setting", ["ask", "refuse"])
def test_it_is_asked_about_or_refused_where_the_settings_say_so(setting: str):
    """Also where it needed no approval before."""
    journal = MemoryJournal()
    first = agent(1, journal, [call("pay", amount=1)])

    async def main() -> None:
        before = await first.run("q")
        changed = tool(effect="pure")(_another_look)
        settings: Any = {"changed_tools": setting}
        script = [call("look", where="left"), "done"]
        later = Agent(ScriptedModel(script), [pay_of(1), changed], journal=journal, **settings)
        result = await later.resume(before.run_id, approve={before.pending[0].call_id: True})
        state = fold(await journal.load(before.run_id))
        assert state.changed_tools == {"look"}
        assert DONE == ["1 dollars"], "what did not change runs"
        if setting == "refuse":
            assert "not as it was when the run started" in result.steps[-1].observation
            assert result.answer == "done"
            return
        assert "not as it was when the run started" in state.paused.reason
        answered = await later.resume(before.run_id, approve={result.pending[0].call_id: True})
        assert answered.steps[-1].observation == "a dog"

    go(main())


def test_what_was_allowed_without_knowing_of_the_change_is_asked_again():
    journal = MemoryJournal()
    run_id, call_id = waiting(journal)
    for release in (2, 3):
        later = agent(release, journal, ["done"], changed_tools="ask")
        result = go(later.resume(run_id, approve={call_id: True}))
        assert (result.stop_reason, DONE) == ("paused", [])
        assert "not as it was when the run started" in result.pending[0].why
    assert go(later.resume(run_id, approve={call_id: True})).answer == "done"
    assert DONE == ["5 USD"]


def test_what_was_refused_stays_so():
    journal = MemoryJournal()
    run_id, call_id = waiting(journal)
    later = agent(2, journal, ["done"], changed_tools="ask")
    assert (go(later.resume(run_id, approve={call_id: False})).answer, DONE) == ("done", [])


def test_what_was_allowed_before_a_process_ended_does_not_hold_for_another_tool():
    journal = MemoryJournal()
    run_id, call_id = waiting(journal)
    seq = go(journal.load(run_id))[-1].seq
    events = (Resumed("paused"), Approved(call_id, allow=True))
    go(journal.append([Record(run_id, seq + n, 1.0, event) for n, event in enumerate(events, 1)]))
    result = go(agent(2, journal, ["done"]).resume(run_id))
    assert (result.stop_reason, DONE) == ("paused", [])


async def _another_look(where: str) -> str:
    """Look."""
    return "a dog"


_another_look.__name__ = "look"


async def test_an_always_of_before_does_not_hold_for_what_came_after():
    journal = MemoryJournal()
    script = [call("pay", amount=1), call("pay", amount=2), call("ask_me", question="And now?")]
    ask_me = external_tool("ask_me", "Asks.", {"type": "object", "properties": {"question": {"type": "string"}}})

    def release(number: int, script: list[Any]) -> Agent:
        return Agent(ScriptedModel(script), [pay_of(number), ask_me], journal=journal)

    first = release(1, script)
    before = await first.run("q")
    before = await first.resume(before.run_id, approve={before.pending[0].call_id: {"allow": True, "always": True}})
    assert DONE == ["1 dollars", "2 dollars"], "always"
    later = release(2, [call("pay", amount=3), "done"])
    result = await later.resume(before.run_id, results={before.pending[0].call_id: "go on"})
    assert (result.stop_reason, result.pending[0].name, len(DONE)) == ("paused", "pay", 2)


def test_versions_are_of_name_schema_and_code():
    def version(release: int) -> str:
        return version_of(pay_of(release))

    assert version(1) == version(1)
    assert len({version(1), version(2), version(3)}) == 3
    plain = Tool("x", "X.", {"type": "object", "properties": {}}, partial(_another_look, where="left"))
    assert version_of(plain).split()[1:] == version_of(plain.replace(execute=_another_look)).split()[1:]
    recorded = {"pay": version(1).replace("py3", "py2")}
    assert changed_versions(recorded, [pay_of(2)]) == {}, "another Python: its code cannot be compared"
    assert list(changed_versions(recorded, [pay_of(3)])) == ["pay"]
