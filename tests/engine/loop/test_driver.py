"""The driver: how a run starts, is claimed, stopped, paused and ended, whatever its flow does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from engine.executions import execution, finished, prepared, recorded
from kit import add, call, go
from treadle import Budget, ScriptedModel, tool
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._engine.loop.driver import Loop, drive
from treadle._engine.plugin import Pause, Plugin
from treadle._engine.result import RunResult
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import (
    BudgetExhaustedError,
    ConfigError,
    JournalError,
    MaxIterationsError,
    ModelError,
    RunBusyError,
    TreadleError,
)
from treadle._types.messages import ToolCall
from virtual_time import go_virtual, in_virtual_time


class Work:
    """A flow that does what a test says."""

    def __init__(self, work: Any, **facts: Any) -> None:
        self._work, self._facts = work, facts

    async def work(self, run: Execution) -> None:
        if isinstance(self._work, BaseException):
            raise self._work
        await self._work(run)

    def partial_answer(self, run: Execution) -> str:
        return "so far"

    def findings(self, run: Execution) -> str:
        return ""

    def metadata(self, run: Execution) -> dict[str, Any]:
        return self._facts


async def answer(run: Execution) -> None:
    await finish(run, "42", "answer")


def names(run: Execution) -> list[str]:
    return [type(event).__name__ for event in recorded(run)]


# ---- the start


async def test_the_first_record_says_what_the_run_depends_on():
    run = execution(ScriptedModel([], name="m"), [add], temperature=0.5, prompts={"complete": "MINE"})
    await drive(run, Work(answer))
    (started,) = recorded(run, ev.RunStarted)
    assert (started.question, started.model, started.dialect) == ("q", "m", "native")
    assert [schema.name for schema in started.tools] == ["add"]
    assert (started.settings, started.prompts) == ({"temperature": 0.5}, {"complete": "MINE"})
    assert started.profile == run.current.model.profile


def test_a_flow_adds_what_it_knows_to_the_result():
    async def main() -> RunResult:
        return await drive(execution(), Work(answer, dag={"rounds": 2}))

    result = go(main())
    assert (result.answer, result.metadata["dag"], result.metadata["rounds"]) == ("42", {"rounds": 2}, 0)


async def test_a_money_limit_without_prices_is_refused_before_anything_is_recorded():
    run = execution(budget=Budget(cost=1.0))
    with pytest.raises(ConfigError, match="prices"):
        await drive(run, Work(answer))
    assert run.log.records == []


class Starting(Plugin):
    def __init__(self, note: bool) -> None:
        self.note, self.calls = note, list[str]()

    async def on_start(self, run: Any) -> None:
        self.calls.append("start")
        if self.note:
            await run.emit(ev.Noted("starting", {}))

    async def on_resume(self, run: Any) -> None:
        self.calls.append("resume")


@pytest.mark.parametrize(("note", "resumed"), [(True, "resume"), (False, "start")])
async def test_start_hooks_that_have_recorded_something_are_not_called_again(note: bool, resumed: str):
    first = Starting(note)
    run = execution(ScriptedModel([Pause("stop here")]), [add], plugins=[first])
    await drive(run, Loop())
    assert first.calls == ["start"]
    assert ("LoopStarted" in names(run)) is note
    records = [record for record in run.log.records if not isinstance(record.event, ev.ThinkStarted)]
    second = Starting(note)
    await drive(execution(ScriptedModel(["done"]), [add], plugins=[second], records=records), Loop())
    assert second.calls == [resumed]


# ---- resuming


async def test_a_finished_run_is_not_worked_on_again():
    first = execution()
    await drive(first, Work(answer))
    again = execution(records=first.log.records)
    result = await drive(again, Work(AssertionError("it must not work")))
    assert (result.answer, len(again.log.records)) == ("42", len(first.log.records))


async def test_a_resumed_run_says_so_and_reads_what_was_left_for_it():
    journal = MemoryJournal()
    first = execution(journal=journal)
    await drive(first, Work(Pause("approval", [ToolCall("c1", "pay")])))
    assert first.state.paused is not None
    await journal.put(InboxItem("i1", "run", "approve", {"call_id": "c1", "allow": True, "by": "ann"}))
    await journal.put(InboxItem("i2", "run", "message", {"text": "hurry"}))
    again = execution(journal=journal, records=await journal.load("run"))
    await drive(again, Work(answer))
    assert recorded(again, ev.Resumed) == [ev.Resumed("paused")]
    assert again.state.calls.approvals["c1"].by == "ann"
    assert recorded(again, ev.Injected)[0].texts == ("hurry",)


async def test_another_model_than_the_log_names_is_declared():
    first = execution(ScriptedModel([], name="old"), [add])
    await drive(first, Work(Pause("wait")))
    text_only = ScriptedModel([], name="new", abilities={"tool_call": False})
    again = execution(text_only, [add], records=first.log.records)
    await drive(again, Work(answer))
    (switched,) = recorded(again, ev.ModelSwitched)
    assert (switched.model, switched.previous) == ("new", "old")
    assert len(recorded(again, ev.DialectDemoted)) == 1


# ---- the claim


async def test_one_driver_at_a_time_and_the_claim_is_given_back():
    journal = MemoryJournal()
    working, release = asyncio.Event(), asyncio.Event()

    async def wait(run: Execution) -> None:
        working.set()
        await release.wait()
        await answer(run)

    first = asyncio.ensure_future(drive(execution(journal=journal), Work(wait)))
    await working.wait()
    with pytest.raises(RunBusyError):
        await drive(execution(journal=journal, records=await journal.load("run")), Work(answer))
    release.set()
    await first
    await drive(execution(journal=journal, records=await journal.load("run")), Work(answer))


async def test_a_failing_journal_ends_the_run_without_a_result():
    class Full(MemoryJournal):
        async def append(self, records: Any) -> None:
            raise JournalError("the disk is full")

    with pytest.raises(JournalError, match="full"):
        await drive(execution(journal=Full()), Work(answer))


# ---- ends


@pytest.mark.parametrize(
    ("error", "reason", "kind"),
    [
        (ModelError("it broke"), "error", ModelError),
        (ConfigError("no such tool"), "error", ConfigError),
        (RuntimeError("a fault of ours"), "error", TreadleError),
    ],
)
async def test_whatever_a_flow_raises_is_reported_in_the_result(error: Exception, reason: str, kind: type[Exception]):
    run = execution()
    result = await drive(run, Work(error))
    assert (result.stop_reason, result.success) == (reason, False)
    assert type(result.error) is kind
    assert "so far" in result.answer
    if kind is TreadleError:
        assert result.error.__cause__ is error  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [ModelError("it broke"), RuntimeError("ours")])
async def test_errors_leave_the_run_where_the_settings_say_so(error: Exception):
    run = execution(raise_errors=True)
    with pytest.raises(TreadleError):
        await drive(run, Work(error))
    assert run.state.finished is not None


async def test_a_limit_of_a_plug_in_is_raised_and_recorded():
    run = execution()
    with pytest.raises(MaxIterationsError):
        await drive(run, Work(MaxIterationsError("enough")))
    assert (finished(run).stop_reason, finished(run).answer) == ("limit", "so far")


class Broken(Work):
    """A flow that cannot even say what it has found."""

    def partial_answer(self, run: Execution) -> str:
        raise RuntimeError("nor this")


@pytest.mark.parametrize(
    "error", [RuntimeError("first"), BudgetExhaustedError("used up"), MaxIterationsError("enough")]
)
async def test_an_end_that_fails_itself_is_recorded_all_the_same(error: Exception):
    run = execution(ScriptedModel([]), on_budget="force_answer")
    with suppress(MaxIterationsError):
        await drive(run, Broken(error))
    assert str(error) in finished(run).error


# ---- stops from outside


@tool(timeout=None)
async def hang() -> str:
    """Hang."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize("on_budget", ["raise", "force_answer"])
async def test_time_that_is_up_stops_the_run(on_budget: str):
    run = prepared(ScriptedModel([call("hang")]), [hang], budget=Budget(seconds=0.05), on_budget=on_budget)
    run.begin(Loop())
    if on_budget == "raise":
        with pytest.raises(BudgetExhaustedError, match=r"0\.05 seconds is used up"):
            await run
    else:
        result = await run
        assert isinstance(result.error, BudgetExhaustedError)
    assert finished(run).stop_reason == "budget"


def test_who_waits_and_is_cancelled_stops_the_run_too():
    async def main() -> None:
        run = prepared(ScriptedModel([call("hang")]), [hang]).begin(Loop())
        waiter = asyncio.ensure_future(_wait(run))
        await asyncio.sleep(1)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert finished(run).stop_reason == "cancelled"

    async def _wait(run: Any) -> Any:
        return await run

    go_virtual(main())


@in_virtual_time
async def test_a_cancellation_of_its_task_by_somebody_else_is_recorded_and_passed_on():
    run = prepared(ScriptedModel([call("hang")]), [hang]).begin(Loop())
    await asyncio.sleep(1)
    run.task.cancel()
    await asyncio.wait([run.task])
    assert run.task.cancelled()
    assert finished(run).stop_reason == "cancelled"


@in_virtual_time
async def test_an_abandoned_run_is_left_as_a_crash_would_leave_it():
    journal = MemoryJournal()
    run = prepared(ScriptedModel([call("hang")]), [hang], journal=journal).begin(Loop())
    await asyncio.sleep(1)
    await run.abandon()
    assert run.state.finished is None
    assert len(run.state.calls.pending()) == 1
    await journal.claim("run", "another driver")


@pytest.mark.parametrize("stored", [True, False])
async def test_a_run_that_is_stopped_before_its_first_step_ends_cancelled(stored: bool):
    model = ScriptedModel(["never asked for"])
    journal = MemoryJournal() if stored else None
    run = prepared(model, journal=journal).begin(Loop())
    run.cancel()
    result = await run
    assert (result.stop_reason, result.success, model.requests) == ("cancelled", False, [])
    assert [type(record.event) for record in run.records] == [ev.RunStarted, ev.RunFinished]
    early = prepared(model)
    early.cancel()
    assert (await early.begin(Loop())).stop_reason == "cancelled"


@in_virtual_time
async def test_a_run_that_is_stopped_while_it_is_claimed_ends_cancelled():
    class Slow(MemoryJournal):
        async def claim(self, run_id: str, owner: str) -> int:
            await asyncio.sleep(1)
            return await super().claim(run_id, owner)

    run = prepared(ScriptedModel([]), journal=Slow()).begin(Loop())
    await asyncio.sleep(0.5)
    run.cancel()
    assert (await run).stop_reason == "cancelled"
    assert isinstance(run.records[-1].event, ev.RunFinished)


@pytest.mark.parametrize("on_budget", ["raise", "force_answer"])
async def test_a_budget_that_ran_out_is_raised_or_answered(on_budget: str):
    model = ScriptedModel(["best effort"])
    run = execution(model, [add], on_budget=on_budget)
    if on_budget == "raise":
        with pytest.raises(BudgetExhaustedError):
            await drive(run, Work(BudgetExhaustedError("used up")))
    else:
        assert (await drive(run, Work(BudgetExhaustedError("used up")))).answer == "best effort"
    assert run.state.finished is not None
    assert run.state.finished.stop_reason == "budget"
