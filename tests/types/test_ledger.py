"""What became of each call that acts, from the record."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, BaseTool, ConfigError, ScriptedModel, ToolParam, ToolResponse, ToolSpec, tool
from treadle._journal.memory import MemoryJournal
from treadle._types.acts import Act
from treadle._types.events import Record, ToolDone
from treadle._types.ledger import Ledger
from treadle._types.state import fold

RESULTS: dict[int, Any] = {
    1: "refunded",
    2: "Error: the card has expired",
    3: '{"success": false, "message": "too late"}',
    4: {"error": "no such order"},
    5: ToolResponse("the bank said no", error=True),
    6: ValueError("boom"),
    7: "declined by the bank",
    8: "Errors: 0, refunded",
    9: {"status_code": 503, "message": "try later"},
}


@tool(effect="unsafe", identifies="order", fails_when="^declined")
async def refund(order: int, amount: float = 0.0) -> Any:
    """Refund an order."""
    if isinstance(result := RESULTS[order], Exception):
        raise result
    return result


@tool(effect="pure")
async def look(order: int) -> str:
    """Look an order up."""
    raise ValueError("gone")


def agent(*replies: Any, tools: Any = (refund, look), **options: Any) -> Agent:
    return Agent(ScriptedModel(list(replies)), list(tools), **options)


@pytest.mark.parametrize(
    ("order", "state", "result"),
    [
        (1, "done", "refunded"),
        (2, "failed", "Error: the card has expired"),
        (3, "failed", "too late"),
        (4, "failed", "no such order"),
        (5, "failed", "the bank said no"),
        (6, "failed", "ValueError"),
        (7, "failed", "declined by the bank"),
        (8, "done", "Errors: 0, refunded"),
        (9, "failed", "try later"),
    ],
)
def test_no_exception_is_not_success(order: int, state: str, result: str):
    (entry,) = agent(call("look", order=order), call("refund", order=order, amount=30), "Done.").run_sync("q").ledger
    assert (entry.tool, entry.state, entry.result) == ("refund", state, result)
    assert entry.args == {"order": order}


def test_what_was_not_run_is_refused_and_what_was_cut_off_is_unknown():
    refused = agent(call("refund", order=1), "Done.", tools=[refund.replace(approval="deny")]).run_sync("q").ledger
    assert [(entry.state, entry.subject) for entry in refused] == [("refused", "refund (order 1)")]
    assert refused[0].line == "[not done: refund (order 1): it is not allowed here]"
    wrong = agent(call("refund", order="x"), "Done.").run_sync("q").ledger
    assert [entry.state for entry in wrong] == ["refused"]

    @tool(timeout=0.01)
    async def send(text: str) -> str:
        """Send."""
        await asyncio.sleep(60)
        return "sent"

    (entry,) = agent(call("send", text="hello"), "Done.", tools=[send]).run_sync("q").ledger
    assert (entry.state, entry.declared) == ("unknown", False)
    assert entry.line.startswith("[outcome unknown: send (text hello)")


def test_the_ledger_is_the_same_when_the_log_is_folded_again():
    journal = MemoryJournal()
    result = agent(call("refund", order=2), call("refund", order=1), "Done.", journal=journal).run_sync("q")
    assert fold(go(journal.load(result.run_id))).ledger.entries == result.ledger
    assert [(entry.run, entry.state) for entry in result.ledger] == [(result.run_id, "failed"), (result.run_id, "done")]


def test_an_agent_that_was_asked_reports_what_it_did():
    helper = Agent(ScriptedModel([call("refund", order=2), "I could not."]), [refund], name="helper")
    asked = call("helper", user_prompt="Refund 2.", reasoning="r", context="c")
    result = agent(asked, "Done.", tools=[helper.as_tool()]).run_sync("q")
    assert [(entry.subject, entry.state) for entry in result.ledger] == [("refund (order 2)", "failed")]
    assert result.ledger[0].call_id.startswith(f"{result.run_id}.")


def test_an_outcome_that_became_known_takes_the_place_of_the_unknown():
    ledger = Ledger()
    for seq, (text, error) in enumerate([("?", "unknown_outcome"), ("sent", ""), ("again", "")]):
        event = ToolDone("c", "send", 1, text, error, act=Act())
        ledger.on_tool_done(event, Record("r", seq, 0.0, event))
    assert [(entry.seq, entry.state) for entry in ledger.entries] == [(1, "done")]


def test_what_a_tool_declares_is_checked():
    with pytest.raises(ConfigError, match="identifies names 'nobody'; its arguments are: order, amount"):
        refund.replace(identifies=("nobody",))

    class Cancel(BaseTool):
        spec = ToolSpec("cancel", "Cancels.", inputs=[ToolParam("order", int)])
        identifies = ("order",)
        fails_when = staticmethod(lambda result: "it was late" if result == "late" else False)

        def __call__(self, order: int) -> str:
            return "late"

    result = agent(call("cancel", order=3), "Done.", tools=[Cancel()]).run_sync("q")
    assert (result.ledger[0].state, result.ledger[0].result) == ("failed", "it was late late")
    assert result.steps[0].error == "exception"
