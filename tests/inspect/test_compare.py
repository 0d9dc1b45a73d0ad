"""Two runs beside each other."""

from __future__ import annotations

from kit import add, call
from treadle import Agent, ScriptedModel
from treadle._inspect.compare import compare
from treadle._inspect.replay import fork
from treadle._journal.memory import MemoryJournal


async def test_a_fork_and_its_origin():
    journal = MemoryJournal()
    agent = Agent(
        ScriptedModel([call("add", a=1, b=2), call("add", a=3, b=4), "It is 7."]), tools=[add], journal=journal
    )
    first = (await agent.run("What is it?")).run_id
    second = await fork(journal, first, 2)
    await Agent(ScriptedModel([call("add", a=5, b=6), "It is 11."]), tools=[add], journal=journal).resume(second)
    seen = await compare(journal, first, second)
    assert (seen.first, seen.second) == (first, second)
    records = await journal.load(first)
    assert 0 < seen.common < len(records)
    facts = {fact.name: fact for fact in seen.facts}
    assert facts["question"].same
    assert (facts["answer"].first, facts["answer"].second) == ("It is 7.", "It is 11.")
    calls = [(p.change, p.first and p.first.input, p.second and p.second.input) for p in seen.steps if "call" in str(p)]
    assert calls[0] == ("same", '{"a":1,"b":2}', '{"a":1,"b":2}') or calls[1][0] == "same"
    changed = [pair for pair in seen.steps if pair.first and pair.first.kind == "call" and pair.change == "changed"]
    assert [(pair.first.input, pair.second.input) for pair in changed if pair.first and pair.second] == [
        ('{"a":3,"b":4}', '{"a":5,"b":6}')
    ]


async def test_a_run_and_itself_and_one_with_more_steps():
    journal = MemoryJournal()
    ids: list[str] = []
    for script in (["hello"], [call("add", a=1, b=2), "hello"]):
        agent = Agent(ScriptedModel(script), tools=[add], journal=journal)
        ids.append((await agent.run("hi")).run_id)
    same = await compare(journal, ids[0], ids[0])
    assert {pair.change for pair in same.steps} == {"same"}
    assert all(fact.same for fact in same.facts)
    longer = await compare(journal, *ids)
    assert sorted(pair.change for pair in longer.steps) == ["added", "added", "same"]
    shorter = await compare(journal, *ids[::-1])
    assert sorted(pair.change for pair in shorter.steps) == ["removed", "removed", "same"]
