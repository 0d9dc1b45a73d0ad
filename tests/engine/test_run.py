"""The caller's handle: await a run, talk to it, watch it, from any thread."""

from __future__ import annotations

import asyncio
import gc
from typing import Any
from weakref import ref

import pytest

from engine.executions import prepared
from kit import add, call, echo, go
from treadle import Agent, ConfigError, Plugin, RunEndedError, ScriptedModel, replay, tool
from treadle._engine.loop.driver import Loop
from treadle._journal.memory import MemoryJournal
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.messages import FilePart, ImagePart
from treadle._types.state import fold
from virtual_time import in_virtual_time


@tool(timeout=None)
async def hang() -> str:
    """Hang."""
    await asyncio.Event().wait()
    return ""


async def test_a_run_that_has_not_begun_can_be_watched_but_not_awaited():
    run = prepared(ScriptedModel(["42"]), [add])
    assert (run.begun, run.done, run.records) == (False, False, [])
    with pytest.raises(AssertionError, match="not started"):
        await run
    run.begin(Loop())
    assert run.begun
    assert (await run).answer == "42"
    assert run.done
    assert (await run).answer == "42"


def test_a_run_that_has_ended_is_freed_before_any_collector_comes():
    contexts: list[Any] = []

    class Keeper(Plugin):
        async def on_start(self, run: Any) -> None:
            contexts.append(ref(run))

    async def main() -> None:
        inner = Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add], plugins=[Keeper()], name="inner")
        calls = [call("add", a=1, b=2), call("inner", user_prompt="Add.", reasoning="It can.", context="1 + 2")]
        agent = Agent(ScriptedModel([*calls, "3"]), [add, inner.as_tool()], plugins=[Keeper()])
        assert (await agent.run("1 + 2?")).tools_used == ["add", "inner"]
        assert [context() for context in contexts] == [None, None]

    gc.disable()
    try:
        go(main())
    finally:
        gc.enable()


async def test_it_says_what_it_is():
    journal = MemoryJournal()
    model = ScriptedModel([])
    run = prepared(model, [add], journal=journal, run_id="r1", max_iterations=3)
    assert (run.id, run.model, run.journal, run.settings.max_iterations) == ("r1", model, journal, 3)
    assert list(run.blueprint.toolkit.names) == ["add"]
    assert run.context.id == "r1"
    assert not run.has_parent
    assert prepared(parent=run.context, run_id="r2").has_parent
    assert run.state.seq == -1


async def test_whoever_sends_after_the_end_is_told():
    run = prepared(ScriptedModel(["42"]), [add]).begin(Loop())
    assert run.listens
    await run
    assert not run.listens
    with pytest.raises(RunEndedError, match="has ended and reads no more"):
        run.send("too late")
    assert not run.cancel()


async def test_a_result_while_it_works_takes_no_message_away():
    run = prepared(ScriptedModel(["42", "43"]), [add]).begin(Loop())
    run.send("one")
    assert run.result().unread == run.result().unread == ("one",)
    result = await run
    assert (result.answer, result.unread) == ("43", ())


@in_virtual_time
async def test_a_result_can_be_had_while_it_works():
    run = prepared(ScriptedModel([[call("add", a=1, b=2)], call("hang")]), [add, hang]).begin(Loop())
    await asyncio.sleep(1)
    now = run.result()
    assert (now.stop_reason, now.success, [step.observation for step in now.steps]) == ("error", False, ["3"])
    run.cancel()
    await run


async def test_tools_can_be_swapped_while_it_works():
    model = ScriptedModel([lambda request: swap(), "done"])
    run = prepared(model, [add])

    def swap() -> Any:
        run.swap_toolkit(Toolkit([echo]))
        return call("add", a=1, b=2)

    run.begin(Loop())
    await run
    assert [[schema.name for schema in request.tools] for request in model.requests] == [["add"], ["echo"]]


def test_decisions_wait_until_they_are_recorded():
    run = prepared()
    run.approve("c1", False, by="ann", note="too much")
    run.approve("c2")
    assert run.decisions == [ev.Approved("c1", False, "ann", "too much"), ev.Approved("c2", True)]
    run.decisions.clear()
    assert len(run.decisions) == 2


async def test_whoever_subscribes_sees_what_comes_and_can_leave():
    run = prepared(ScriptedModel([[call("add", a=1, b=2)], "3"]), [add])
    seen: list[Any] = []

    def until_the_first_result(record: Any) -> None:
        seen.append(record.event)
        if isinstance(record.event, ev.ToolDone):
            leave()

    leave = run.subscribe(until_the_first_result, live=False)
    await run.begin(Loop())
    assert isinstance(seen[0], ev.RunStarted)
    assert isinstance(seen[-1], ev.ToolDone)
    other = ev.Record("child", 0, 0.0, ev.RunStarted("q"))
    run.subscribe(seen.append)
    run.forward(other)
    assert seen[-1] is other


@in_virtual_time
async def test_a_reason_other_than_the_callers_wish_can_be_given():
    run = prepared(ScriptedModel([call("hang")]), [hang], on_budget="force_answer").begin(Loop())
    await asyncio.sleep(1)
    run.stop("budget")
    assert (await run).stop_reason == "budget"


PICTURE = "iVBORw0KGgo" + "A" * 4_093


async def test_pictures_and_files_can_be_sent_while_it_works():
    """They stand in the next request, in the log, and in a replay of it; the journal keeps the content once."""
    released = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        await released.wait()
        return "done"

    model = ScriptedModel([call("wait"), "seen"], abilities={"tool_call": True, "vision": True})
    journal = MemoryJournal()
    agent = Agent(model, [wait], journal=journal)
    run = agent.start("look")
    taken = run.send("not this")
    run.send(["like this", ImagePart(data=PICTURE, name="plan.png")])
    run.send([FilePart(data="YSxiCjEsMg==", mime="text/csv", name="t.csv")])
    assert run.recall(taken)
    with pytest.raises(ConfigError, match="no content"):
        run.send([ImagePart()])
    released.set()
    await run
    sent: Any = next(m for m in model.requests[-1].messages if getattr(m, "kind", "") == "interrupt")
    assert [type(part).__name__ for part in sent.content] == ["TextPart", "ImagePart", "TextPart"]
    assert sent.content[0].text == "[USER INTERRUPT]\nlike this\n\n"
    assert sent.content[1].data == PICTURE
    assert "a,b\n1,2" in sent.content[2].text
    records = await journal.load(run.id)
    assert fold(records).conversation.window == run.state.conversation.window
    assert replay(records).difference is None


async def test_what_the_model_cannot_see_is_said_in_words():
    model = ScriptedModel([call("echo", text="x"), "seen"], abilities={"tool_call": True, "vision": False})
    run = Agent(model, [echo]).start("look")
    run.send(["like this", ImagePart(data=PICTURE, name="plan.png")])
    assert (await run).success
    told = str(next(m for m in model.requests[-1].messages if getattr(m, "kind", "") == "interrupt"))
    assert "image plan.png: image/png. You cannot" in told
    assert PICTURE not in told
