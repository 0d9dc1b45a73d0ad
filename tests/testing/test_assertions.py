"""`treadle.testing`: assertions about recorded runs, and that each of them can fail."""

from __future__ import annotations

import msgspec
import pytest

from kit import add, call, echo, go
from treadle import Agent, ConfigError, DagAgent, RetryPolicy, ScriptedModel, TransientModelError, open_journal
from treadle.events import MessageAdded, Record, ThinkStarted
from treadle.messages import UserMessage
from treadle.plugins import Plugin, RunContext
from treadle.testing import (
    assert_answered,
    assert_called,
    assert_not_called,
    assert_prefix_stable,
    assert_replays,
    assert_tools,
)

SCRIPT = [call("add", a=1, b=2), TransientModelError("busy"), call("add", a=3, b=4), "7"]
PLAN = [{"id": "one", "task": "first", "dependencies": []}, {"id": "two", "task": "second", "dependencies": ["one"]}]


def run_once(**settings: object) -> list[Record]:
    async def main() -> list[Record]:
        agent = Agent(ScriptedModel(SCRIPT), tools=[add], retry=RetryPolicy(base=0.0), **settings)
        run = agent.start("What is 1 + 2, then 3 + 4?")
        await run
        assert_prefix_stable(run)
        return list(run.records)

    return go(main())


def test_an_ordinary_run_is_prefix_stable():
    records = run_once()
    assert_prefix_stable(records)
    assert_prefix_stable(run_once(dialect="json"))


def test_a_declared_break_is_allowed():
    assert_prefix_stable(run_once(max_history_messages=2))


class Careless(Plugin):
    """Asks the model about each round from the start: no request extends the one before."""

    name = "careless"

    async def before_round(self, run: RunContext) -> None:
        await run.ask(self.name, [UserMessage(f"What about round {run.state.iteration}?")])


async def test_an_undeclared_break_is_found_and_its_component_named():
    model = ScriptedModel(lambda request: "well" if request.component == "careless" else next(replies))
    replies = iter([call("add", a=1, b=2), "3"])
    run = Agent(model, tools=[add], plugins=[Careless()]).start("1 + 2?")
    await run
    with pytest.raises(AssertionError, match=r"1 undeclared prefix breaks.*careless: message 0"):
        assert_prefix_stable(run)


def test_a_log_that_does_not_render_what_was_sent_is_found():
    """A message in the log that the model never saw, before the second request."""
    records = run_once()
    second = [r.seq for r in records if isinstance(r.event, ThinkStarted)][1]
    note = MessageAdded(UserMessage("never sent", kind="note"), component="stranger")
    changed = [*records[:second], Record(records[0].run, second, 0.0, note), *records[second:]]
    journal = open_journal("memory:")

    async def main() -> None:
        await journal.append([msgspec.structs.replace(r, seq=number) for number, r in enumerate(changed)])
        with pytest.raises(AssertionError, match=f"run {records[0].run} does not replay: .*from: stranger"):
            await assert_replays(journal, records[0].run)

    go(main())


async def test_a_stored_run_replays_with_the_runs_inside_it():
    def think(request):  # type: ignore[no-untyped-def]
        if request.component == "planner":
            return {"name": "make_plan", "args": {"steps": PLAN}}
        if request.component == "analyzer":
            return {"name": "judge", "args": {"achieved": True, "confidence": 1.0, "final_answer": "done"}}
        return "done"

    journal = open_journal("memory:")
    agent = DagAgent(ScriptedModel(think), tools=[add], journal=journal)
    await agent.run("Do both", run_id="dag")
    await assert_replays(agent, "dag")
    steps = await journal.list(parent="dag")
    assert len(steps) == 2
    # A step whose log says something else than was sent is found through its parent.
    broken = await journal.load(steps[0].run_id)
    await journal.delete(steps[0].run_id)
    digest = [
        msgspec.structs.replace(r, event=msgspec.structs.replace(r.event, digest="other"))
        if isinstance(r.event, ThinkStarted)
        else r
        for r in broken
    ]
    await journal.append(digest)
    with pytest.raises(AssertionError, match=f"run {steps[0].run_id} does not replay"):
        await assert_replays(agent, "dag")


def test_without_a_journal_there_is_nothing_to_load():
    with pytest.raises(ConfigError, match="no journal"):
        go(assert_replays(Agent(ScriptedModel(["x"]), tools=None), "run"))


CALLS = [call("echo", text="x"), call("echo", text="y"), "The answer is Lisbon."]


def test_what_happened_is_asserted():
    result = Agent(ScriptedModel(CALLS), [echo, add]).run_sync("q")
    assert [step.args for step in assert_called(result, "echo")] == [{"text": "x"}, {"text": "y"}]
    assert_called(result, "echo", times=1, text="y")
    assert_not_called(result, "add")
    assert_tools(result, ["echo", "echo"])
    assert_answered(result, "lisbon", "ANSWER")


def test_what_did_not_happen_fails_with_the_story():
    result = Agent(ScriptedModel(CALLS), [echo, add]).run_sync("q")
    failures = {
        "add\\(\\) was not called": lambda: assert_called(result, "add"),
        "echo\\(text='z'\\) was not called; it was called with other": lambda: assert_called(result, "echo", text="z"),
        "was called 2 times, not 1": lambda: assert_called(result, "echo", times=1),
        "echo was called": lambda: assert_not_called(result, "echo"),
        "the calls were": lambda: assert_tools(result, ["echo"]),
        "does not contain 'Porto'": lambda: assert_answered(result, "Porto"),
    }
    for message, check in failures.items():
        with pytest.raises(AssertionError, match=message) as caught:
            check()
        assert '-> echo(text="x")' in str(caught.value)
    stopped = Agent(ScriptedModel([ValueError("no")]), tools=None, on_error="result").run_sync("q")
    with pytest.raises(AssertionError, match="did not succeed: it ended with 'error'"):
        assert_answered(stopped)
