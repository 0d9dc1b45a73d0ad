"""Long runs and runs with effects: a search costs what it must, and nothing real runs."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest

from treadle import Agent, Budget, BudgetExhaustedError, ScriptedModel, tool
from treadle._inspect.why.findings import Causes
from treadle._inspect.why.points import Plan
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._types.messages import SystemMessage, ToolMessage, text_of
from treadle._types.request import Request

STEPS, BAD = 40, 33
PROMPT = ["You are a clerk.", "Be polite.", "Read every page.", "Answer briefly."]
SENT: list[str] = []


@tool(effect="pure")
def page(n: int) -> str:
    """Read a page of the ledger."""
    lines = [f"Row {n * 10 + row}: {100 + n * 10 + row} crates." for row in range(6)]
    if n == 30:
        lines[4] = "The total is 4711 crates."
    if n == BAD:
        lines[3] = "Correction: the total is 9999 crates."
    return "\n".join(lines)


def results(request: Request) -> list[str]:
    return [text_of(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def system(request: Request) -> str:
    return next((message.text for message in request.messages if isinstance(message, SystemMessage)), "")


def reader(request: Request) -> Any:
    """Reads on from the last page it sees, and says the last total that it sees."""
    text = "\n".join(results(request))
    rows = [int(number) // 10 for number in re.findall(r"Row (\d+):", text)]
    if (following := max(rows, default=-1) + 1) < STEPS:
        return {"name": "page", "args": {"n": following}}
    totals = re.findall(r"total is (\d+)", text)
    return f"The total is {totals[-1]} crates." if totals else "There is no total."


def right_reader(request: Request) -> Any:
    reply = reader(request)
    if not isinstance(reply, str):
        return reply
    return "About 5000." if "thousand" in system(request) else reply.replace("9999", "4711")


async def searched(rule: Any, *, prompt: list[str] = PROMPT, tools: Any = (page,), **options: Any) -> Causes:
    settings = {"max_iterations": STEPS + 5} | options.pop("settings", {})
    agent = Agent(
        ScriptedModel(rule),
        list(tools),
        journal=MemoryJournal(),
        system="\n".join(prompt),
        on_error="result",
        **settings,
    )
    run = agent.start("How many crates are there?")
    with suppress(BudgetExhaustedError):
        await run
    SENT.clear()
    return await find_causes(agent, run.id, answer="4711", **options)


@pytest.mark.parametrize(
    ("rule", "options", "cause", "most"),
    [
        (reader, {}, "the message of record 136 (page) without 'Correction: the total is 9999 crates.'", 80),
        (right_reader, {"prompt": [*PROMPT, "Round to a thousand."]}, "the system prompt without 'Round to a", 60),
        (right_reader, {"settings": {"max_history_messages": 12}}, "max_history_messages=None", 10),
        (right_reader, {"settings": {"max_iterations": 35}}, "max_iterations=70", 20),
        (right_reader, {"settings": {"budget": Budget(tokens=25_000)}}, "budget={'tokens': 200000}", 60),
    ],
    ids=["a line", "a rule", "a compaction", "a limit", "a budget"],
)
async def test_a_long_run_is_searched_from_its_end(rule: Any, options: dict[str, Any], cause: str, most: int):
    plans: list[Plan] = []
    causes = await searched(rule, on_plan=plans.append, **options)
    assert causes.causes, str(causes)
    assert str(causes.causes[0].change).startswith(cause)
    assert causes.requests <= most
    assert plans[0].requests >= 1, "what it is expected to cost is said before"


@tool
def register(city: str) -> str:
    """Look a city up in the register."""
    SENT.append(city)
    return {"Lyon": "522250 people"}.get(city, "no such city")


def misled(request: Request) -> Any:
    got = results(request)
    asked = "Paris" if "Ask for Paris." in system(request) else "Lyon"
    return f"It says: {got[-1]}" if got else {"name": "register", "args": {"city": asked}}


async def test_a_call_with_an_effect_is_answered_by_a_stub_or_a_guess_and_never_made():
    def stub(city: str) -> str:
        return f"522250 people in {city}"

    def model(request: Request) -> Any:
        if request.component == "guess":
            assert "Look a city up" in str(request.messages[-1])
            return "522250 people"
        return misled(request)

    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "could not be judged, because a result is needed that nobody knows"),
        ({"stubs": {"register": stub}}, "1. it goes right with the system prompt"),
        ({"stubs": {"register": "522250 people"}}, "1. it goes right with the system prompt without 'Ask for Paris.'"),
        ({"guess": True}, "with results that a model has guessed: register"),
    ]
    for options, named in cases:
        agent = Agent(
            ScriptedModel(model),
            [register],
            journal=MemoryJournal(),
            system="Be kind.\nAsk for Paris.",
            preset="default",
        )
        run = await agent.run("How many people live in Lyon?")
        SENT.clear()
        causes = await find_causes(agent, run.run_id, answer="522250", **options)
        assert SENT == []
        assert named in str(causes)
