"""What plug-ins and tools see of a run: everything to read, and a few ways to act."""

from __future__ import annotations

from typing import Any

import pytest

from engine.executions import execution, recorded, started
from kit import add, echo
from treadle import Budget, ScriptedModel
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._journal.memory import MemoryJournal
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.messages import UserMessage
from treadle._types.profile import Profile

MORE = echo.replace(name="more_tools")


class Bringer(Plugin):
    tools = (MORE,)


async def test_it_reads_what_the_run_is():
    journal = MemoryJournal()
    run = await started(
        ScriptedModel([]), [add], plugins=[Bringer()], journal=journal, prompts={"p": "MINE"}, tool_timeout=3.0
    )
    context: RunContext = run.context
    assert (context.id, context.depth, context.agent_name, context.stored) == ("run", 0, "agent", True)
    assert (context.user, context.conversation) == ("", "")
    assert context.state is run.state
    assert list(context.records) == run.log.records
    assert (context.settings, context.limits.timeout) == (run.settings, 3.0)
    assert context.prompts.get("p", "") == "MINE"
    assert (context.model, context.dialect.name) == (run.current.model, "native")
    assert list(context.toolkit.names) == ["add"]
    assert dict(context.plugin_tools) == {"more_tools": MORE}
    assert (context.tool("add"), context.tool("more_tools"), context.tool("zz")) == (add, MORE, None)
    assert not execution().context.stored


def test_nothing_is_changed_by_assignment():
    context = execution().context
    for name in [name for name in dir(RunContext) if not name.startswith("_")] + ["new"]:
        with pytest.raises(AttributeError):
            setattr(context, name, None)


async def test_tokens_of_the_next_request():
    run = await started(ScriptedModel([], profile=Profile(window=8_000)), [add], budget=Budget(requests=9))
    context: RunContext = run.context
    assert context.counts_tokens
    assert context.token_limit == 6_000
    before = context.next_request_tokens()
    await context.emit(ev.MessageAdded(UserMessage("more " * 100)))
    assert context.next_request_tokens() > before + 100
    assert context.estimator is run.current.estimator


async def test_it_records_shows_and_stores():
    journal = MemoryJournal()
    run = await started(journal=journal)
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    await run.context.emit(ev.Noted("a", {}), ev.Noted("b", {}))
    run.context.show(ev.AnswerDelta("x"))
    assert seen == [ev.Noted("a", {}), ev.Noted("b", {}), ev.AnswerDelta("x")]
    await run.defer(ev.Noted("c", {}))
    assert len(await journal.load("run")) == 3
    await run.context.flush()
    assert len(await journal.load("run")) == 4


async def test_it_asks_the_model_beside_the_conversation():
    run = await started(ScriptedModel(["fine"]))
    assert (await run.context.ask("observer", [UserMessage("how is it going?")])).text == "fine"
    assert recorded(run, ev.ThinkDone)[0].component == "observer"


async def test_it_changes_what_is_offered_and_what_stands_behind_a_name():
    run = await started(tools=[add, echo], plugins=[Bringer()])
    await run.context.offer_tools(["echo", "more_tools"], "selected")
    assert [schema.name for schema in run.state.tools] == ["echo", "more_tools"]
    other = echo.replace(description="Another echo.")
    run.context.replace_toolkit(Toolkit([other]))
    assert run.context.tool("echo") is other
    assert [schema.name for schema in run.state.tools] == ["echo", "more_tools"]


async def test_it_makes_calls_through_the_same_gate():
    run = await started(tools=[add])
    nested = run.context.nested_calls("c1")
    assert (await nested.call("add", {"a": 1, "b": 2})).content == "3"
    assert (
        await run.context.nested_calls("c2", replay_only=True).call("add", {"a": 1, "b": 2})
    ).error == "unknown_outcome"
