"""Budgets of users and tenants: counted in the journal, reserved before they are spent, over processes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from server.serving import serving
from treadle import (
    Agent,
    BudgetExhaustedError,
    ConfigError,
    Journal,
    ScriptedModel,
    SharedBudget,
    WrongValueError,
    open_journal,
    tool,
)
from treadle._cli.main import main
from treadle._journal.memory import MemoryJournal
from treadle._types.profile import Prices, Profile
from treadle._types.state import fold


@tool(effect="pure")
async def look() -> str:
    """Look."""
    return "nothing"


def agent(journal: Journal, *script: Any, by: Any = "tenant", **limits: Any) -> Agent:
    budgets = [SharedBudget(by=by, **limits)]
    return Agent(ScriptedModel(script or ["done"], repeat_last=True), [look], journal=journal, budgets=budgets)


def today(whose: str) -> str:
    """The key of the sum; a test that runs at midnight is run again."""
    return f"day:{time.strftime('%Y-%m-%d', time.gmtime())}:{whose}"


async def test_a_tenant_has_one_budget_and_another_one_its_own():
    journal = MemoryJournal()
    asked = agent(journal, call("look"), "done", requests=3)
    await asked.run("q", user="acme/ann")
    with pytest.raises(BudgetExhaustedError, match="3 requests of tenant acme a day") as raised:
        await agent(journal, call("look"), requests=3).run("q", user="acme/bob")
    assert raised.value.cost is not None
    assert (await agent(journal, requests=3).run("q", user="other/ann")).answer == "done"
    with pytest.raises(BudgetExhaustedError):
        await agent(journal, requests=3).run("q", user="acme/carl")


@pytest.mark.parametrize(("by", "free"), [("user", True), ("agent", False), ("all", False)])
async def test_whose_runs_are_counted_together(by: str, free: bool):
    journal = MemoryJournal()
    await agent(journal, by=by, requests=1).run("q", user="ann")
    if free:
        assert (await agent(journal, by=by, requests=1).run("q", user="bob")).answer == "done"
        return
    with pytest.raises(BudgetExhaustedError):
        await agent(journal, by=by, requests=1).run("q", user="bob")


async def test_a_run_inside_another_spends_the_budget_of_whoever_asked():
    journal = MemoryJournal()
    order = {"user_prompt": "look", "reasoning": "", "context": ""}
    inner = Agent(ScriptedModel([call("look")], repeat_last=True), [look], name="clerk", max_iterations=50)
    budgets = [SharedBudget(by="user", requests=8), SharedBudget(by="tenant", tool_calls=100)]
    script = [call("clerk", **order), "done"]
    boss = Agent(ScriptedModel(script), [inner.as_tool()], journal=journal, budgets=budgets, on_error="result")
    with pytest.raises(BudgetExhaustedError):
        await boss.run("q", user="ann")
    [spent] = (await journal.spent([today("user:ann")])).values()
    assert spent.requests == 8


async def test_what_was_reserved_and_not_used_is_given_back_and_replies_are_capped():
    journal = MemoryJournal()
    profile = Profile(prices=Prices(input=1.0, output=10.0), max_output=100_000)
    model = ScriptedModel(["done"], repeat_last=True, profile=profile)
    asked = Agent(model, None, journal=journal, budgets=[SharedBudget(by="user", cost=0.01)])
    for _ in range(5):
        assert (await asked.run("q", user="ann")).answer == "done"
    assert all(one.max_tokens is not None and one.max_tokens < 1000 for one in model.requests)
    [spent] = (await journal.spent([today("user:ann")])).values()
    assert spent.requests == 5
    assert spent.cost == pytest.approx(sum(info.summary.cost for info in await journal.list()))  # pyright: ignore


def test_wrong_settings_are_clear_errors():
    with pytest.raises(WrongValueError, match="no seconds"):
        SharedBudget(seconds=3)
    with pytest.raises(ConfigError, match="counted in a journal"):
        go(Agent(ScriptedModel(["done"]), None, budgets=[SharedBudget(requests=1)]).run("q"))


def test_a_server_counts_for_each_tenant_and_the_report_sums_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tokens = {f"a-token-of-some-length-{user}": user for user in ("acme/ann", "acme/bob", "other/carl")}
    asked = Agent(ScriptedModel(["done"], repeat_last=True), None, budgets=[SharedBudget(by="tenant", requests=2)])
    journal = tmp_path / "journal.db"
    statuses: list[int] = []
    with serving(asked, journal, tokens=tokens) as client:
        for user in ("acme/ann", "acme/bob", "acme/ann", "acme/bob", "other/carl"):
            body = {"model": "demo", "messages": [{"role": "user", "content": f"{user} {len(statuses)}"}]}
            answer = client.as_user(f"a-token-of-some-length-{user}").ask("POST", "/v1/chat/completions", body)
            statuses.append(answer.status)
    assert statuses == [200, 200, 424, 424, 200]
    assert "2 requests of tenant acme a day" in str(answer_of(journal))
    assert main(["report", "--by", "tenant", "--journal", str(journal)]) == 0
    report = capsys.readouterr().out
    assert "## By tenant" in report
    assert [row.split("|")[1:4] for row in report.splitlines() if row.startswith(("| acme", "| other"))] == [
        [" acme ", " 4 ", " 2 "],
        [" other ", " 1 ", " 1 "],
    ]


def answer_of(journal: Path) -> list[str]:
    async def errors() -> list[str]:
        opened = open_journal(str(journal))
        runs = [fold(await opened.load(info.run_id)) for info in await opened.list()]
        await opened.aclose()
        return [state.finished.error for state in runs if state.finished is not None]

    return go(errors())
