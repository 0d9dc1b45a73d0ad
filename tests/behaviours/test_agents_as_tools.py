"""Agents as tools of other agents; calls that wait for a person's approval."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kit import assert_paired, call, echo, go
from treadle import Agent, Budget, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import Paused, ToolDone
from treadle._types.messages import ToolMessage
from virtual_time import go_virtual

ORDER = {"user_prompt": "do it", "reasoning": "because", "context": "none"}


def worker(script, **options) -> Agent:
    return Agent(ScriptedModel(script), [echo], name="Research-->worker", description="Finds things.", **options)


async def test_an_agent_is_a_tool_for_a_supervisor():
    child = worker([call("echo", text="deep"), "child answer"])
    made = child.as_tool()
    assert made.name == "worker"
    assert made.parameters["required"] == ["user_prompt", "reasoning", "context"]
    configured = child.as_tool(user_prompt="always this")
    assert configured.parameters["properties"]["user_prompt"]["default"] == "always this"
    boss_model = ScriptedModel([call("worker", **ORDER), "boss answer"])
    boss = Agent(boss_model, [child])
    run = boss.start("q")
    seen = []
    run.subscribe(seen.append)
    result = await run
    assert result.answer == "boss answer"
    assert result.steps[0].observation == "child answer"
    assert result.usage.requests == 4  # two of its own, two of the child
    children = {record.run for record in seen} - {run.id}
    assert len(children) == 1
    assert all(record.parent == run.id for record in seen if record.run in children)
    assert any(isinstance(record.event, ToolDone) and record.event.name == "echo" for record in seen)


def test_one_budget_for_fifty_parallel_children():
    child = Agent(ScriptedModel(lambda request: "x" * 40), [echo], name="worker", max_tokens=20)
    budget = Budget(requests=20)
    model = ScriptedModel([[call("worker", **ORDER) for _ in range(50)], "never"])
    boss = Agent(model, [child], budget=budget, on_budget="force_answer", max_parallel=50, max_tokens=20)
    result = go(boss.run("q"))
    assert result.usage.requests <= 20
    assert result.stop_reason == "budget"
    assert_paired(result.messages)


def test_cancel_reaches_every_leaf_and_depth_is_bounded():
    stopped = []

    @tool
    async def leaf() -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(True)
            raise
        return ""

    inner = Agent(ScriptedModel([[call("leaf"), call("leaf")]]), [leaf], name="inner")
    outer = Agent(ScriptedModel([[call("inner", **ORDER), call("inner", **ORDER)]]), [inner], name="outer")
    inner.models[0]._script = [[call("leaf"), call("leaf")], [call("leaf"), call("leaf")]]

    async def main() -> None:
        run = outer.start("q")
        await asyncio.sleep(1)  # of the virtual clock: until everything waits
        run.cancel()
        result = await run
        assert result.stop_reason == "cancelled"
        assert len(stopped) == 4
        assert_paired(result.messages)

    go_virtual(main())

    def script(request):
        return call("self_", **ORDER) if not any(isinstance(m, ToolMessage) for m in request.messages) else "end"

    @tool(timeout=None)
    async def placeholder() -> str:
        """Nothing."""
        return ""

    deep = Agent(ScriptedModel(script), [placeholder], name="self_", max_iterations=2)
    deep.update_toolkit([deep])
    result = go(deep.run("q"))
    assert result.stop_reason in ("answer", "limit")
    assert len(deep.models[0].requests) < 30


@pytest.mark.parametrize("allow", [True, False])
async def test_ask_pauses_durably_until_a_person_answers(allow: bool, tmp_path: Path):
    ran = []

    @tool(approval="ask")
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    first = Agent(ScriptedModel([call("pay", amount=5)]), [pay], journal=journal)
    paused = await first.run("q")
    assert paused.stop_reason == "paused"
    assert ran == []
    waiting = [r.event for r in await journal.load(paused.run_id) if isinstance(r.event, Paused)][-1]
    assert waiting.calls[0].args == {"amount": 5}
    await journal.aclose()
    # another process, later
    journal = SqliteJournal(path)
    second = Agent(ScriptedModel(["done"]), [pay], journal=journal)
    again = await second.resume(paused.run_id)
    assert again.stop_reason == "paused"
    result = await second.resume(paused.run_id, approve={waiting.calls[0].id: allow})
    assert result.answer == "done"
    assert ran == ([5] if allow else [])
    assert result.steps[0].error == ("" if allow else "denied")
    await journal.aclose()


async def test_a_childs_question_pauses_the_parent_too():
    ran = []

    @tool(approval="ask")
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    journal = MemoryJournal()
    child = Agent(ScriptedModel([call("pay", amount=7), "child done"]), [pay], name="worker")
    boss = Agent(ScriptedModel([call("worker", **ORDER), "all done"]), [child], journal=journal)
    paused = await boss.run("q")
    assert paused.stop_reason == "paused"
    waiting = [r.event for r in await journal.load(paused.run_id) if isinstance(r.event, Paused)][-1]
    assert waiting.calls[0].name == "pay"
    result = await boss.resume(paused.run_id, approve={waiting.calls[0].id: True})
    assert result.answer == "all done"
    assert ran == [7]
    assert result.steps[0].observation == "child done"


def test_deny_and_an_inline_answer():
    from treadle._plugins.guards.approval import Approval

    async def yes(asked) -> bool:
        return asked.args["text"] == "good"

    agent = Agent(
        ScriptedModel([[call("echo", text="good"), call("echo", text="bad")], "done"]),
        [echo.replace(approval="ask")],
        plugins=[Approval(yes)],
    )
    result = go(agent.run("q"))
    assert [step.error for step in result.steps] == ["", "denied"]
    denied = go(Agent(ScriptedModel([call("echo", text="x"), "ok"]), [echo.replace(approval="deny")]).run("q"))
    assert denied.steps[0].error == "denied"
    assert denied.answer == "ok"
