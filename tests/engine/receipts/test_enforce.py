"""An answer that hides what was not done ends with the ledger's line."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle.events import AnswerDelta, Reset, RunFinished


@tool(effect="unsafe", identifies="order")
async def refund(order: int) -> str:
    """Refund an order."""
    return "Error: card expired" if order == 4711 else "refunded"


def agent(*replies: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(list(replies)), options.pop("tools", [refund]), **options)


FAILED = call("refund", order=4711)


@pytest.mark.parametrize("answer", ["Order 4711 was refunded.", "All done!", "I couldn't be happier: it is refunded."])
def test_what_was_hidden_is_added_and_the_run_is_no_success(answer: str):
    result = agent(FAILED, answer).run_sync("Please refund order 4711.")
    assert result.answer == f"{answer}\n\n[not done: refund (order 4711): Error: card expired]"
    assert (result.success, result.stop_reason, result.brief) == (False, "answer", answer)


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        ((FAILED,), "Order 4711 could not be refunded: the card has expired."),
        ((call("refund", order=1),), "Order 1 was refunded."),
        ((call("refund", order="x"), call("refund", order=1)), "Order 1 was refunded."),
        ((call("refund", order=1), call("refund", order=1)), "Order 1 was refunded."),
    ],
)
def test_what_is_admitted_or_made_up_for_stays_as_it_is(replies: tuple[Any, ...], answer: str):
    result = agent(*replies, answer).run_sync("Refund.")
    assert (result.answer, result.success) == (answer, True)


def test_a_later_success_for_another_order_makes_up_for_nothing():
    result = agent(FAILED, call("refund", order=1), "Both were refunded.").run_sync("Refund.")
    assert "[not done: refund (order 4711)" in result.answer


def test_it_is_sent_back_once_and_then_marked_or_refused():
    honest = agent(FAILED, "All done!", "Order 4711 could not be refunded.", receipts="correct")
    result = honest.run_sync("Refund 4711.")
    assert (result.answer, result.success) == ("Order 4711 could not be refunded.", True)
    told = honest.model.requests[-1].messages[-1].content
    assert "- not done: refund (order 4711): Error: card expired" in told
    silent = agent(FAILED, "All done!", "All done!", receipts="correct").run_sync("Refund 4711.")
    assert silent.answer.startswith("All done!\n\n[not done:")
    refused = agent(FAILED, "All done!", "All done!", receipts="refuse").run_sync("Refund 4711.")
    assert refused.answer == "[not done: refund (order 4711): Error: card expired]"
    assert (refused.success, type(refused.error).__name__) == (False, "GuardrailError")
    off = agent(FAILED, "All done!", receipts="off").run_sync("Refund 4711.")
    assert (off.answer, off.success, off.ledger[0].state) == ("All done!", True, "failed")


def test_a_tool_that_declares_nothing_may_have_been_asked_a_question():
    @tool
    async def read(name: str) -> str:
        """Read."""
        if name != "b":
            raise ValueError(name)
        return "text"

    lost = agent(call("read", name="a"), "It is fine.", tools=[read]).run_sync("q")
    assert (lost.answer, lost.ledger[0].state) == ("It is fine.", "failed")
    named = agent(call("read", name="a17"), call("read", name="b"), "a17 is fine.", tools=[read]).run_sync("q")
    assert "[not done: read (name a17)" in named.answer


def test_what_was_streamed_is_not_taken_back():
    async def main() -> list[Any]:
        return [event async for event in agent(FAILED, "All done!").stream("Refund 4711.")]

    events = go(main())
    assert not any(isinstance(event, Reset) for event in events)
    shown = "".join(event.text for event in events if isinstance(event, AnswerDelta))
    assert shown == "All done!\n\n[not done: refund (order 4711): Error: card expired]"


def test_a_typed_answer_is_left_alone_and_is_no_success():
    result = agent(FAILED, '{"ok": true}', output_type={"type": "object"}).run_sync("Refund 4711.")
    assert (result.output, result.success) == ({"ok": True}, False)


def test_resumed_between_the_answer_and_the_end_it_says_the_same():
    async def main() -> Any:
        whole, cut = MemoryJournal(), MemoryJournal()
        await agent(FAILED, "All done!", journal=whole).run("Refund 4711.", run_id="r")
        *records, end = await whole.load("r")
        assert isinstance(end.event, RunFinished)
        await cut.append(records)
        return await agent(journal=cut).resume("r")

    result = go(main())
    assert (result.answer.count("[not done:"), result.success) == (1, False)
