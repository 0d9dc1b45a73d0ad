"""What runs inside a run spend is in the log and in the budget of that run, whatever way they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kit import add, call, until
from treadle import Agent, Budget, DagAgent, ScriptedModel, tool
from treadle._engine.context import execution_of
from treadle._flows.dag.plan import DagStep, Plan
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import BudgetExhaustedError, ModelError
from treadle._types.request import RawCall, Reply, Request, StreamPart
from treadle._types.state import fold
from treadle._types.usage import Usage

ORDER = {"user_prompt": "work", "reasoning": "", "context": ""}
COSTLY = Usage(input_tokens=1_000, output_tokens=456, requests=1)


def costly(entry: Any) -> Reply:
    """A reply that costs `COSTLY`: a text, or a call."""
    if isinstance(entry, str):
        return Reply(entry, usage=COSTLY)
    made = RawCall(entry.get("id", "c"), entry["name"], msgspec.json.encode(entry["args"]).decode())
    return Reply(calls=(made,), usage=COSTLY, finish="calls")


@tool(timeout=None)
async def hang() -> str:
    """Hang."""
    await asyncio.sleep(3600)
    return ""


def boss(child: Any, *after: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel([call("child", **ORDER), *(after or ("done",))]), [child], **options)


@pytest.mark.parametrize(
    ("child", "timeout"),
    [
        (lambda: Agent(ScriptedModel([costly(call("add", a=1, b=2))] * 2), [add], name="child", max_iterations=1,
                       on_limit="raise"), None),
        (lambda: Agent(ScriptedModel([costly(call("add", a=1, b=2)), ModelError("x")]), [add], name="child",
                       raise_errors=True), None),
        (lambda: Agent(ScriptedModel([costly(call("hang"))]), [hang], name="child"), 0.05),
        (lambda: Agent(ScriptedModel([costly("fine")]), None, name="child"), None),
    ],
    ids=["raises at its limit", "raises its model's error", "times out", "answers"],
)  # fmt: skip
async def test_a_childs_spending_is_counted_whatever_way_it_ends(child: Any, timeout: float | None):
    run = boss(child().as_tool(timeout=timeout), budget=Budget(tokens=100_000)).start("q")
    result = await run
    assert result.answer == "done"
    own = sum(spent.usage.total_tokens for spent in run.state.spending.components.values())
    assert result.usage.total_tokens == own + COSTLY.total_tokens
    assert execution_of(run.context).budget.spent.total_tokens == result.usage.total_tokens
    (settled,) = [r.event for r in run.records if isinstance(r.event, ev.ChildSpent)]
    assert settled.usage.total_tokens == COSTLY.total_tokens


async def test_the_spending_of_a_cancelled_child_is_its_parents():
    run = boss(Agent(ScriptedModel([costly(call("hang"))]), [hang], name="child").as_tool()).start("q")
    started: list[Any] = []
    run.subscribe(lambda record: started.append(record.event))
    await until(lambda: any(isinstance(e, ev.ToolStarted) and e.call.name == "hang" for e in started))
    run.cancel()
    result = await run
    assert result.stop_reason == "cancelled"
    assert result.usage.total_tokens > COSTLY.total_tokens
    assert isinstance(run.records[-1].event, ev.RunFinished)


async def test_the_spending_of_a_child_that_waits_for_a_person_is_counted_once():
    careful = Agent(
        ScriptedModel([costly(call("add", a=1, b=2)), costly("three")]), [add.replace(approval="ask")], name="child"
    )
    journal = MemoryJournal()
    agent = boss(careful.as_tool(), journal=journal)
    paused = await agent.run("q")
    assert paused.stop_reason == "paused"
    assert paused.usage.total_tokens > COSTLY.total_tokens
    result = await agent.resume(paused.run_id, approve=True)
    assert result.answer == "done"
    own = fold(await journal.load(result.run_id)).spending.components.values()
    assert result.usage.total_tokens == 2 * COSTLY.total_tokens + sum(spent.usage.total_tokens for spent in own)


class Stuck(ScriptedModel):
    """Never answers after its script."""

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        if not self._script or self._next >= len(self._script):  # type: ignore[arg-type]
            await asyncio.sleep(3600)
        async for part in super().stream(request):
            yield part


def killed(child_script: list[Any], journal: MemoryJournal, depth: int, **options: Any) -> Any:
    """A run whose innermost child is at work when its process ends."""

    async def main() -> str:
        inner: Any = Agent(Stuck(child_script), [add], name="child")
        for _ in range(depth - 1):
            inner = Agent(ScriptedModel([call("child", **ORDER)]), [inner.as_tool()], name="child")
        run = boss(inner.as_tool(), journal=journal, **options).start("q")
        seen: list[Any] = []
        run.subscribe(lambda record: seen.append(record.event))
        wanted = len([entry for entry in child_script if isinstance(entry, Reply)])
        await until(lambda: sum(isinstance(e, ev.ThinkDone) and e.usage == COSTLY for e in seen) == wanted
                    and isinstance(seen[-1], ev.ThinkStarted | ev.ReplyCapped))  # fmt: skip
        await run.abandon()
        return run.id

    return main()


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_a_resumed_run_has_spent_what_its_children_spent_before_the_kill(depth: int):
    journal = MemoryJournal()
    script = [costly({**call("add", a=1, b=n), "id": f"c{n}"}) for n in range(3)]
    run_id = await killed(script, journal, depth, budget=Budget(tokens=50_000))
    assert fold(await journal.load(run_id)).usage.total_tokens < 100
    model = ScriptedModel(["one more"], repeat_last=True)
    inner: Any = Agent(model, [add], name="child")
    for _ in range(depth - 1):
        inner = Agent(model, [inner.as_tool()], name="child")
    again = Agent(model, [inner.as_tool()], journal=journal)
    run = await again.load(run_id, budget=Budget(tokens=3 * COSTLY.total_tokens + 50))
    with pytest.raises(BudgetExhaustedError) as caught:
        await again.launch(run)
    assert model.requests == [], "nothing is left for another request"
    total = caught.value.cost.total_tokens
    assert total > 3 * COSTLY.total_tokens
    assert total == fold(await journal.load(run_id)).usage.total_tokens
    assert total == execution_of(run.context).budget.spent.total_tokens


async def test_what_was_settled_is_not_settled_again_when_a_run_is_resumed_twice():
    journal = MemoryJournal()
    run_id = await killed([costly(call("add", a=1, b=2))], journal, 1)
    usage = []
    for _ in range(3):
        child = Agent(Stuck([]), [add], name="child")
        agent = Agent(ScriptedModel([]), [child.as_tool()], journal=journal)
        run = agent.launch(await agent.load(run_id))
        seen: list[Any] = []
        run.subscribe(lambda record, seen=seen: seen.append(record.event))
        await until(lambda seen=seen: seen and isinstance(seen[-1], ev.ThinkStarted | ev.ReplyCapped))
        await run.abandon()
        usage.append(run.state.usage)
    assert usage[0] == usage[1] == usage[2]
    settled = [r for r in await journal.load(run_id) if isinstance(r.event, ev.ChildSpent)]
    assert len(settled) == 1


async def test_a_log_from_before_this_record_is_not_counted_twice():
    journal = MemoryJournal()
    agent = boss(Agent(ScriptedModel([costly("three")]), None, name="child").as_tool(), journal=journal)
    result = await agent.run("q")
    records = []
    for record in await journal.load(result.run_id):
        event = record.event
        if isinstance(event, ev.ChildSpent | ev.RunFinished | ev.AnswerDone | ev.AnswerStarted):
            continue
        if isinstance(event, ev.ToolDone):
            event = ev.ToolDone(event.call_id, event.name, 1, event.content, usage=COSTLY)
        records.append(ev.Record(record.run, len(records), record.time, event, record.parent))
    old = MemoryJournal()
    await old.append(records)
    (child,) = await journal.list(parent=result.run_id)
    await old.append(await journal.load(child.run_id))
    agent.journal = old
    again = await agent.resume(result.run_id)
    assert again.usage == result.usage


async def test_the_steps_of_a_plan_that_time_out_or_fail_are_counted_once():
    def script(request: Request) -> Any:
        text = str(request.messages)
        if "good task" in text and request.component == "loop":
            return costly("fine")
        if "bad task" in text and request.component == "loop":
            return costly(call("hang"))
        return '{"achieved": true, "confidence": 1.0, "final_answer": "x", "reasoning": ""}'

    agent = DagAgent(ScriptedModel(script), [hang], step_timeout=0.3, max_rounds=1, budget=Budget(tokens=100_000))
    plan = Plan((DagStep("a", "good task"), DagStep("b", "bad task")))
    run = agent.launch(agent.prepare("q", plan=plan))
    result = await run
    assert run.state.spending.components["loop"].usage.total_tokens == 2 * COSTLY.total_tokens, (
        "the components of steps count"
    )
    assert result.usage.total_tokens == sum(
        spent.usage.total_tokens for spent in run.state.spending.components.values()
    )
    assert result.metadata["dag"]["steps"]["a"]["usage"]["input_tokens"] == 1_000
