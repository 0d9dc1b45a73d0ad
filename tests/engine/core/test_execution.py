"""The driver's side of a run: the inbox, what is offered."""

from __future__ import annotations

from engine.executions import execution, recorded, started
from kit import add, echo
from treadle import Budget
from treadle._engine.core.execution import MAX_EXTRA_ITERATIONS
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.usage import Usage


def test_a_resumed_run_has_spent_what_it_had_spent_and_knows_its_call_ids():
    records = [
        ev.Record("run", 0, 0.0, ev.RunStarted("q")),
        ev.Record(
            "run",
            1,
            0.0,
            ev.ThinkDone("loop", 1, AssistantMessage("", (ToolCall("c7", "add"),)), usage=Usage(requests=1)),
        ),
    ]
    run = execution(records=records, budget=Budget(requests=5))
    assert run.budget.spent.requests == 1
    assert run.calls.used_ids == {"c7"}


def test_advice_of_the_current_round_is_there_after_a_restart():
    advice = ev.ThinkDone("observer", 1, AssistantMessage("fine"), digest="d")
    run = execution(records=[ev.Record("run", 0, 0.0, ev.RunStarted("q")), ev.Record("run", 1, 0.0, advice)])
    assert run.recovered == {("observer", "d"): [advice]}
    run.recovered[("observer", "d")].clear()
    assert run.state.turn.replies == {("observer", "d"): [advice]}


def test_depth_counts_the_runs_above():
    top = execution()
    below = execution(parent=top.context, run_id="b")
    assert (top.depth, below.depth, execution(parent=below.context, run_id="c").depth) == (0, 1, 2)
    assert below.budget.parent is top.budget
    assert below.life.parent is top.life


async def test_somebody_who_keeps_talking_does_not_keep_the_run_from_ending():
    run = await started()
    for number in range(MAX_EXTRA_ITERATIONS + 3):
        await run.emit(ev.ThinkDone("loop", number, AssistantMessage("42"), answer="42"))
        run.inbox.send("and another thing")
        if not await run.drain():
            break
    assert run.state.turn.extra_iterations == MAX_EXTRA_ITERATIONS
    assert len(run.inbox.drain()) == 1


async def test_a_cancellation_from_another_process_stops_the_run():
    run = await started()
    run.inbox.cancelled = True
    await run.drain()
    assert run.life.stopping == "cancelled"


async def test_what_is_offered_is_recorded_without_names_nobody_knows():
    run = await started(tools=[add, echo])
    await run.offer(["echo", "nothing"], "selected")
    (changed,) = recorded(run, ev.ToolsChanged)
    assert ([tool.name for tool in changed.tools], changed.reason) == (["echo"], "selected")
