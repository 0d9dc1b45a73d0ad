"""The inspector's views: bars over time, what the cache could use again, two requests side by side, filter and jump."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit import add, call, echo
from server.serving import Client, serving
from treadle import Agent, Plugin, RunContext, ScriptedModel
from treadle._types.events import ToolsChanged

from .stage import Gates, guide
from .test_page import Shoot, Stage


class Fewer(Plugin):
    async def before_round(self, run: RunContext) -> None:
        if run.state.iteration == 2 and len(run.state.tools) == 2:
            await run.emit(ToolsChanged(run.state.tools[:1], "fewer are enough"))


@pytest.fixture(scope="module")
def client(built_page: None) -> Iterator[Client]:
    script = [call("add", a=1, b=2), call("add", a=2, b=3), call("add", a=3, b=4), "10"]
    breaking = Agent(ScriptedModel(script), tools=[add, echo], plugins=[Fewer()])
    with serving({"guide": guide(Gates()), "breaking": breaking}) as client:
        yield client


@pytest.fixture
def stage(browser: Any, client: Client) -> Iterator[Stage]:
    context = browser.new_context(viewport={"width": 1500, "height": 900})
    stage = Stage(context.new_page(), client, Gates())
    yield stage
    assert not stage.faults, stage.faults
    context.close()


def inspect(stage: Stage, run: str) -> Any:
    stage.page.goto(f"{stage.client.address}/#/c/{run}")
    stage.finish()
    stage.page.get_by_label("Inspect this run").click()
    stage.see(".record")
    return stage.page


def test_parallel_calls_are_bars_at_the_same_time(stage: Stage, shoot: Shoot):
    run = stage.client.start("Which is taller?", agent="guide")
    stage.client.wait(run)
    page = inspect(stage, run)
    page.get_by_role("tab", name="Waterfall").click()
    stage.count(".fall rect.tool", 2)
    assert page.locator(".fall rect.model").count() >= 2
    first, second = page.locator(".fall rect.tool").evaluate_all(
        "(all) => all.map((one) => [one.x.baseVal.value, one.x.baseVal.value + one.width.baseVal.value])"
    )
    assert first[0] < second[1], "they overlap"
    assert second[0] < first[1], "they overlap"
    assert "model" in page.locator(".waterfall").inner_text()
    shoot(page, "waterfall")
    bar = page.locator(".fall", has=page.locator("rect.tool")).first
    bar.focus()
    page.keyboard.press("Enter")
    stage.see(".record:has([aria-expanded=true])", has_text="tool started")


def test_what_was_used_again_and_where_it_broke(stage: Stage, shoot: Shoot):
    run = stage.client.start("sum", agent="breaking")
    stage.client.wait(run)
    page = inspect(stage, run)
    page.get_by_role("tab", name="Timeline").focus()
    page.keyboard.press("ArrowLeft")  # round to the last one
    assert page.get_by_role("tab", name="Why").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowLeft")
    stage.count(".prefixes li", 4)
    lines = page.locator(".prefixes li").all_inner_texts()
    assert "nothing to use again" in lines[0]
    assert "% the same as before" in lines[1]
    assert "Broke at the tools: tools changed: fewer are enough." in lines[2]
    assert page.locator(".prefixes .broken").count() == 1
    shoot(page, "cache")
    page.get_by_role("button", name="Show the difference").nth(1).click()
    difference = stage.see(".difference")
    removed = " ".join(difference.locator(".removed").all_inner_texts())
    assert "tool echo" in removed, "the tool that is gone"
    page.get_by_label("Compare with").select_option("-1")
    stage.see(".messages")
    page.get_by_role("button", name="Timeline").click()
    stage.see(".prefixes")


def test_records_are_filtered_and_one_is_gone_to(stage: Stage):
    run = stage.client.start("sum", agent="guide")
    stage.client.wait(run)
    page = inspect(stage, run)
    box = page.get_by_label("Filter records")
    every = page.locator(".record").count()
    box.fill("run finished")
    stage.count(".record", 1)
    assert f"1 of {every} records" in page.locator(".inspector-body").inner_text()
    box.fill("#0")
    stage.count(".record", every)
    page.keyboard.press("Enter")
    assert "run started" in stage.see(".record:has([aria-expanded=true])").inner_text()


def test_it_is_loaded_when_it_is_wanted_and_the_page_is_small(stage: Stage):
    sizes: dict[str, int] = {}
    stage.page.on(
        "response",
        lambda answer: sizes.__setitem__(answer.url.rpartition("/")[2], int(answer.headers.get("content-length", 0))),
    )
    stage.page.goto(stage.client.address)
    stage.see(".welcome")
    assert not any(name.startswith(("inspector", "desk")) for name in sizes)
    stage.page.goto(f"{stage.client.address}/#/runs")
    stage.see(".desk-head")
    stage.page.goto(f"{stage.client.address}/#/agents")
    assert sum(sizes.values()) < 150_000, sizes
