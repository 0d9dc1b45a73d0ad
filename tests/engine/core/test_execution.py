"""The driver's side of a run: the model in use, the inbox, what is offered."""

from __future__ import annotations

from typing import Any

from engine.executions import execution, recorded, started
from kit import add, echo, go
from treadle import Budget, ScriptedModel
from treadle._engine.core.execution import MAX_EXTRA_ITERATIONS
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.profile import Profile
from treadle._types.usage import Usage

TEXT_ONLY = {"tool_call": False, "json_schema": False}


def test_the_dialect_suits_the_model_until_the_log_says_otherwise():
    assert execution().dialect.name == "native"
    assert execution(ScriptedModel([], abilities=TEXT_ONLY), [add]).dialect.name == "json"
    records = [ev.Record("run", 0, 0.0, ev.RunStarted("q", dialect="action"))]
    assert execution(records=records).dialect.name == "action"


def test_the_model_the_log_names_is_the_one_in_use():
    small, large = ScriptedModel([], name="small"), ScriptedModel([], name="large")
    run = execution(small, fallbacks=[large])
    assert (run.model, run.has_fallback) == (small, True)
    records = [ev.Record("run", 0, 0.0, ev.RunStarted("q", model="large"))]
    resumed = execution(small, fallbacks=[large], records=records)
    assert (resumed.model, resumed.has_fallback) == (large, False)
    gone = [ev.Record("run", 0, 0.0, ev.RunStarted("q", model="no longer there"))]
    assert execution(small, fallbacks=[large], records=gone).model is small


def test_a_fallback_is_recorded_and_spoken_to_in_its_own_dialect():
    async def main() -> None:
        text = ScriptedModel([], name="text only", abilities=TEXT_ONLY)
        run = await started(ScriptedModel([], name="first"), [add], fallbacks=[text])
        await run.use_fallback("overloaded")
        switched, demoted = recorded(run, ev.ModelSwitched, ev.DialectDemoted)
        assert (switched.model, switched.previous, switched.reason) == ("text only", "first", "overloaded")
        assert (demoted.dialect, demoted.previous) == ("json", "native")
        assert (run.model, run.dialect.name) == (text, "json")
        assert not run.has_fallback

    go(main())


def test_a_fallback_that_speaks_the_same_dialect_changes_nothing_but_the_model():
    async def main() -> None:
        run = await started(ScriptedModel([], name="first"), [add], fallbacks=[ScriptedModel([], name="second")])
        await run.use_fallback("overloaded")
        assert recorded(run, ev.DialectDemoted) == []

    go(main())


def test_a_demotion_changes_the_dialect_of_the_next_request():
    async def main() -> None:
        run = await started(tools=[add])
        await run.demote_dialect("json", "no calls")
        assert run.dialect.name == run.state.dialect == "json"
        assert "add" in run.system_prompt()

    go(main())


def test_before_its_first_record_a_run_has_no_system_prompt():
    assert execution(tools=[add]).system_prompt() == ""


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
    assert run.used_call_ids == {"c7"}


def test_advice_of_the_current_round_is_there_after_a_restart():
    advice = ev.ThinkDone("observer", 1, AssistantMessage("fine"), digest="d")
    run = execution(records=[ev.Record("run", 0, 0.0, ev.RunStarted("q")), ev.Record("run", 1, 0.0, advice)])
    assert run.recovered == {("observer", "d"): [advice]}
    run.recovered[("observer", "d")].clear()
    assert run.state.turn.replies == {("observer", "d"): [advice]}


def test_tokens_are_counted_where_somebody_wants_to_know():
    assert not execution(ScriptedModel([], profile=Profile())).counts_tokens
    assert execution(ScriptedModel([], profile=Profile(window=1_000))).counts_tokens
    assert execution(ScriptedModel([], profile=Profile()), budget=Budget(requests=1)).counts_tokens
    assert execution(ScriptedModel([], profile=Profile()), context_budget=500).token_limit == 500


def test_depth_counts_the_runs_above():
    top = execution()
    below = execution(parent=top.context, run_id="b")
    assert (top.depth, below.depth, execution(parent=below.context, run_id="c").depth) == (0, 1, 2)
    assert below.budget.parent is top.budget
    assert below.life.parent is top.life


def test_messages_that_arrived_are_read_as_one():
    async def main() -> None:
        run = await started()
        assert not await run.drain()
        first, second = run.inbox.send("one"), run.inbox.send("two")
        assert await run.drain()
        assert recorded(run, ev.Injected) == [ev.Injected((first, second), ("one", "two"))]

    go(main())


def test_somebody_who_keeps_talking_does_not_keep_the_run_from_ending():
    async def main() -> None:
        run = await started()
        for number in range(MAX_EXTRA_ITERATIONS + 3):
            await run.emit(ev.ThinkDone("loop", number, AssistantMessage("42"), answer="42"))
            run.inbox.send("and another thing")
            if not await run.drain():
                break
        assert run.state.turn.extra_iterations == MAX_EXTRA_ITERATIONS
        assert len(run.inbox.drain()) == 1

    go(main())


def test_a_cancellation_from_another_process_stops_the_run():
    async def main() -> None:
        run = await started()
        run.inbox.cancelled = True
        await run.drain()
        assert run.life.stopping == "cancelled"

    go(main())


def test_what_is_offered_is_recorded_without_names_nobody_knows():
    async def main() -> None:
        run = await started(tools=[add, echo])
        await run.offer(["echo", "nothing"], "selected")
        (changed,) = recorded(run, ev.ToolsChanged)
        assert ([tool.name for tool in changed.tools], changed.reason) == (["echo"], "selected")

    go(main())


def test_a_swap_takes_effect_when_it_is_applied():
    async def main() -> None:
        run = await started(tools=[add])
        await run.apply_swap()
        assert recorded(run, ev.ToolsChanged) == []
        run.tools.swap_later(Toolkit([echo]))
        await run.apply_swap()
        assert [tool.name for tool in run.state.tools] == ["echo"]

    go(main())


def test_each_component_has_a_cache_until_the_run_lets_go_of_them():
    run: Any = execution()
    one = run.cache_for("loop")
    assert run.cache_for("loop") is one
    assert run.cache_for("observer") is not one
    run.release_caches()
    assert run.cache_for("loop") is not one
