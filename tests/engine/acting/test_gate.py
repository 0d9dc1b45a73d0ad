"""The parts of the gate, one by one: policy, approval, budget, recording, early starts, closing."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from engine.executions import execution, recorded, started
from kit import add, echo
from treadle import Budget, tool
from treadle._engine.acting.execute import Admitted, admit, close_calls, execute_call, may_start_early
from treadle._engine.plugin import Pause, Plugin
from treadle._journal.memory import MemoryJournal
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types import events as ev
from treadle._types.errors import BudgetExhaustedError, JournalError, LimitError
from treadle._types.messages import ToolCall
from treadle._types.usage import Usage

ADD = ToolCall("c1", "add", {"a": 1, "b": 2})
RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


async def _pay(amount: int = 0) -> str:
    RAN.append(f"paid {amount}")
    return "paid"


pay = tool(_pay, name="pay", description="Pay.")
ask_first = pay.replace(approval="ask")
never = pay.replace(approval="deny")
PAY = ToolCall("c1", "pay", {"amount": 5})


class Policy(Plugin):
    """Does before a call what a test says."""

    def __init__(self, verdict: Any, name: str = "policy") -> None:
        self.verdict, self.name = verdict, name
        self.seen: list[ToolCall] = []

    async def before_tool(self, run: Any, call: ToolCall) -> Any:
        self.seen.append(call)
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict if self.verdict is not None else call


class Person(Plugin):
    """Answers when asked for approval."""

    name = "person"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def on_approval(self, run: Any, call: ToolCall) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


# ---- policy


async def test_policies_are_asked_in_order_and_may_change_the_call_but_not_its_id():
    first = Policy(ToolCall("forged", "echo", {"text": "instead"}))
    second = Policy(None)
    run = await started(tools=[add, echo], plugins=[first, second])
    verdict = await admit(run, ADD)
    assert verdict == Admitted(ToolCall("c1", "echo", {"text": "instead"}), echo)
    assert second.seen == [ToolCall("c1", "echo", {"text": "instead"})]


async def test_a_policy_may_answer_in_the_tools_place():
    later = Policy(None)
    run = await started(tools=[pay], plugins=[Policy(ToolOutcome("from the cache")), later])
    outcome = await execute_call(run, PAY)
    assert outcome.content == "from the cache"
    assert (later.seen, RAN) == ([], [])
    assert recorded(run, ev.ToolStarted) == []
    assert [event.content for event in recorded(run, ev.ToolDone)] == ["from the cache"]


async def test_a_policy_that_fails_has_refused():
    run = await started(tools=[pay], plugins=[Policy(ZeroDivisionError("oops"), "budgeteer")])
    outcome = await execute_call(run, PAY)
    assert (outcome.error, outcome.executed, RAN) == ("denied", False, [])
    assert outcome.content == "Tool 'pay' was not run: the check by budgeteer failed (ZeroDivisionError)."


@pytest.mark.parametrize("error", [LimitError("enough"), BudgetExhaustedError("enough"), JournalError("full")])
async def test_what_a_policy_raises_on_purpose_is_passed_on(error: Exception):
    run = await started(tools=[pay], plugins=[Policy(error)])
    with pytest.raises(type(error)):
        await execute_call(run, PAY)
    assert RAN == []


async def test_a_policy_that_pauses_is_asked_about_this_call():
    run = await started(tools=[pay], plugins=[Policy(Pause("look at it"))])
    with pytest.raises(Pause) as caught:
        await admit(run, PAY)
    assert caught.value.calls == (PAY,)


# ---- approval


async def test_without_a_decision_the_run_pauses_for_one():
    for plugins in ([], [Person(None)]):
        run = await started(tools=[ask_first], plugins=plugins)
        with pytest.raises(Pause, match="approval of pay") as caught:
            await execute_call(run, PAY)
        assert caught.value.calls == (PAY,)
        assert recorded(run, ev.ToolStarted, ev.ToolDone) == []


@pytest.mark.parametrize(("allow", "ran"), [(True, ["paid 5"]), (False, [])])
async def test_a_recorded_decision_counts(allow: bool, ran: list[str]):
    run = await started(tools=[ask_first])
    await run.emit(ev.Approved("c1", allow, note="too much"))
    outcome = await execute_call(run, PAY)
    assert ran == RAN
    if not allow:
        assert outcome.content == "Tool 'pay' was not run: the user refused: too much."


@pytest.mark.parametrize(("answer", "ran"), [(True, ["paid 5"]), (False, []), ("yes", [])])
async def test_a_person_who_answers_at_once_is_recorded_and_only_true_means_yes(answer: Any, ran: list[str]):
    run = await started(tools=[ask_first], plugins=[Person(None), Person(answer)])
    await execute_call(run, PAY)
    assert ran == RAN
    assert recorded(run, ev.Approved) == [ev.Approved("c1", answer is True, tool="pay")]


async def test_who_asks_a_person_sees_what_has_been_deferred():
    journal = MemoryJournal()
    run = await started(tools=[ask_first], plugins=[Person(True)], journal=journal)
    await run.defer(ev.Noted("x", {}))
    await execute_call(run, PAY)
    kinds = [type(record.event).__name__ for record in await journal.load("run")]
    assert kinds == ["RunStarted", "Noted", "Approved", "ToolStarted", "ToolDone"]


@pytest.mark.parametrize(("ask", "asked"), [(("all",), True), (("pay",), True), (("other",), False), ((), False)])
async def test_a_run_can_ask_about_tools_that_do_not_say_so_themselves(ask: tuple[str, ...], asked: bool):
    run = await started(tools=[pay], ask=ask)
    assert may_start_early(run, pay.replace(effect="pure")) is not asked
    if asked:
        with pytest.raises(Pause):
            await execute_call(run, PAY)
    else:
        await execute_call(run, PAY)
    assert (RAN == []) is asked


async def test_what_a_run_asks_about_is_asked_about_in_the_runs_inside_it_too():
    outer = await started(tools=[add], ask=("all",))
    inner = await started(tools=[pay], parent=outer.context, run_id="inner")
    with pytest.raises(Pause):
        await execute_call(inner, PAY)
    assert RAN == []


async def test_a_tool_that_is_shown_under_another_name_is_asked_about_by_its_own():
    shown = next(iter(Toolkit([pay]).prefixed("shop_"))).replace(name="a_shop_pay")
    run = await started(tools=[shown], ask=("pay",))
    with pytest.raises(Pause):
        await execute_call(run, msgspec.structs.replace(PAY, name="a_shop_pay"))
    assert RAN == []


async def test_a_tool_that_is_denied_is_not_made_askable():
    run = await started(tools=[never], ask=("all",), plugins=[Person(True)])
    assert (await execute_call(run, PAY)).error == "denied"
    assert RAN == []


@pytest.mark.parametrize("answer", [True, False])
async def test_the_person_at_the_outer_run_is_asked_about_the_calls_of_the_inner_one(answer: bool):
    outer = await started(tools=[add], plugins=[Person(answer)])
    inner = await started(tools=[ask_first], plugins=[Person(None)], parent=outer.context, run_id="inner")
    await execute_call(inner, PAY)
    assert (["paid 5"] if answer else []) == RAN
    assert recorded(inner, ev.Approved) == [ev.Approved("c1", answer, tool="pay")]


async def test_always_said_to_the_outer_run_holds_for_all_that_are_inside_it():
    person = Person({"allow": True, "always": True})
    outer = await started(tools=[add], plugins=[person])
    first = await started(tools=[ask_first], parent=outer.context, run_id="first")
    await execute_call(first, PAY)
    assert recorded(outer, ev.Approved) == [ev.Approved("first:c1", True, always=True, tool="pay")]
    person.answer = False
    second = await started(tools=[ask_first], parent=outer.context, run_id="second")
    await execute_call(second, PAY)
    assert RAN == ["paid 5", "paid 5"]


# ---- running and recording


async def test_a_call_is_bracketed_by_two_records():
    run = await started(tools=[add])
    outcome = await execute_call(run, ADD)
    begun, done = recorded(run, ev.ToolStarted, ev.ToolDone)
    assert (begun.call, begun.key, begun.effect) == (ADD, "run:c1", "pure")
    assert (done.call_id, done.name, done.content, done.executed) == ("c1", "add", "3", True)
    assert outcome.content == "3"


async def test_an_unknown_tool_is_answered_with_the_names_on_offer_only():
    run = await started(tools=[add, echo])
    await run.offer(["add"], "selected")
    outcome = await execute_call(run, ToolCall("c1", "ad", {}))
    assert outcome.error == "unknown_tool"
    assert "add" in str(outcome.content)
    assert "echo" not in str(outcome.content)
    assert (await execute_call(run, ToolCall("c2", "echo", {"text": "x"}))).error == "unknown_tool"


class After(Plugin):
    def __init__(self, change: Any) -> None:
        self.change = change

    async def after_tool(self, run: Any, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        return await self.change(outcome)


async def test_what_plug_ins_make_of_a_result_is_what_is_recorded_and_one_that_fails_is_ignored():
    async def broken(outcome: ToolOutcome) -> ToolOutcome:
        raise ValueError

    async def louder(outcome: ToolOutcome) -> ToolOutcome:
        return ToolOutcome(f"{outcome.content}!")

    run = await started(tools=[add], plugins=[After(broken), After(louder)])
    assert (await execute_call(run, ADD)).content == "3!"
    assert recorded(run, ev.ToolDone)[0].content == "3!"


async def test_an_effect_that_has_happened_is_recorded_though_a_plug_in_is_cut_off():
    reached = asyncio.Event()

    async def slow(outcome: ToolOutcome) -> ToolOutcome:
        reached.set()
        await asyncio.Event().wait()
        return outcome

    run = await started(tools=[pay], plugins=[After(slow)])
    task = asyncio.ensure_future(execute_call(run, PAY))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event.content for event in recorded(run, ev.ToolDone)] == ["paid"]


async def test_a_stopping_run_begins_no_call():
    run = await started(tools=[pay])
    run.life.stop("cancelled")
    with pytest.raises(asyncio.CancelledError):
        await execute_call(run, PAY)
    assert RAN == []


async def test_the_last_result_of_a_round_waits_for_the_next_record():
    journal = MemoryJournal()
    two = ToolCall("c2", "add", {"a": 2, "b": 2})
    run = await started(tools=[add], journal=journal, calls=[ADD, two])
    await execute_call(run, ADD)
    await execute_call(run, two)
    stored = [record.event for record in await journal.load("run")]
    assert [event.call_id for event in stored if isinstance(event, ev.ToolDone)] == ["c1"]
    assert len(run.log.deferred) == 1
    await run.flush()
    assert len(await journal.load("run")) == len(run.log.records)


# ---- budget


async def test_a_call_is_paid_for_and_what_was_not_executed_costs_nothing():
    run = await started(tools=[add], budget=Budget(tool_calls=3))
    await execute_call(run, ADD)
    await execute_call(run, ToolCall("c2", "add", {"a": "x"}))
    assert run.budget.spent == Usage(tool_calls=1)
    assert run.budget.reserved.tool_calls == 0


async def test_without_a_call_left_nothing_runs_and_the_run_is_to_end():
    run = await started(tools=[pay], budget=Budget(tool_calls=1))
    await execute_call(run, PAY)
    outcome = await execute_call(run, ToolCall("c2", "pay", {}))
    assert (outcome.error, outcome.executed, RAN) == ("rejected", False, ["paid 5"])
    assert isinstance(run.ending.exhausted, BudgetExhaustedError)


# ---- early starts


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({}, True),
        ({"effect": "idempotent"}, False),
        ({"effect": "unsafe"}, False),
        ({"approval": "ask"}, False),
        ({"approval": "deny"}, False),
        ({"concurrent": False}, False),
    ],
    ids=str,
)
def test_only_what_nothing_stands_before_may_start_early(changes: dict[str, Any], allowed: bool):
    run = execution(tools=[add])
    assert may_start_early(run, add.replace(**changes)) is allowed


def test_neither_an_unknown_tool_nor_one_that_costs_or_gets_extras_starts_early():
    run = execution(tools=[add])
    assert not may_start_early(run, None)
    run.calls.extras["frame"] = object()
    assert not may_start_early(run, add)
    assert not may_start_early(execution(tools=[add], budget=Budget(requests=9)), add)


# ---- closing


async def test_every_open_call_is_answered_when_a_run_stops():
    two = ToolCall("c2", "echo", {})
    run = await started(tools=[add, echo], calls=[ADD, two])
    await run.emit(ev.ToolStarted(ADD, 1, effect="unsafe"))
    await close_calls(run, "cancelled")
    first, second = recorded(run, ev.ToolDone)
    assert (first.error, first.executed) == ("unknown_outcome", True)
    assert (second.error, second.executed) == ("cancelled", False)
    assert "cancelled" in first.content
    assert run.state.calls.open == {}
    await close_calls(run, "cancelled")
    assert len(recorded(run, ev.ToolDone)) == 2
