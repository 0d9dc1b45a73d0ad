"""All runs at a glance, notes, and two runs side by side, in a real browser."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kit import add, call
from server.serving import Client, has_results, serving
from treadle import Agent, ScriptedModel, Usage, tool
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

from .stage import Gates
from .test_page import SIZE, Shoot, Stage

DAY = 86_400.0
BEGAN = 1_780_000_000.0


def past(number: int, question: str = "") -> list[ev.Record]:
    run, at = f"past-{number:06}", BEGAN + number * 3600
    good = number % 7 != 0
    made = ToolCall("c1", "search" if number % 2 else "read", {"q": number})
    usage = Usage(1000 + number, 100, 600, requests=1, cost=0.002)
    events: list[ev.Event] = [
        ev.RunStarted(
            question or f"Question {number}",
            "guide" if number % 3 else "scout",
            "gpt" if number % 2 else "claude",
            conversation=run,
        ),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(made,)), usage=usage, elapsed=0.4),
        ev.ToolStarted(made, 1),
        ev.ToolDone("c1", made.name, 1, "found", elapsed=0.3),
        ev.RunFinished("answer" if good else "error", "yes", success=good),
    ]
    return [ev.Record(run, seq, at + seq * 0.5, event) for seq, event in enumerate(events)]


@pytest.fixture(scope="module")
def client(built_page: None) -> Iterator[Client]:
    journal = MemoryJournal()

    async def fill() -> None:
        for number in range(120):
            await journal.append(past(number))

    with ThreadPoolExecutor(1) as other:  # playwright has a loop running in this one
        other.submit(asyncio.run, fill()).result()
    model = ScriptedModel(lambda r: "It is 5." if has_results(r) else call("add", a=2, b=3))
    with serving({"guide": Agent(model, tools=[add])}, journal) as client:
        yield client


@pytest.fixture
def stage(browser: Any, client: Client) -> Iterator[Stage]:
    context = browser.new_context(viewport=SIZE)
    stage = Stage(context.new_page(), client, Gates())
    yield stage
    assert not stage.faults, stage.faults
    context.close()


def open_runs(stage: Stage) -> Any:
    stage.page.goto(stage.client.address)
    stage.page.get_by_role("link", name="Runs", exact=True).click()
    stage.see(".totals:not(.not-yet)")
    return stage.page


def test_sums_charts_and_the_list_in_pages(stage: Stage, shoot: Shoot):
    page = open_runs(stage)
    assert "120 runs" in page.locator(".desk-head").inner_text()
    totals = dict(
        zip(page.locator(".totals dt").all_inner_texts(), page.locator(".totals dd").all_inner_texts(), strict=True)
    )
    assert (totals["Runs"], totals["Cost"], totals["Tool calls"]) == ("120", "$0.24", "120")
    assert totals["Succeeded"] == "85 %"
    assert page.locator(".chart rect.all").count() > 3
    sizes = page.evaluate("[...document.querySelectorAll('.totals > div')].map((one) => one.offsetTop)")
    assert sorted(sizes.count(row) for row in set(sizes)) == [6, 6], "no ragged row"
    tables = " ".join(page.locator(".sums").all_inner_texts())
    for name in ("guide", "scout", "gpt", "claude", "search", "read", "answer", "error"):
        assert name in tables
    stage.count(".run", 50)
    page.get_by_role("button", name="Older runs").click()
    stage.count(".run", 100)
    page.get_by_role("button", name="Older runs").click()
    stage.count(".run", 120)
    questions = page.locator(".run-question").all_text_contents()
    assert len(set(questions)) == 120, "each run is listed once"
    assert questions[0] == "Question 119"


def test_a_filter_changes_the_sums_and_the_list(stage: Stage):
    page = open_runs(stage)
    page.get_by_label("Text").fill("question 11")
    stage.count(".run", 11)  # 11 and 110 to 119
    page.get_by_label("Agent").select_option("scout")
    stage.count(".run", 3)
    stage.see(".desk-head", has_text="3 runs")
    page.get_by_label("Text").fill("no such thing")
    stage.see("text=No run fits.")
    page.get_by_label("Text").fill("")
    page.get_by_label("Agent").select_option("")
    stage.see(".run >> text=Question 119")
    page.locator(".sums").get_by_role("button", name="error").click()
    stage.count(".run", 18)


def test_notes_are_kept_and_found(stage: Stage):
    page = stage.page
    page.goto(f"{stage.client.address}/#/c/past-000007")
    stage.finish()
    page.get_by_label("Inspect this run").click()
    page.locator(".notes summary").click()
    page.get_by_label("Bad run").click()
    stage.see(".thumb[aria-pressed=true]")
    page.get_by_label("Add a tag").fill("odd")
    page.keyboard.press("Enter")
    stage.see(".notes-row .badge >> text=odd")
    page.get_by_label("Note", exact=True).fill("It read the wrong page.")
    page.get_by_label("Add a tag").focus()
    kept = stage.client.get("/api/runs?tag=odd")["runs"]
    page.wait_for_function("() => true")
    stage.page.goto("about:blank")
    open_runs(stage)
    page.get_by_role("combobox", name="Tag").select_option("odd")
    stage.count(".run", 1)
    assert kept[0]["run_id"] == "past-000007"
    assert "thumb down · #odd · “It read the wrong page.”" in (page.locator(".run-facts").text_content() or "")
    page.locator(".run-question").click()
    page.get_by_label("Inspect this run").click()
    page.get_by_label("Remove the tag odd").click()
    stage.count(".notes-row .badge", 0)
    assert stage.client.get("/api/runs?tag=odd")["runs"] == []


def test_two_runs_side_by_side(stage: Stage, shoot: Shoot):
    page = open_runs(stage)
    boxes = page.get_by_role("checkbox")
    for place in range(2):
        boxes.nth(place).focus()
        page.keyboard.press("Space")
    page.get_by_role("link", name="Compare the two").focus()
    page.keyboard.press("Enter")
    stage.see(".facts")
    facts = page.locator(".facts").inner_text()
    assert "Question 119" in facts
    assert "Question 118" in facts
    assert page.locator(".pair").count() == 3, "another tool was called: one reply differs, a call each"
    shoot(page, "compare")
    page.get_by_label("Also what is the same").check()
    stage.see(".facts tr.same")


def test_a_fork_beside_its_origin(stage: Stage):
    client, page = stage.client, stage.page
    run = client.start("add")
    client.wait(run)
    fork = client.post(f"/api/runs/{run}/fork", {"at": 2, "message": "and again"}, 201)["run_id"]
    client.wait(fork)
    page.goto(f"{client.address}/#/c/{fork}")
    stage.finish()
    page.get_by_label("Inspect this run").first.click()
    page.get_by_role("link", name="Compare with its origin").click()
    stage.see(".facts")
    assert "The first 3 records are the same." in page.locator(".desk-head").inner_text()


def test_the_sums_filter_by_keyboard(stage: Stage):
    page = stage.page
    for size in (SIZE, {"width": 390, "height": 844}):
        page.set_viewport_size(size)
        page.goto("about:blank")
        page.goto(f"{stage.client.address}/#/runs")
        stage.see(".totals:not(.not-yet)")
        page.get_by_label("Text").focus()
        if size is not SIZE:  # where the other filters are behind a button
            assert not page.get_by_label("Status").is_visible()
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        for _ in range(8):  # through the filter, to the first thing in the tables
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.sums') !== null")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.filter select')[1].value !== ''")


def test_a_few_runs_are_narrow_bars_and_a_refused_call_has_not_failed(browser: Any, built_page: None):
    @tool(approval="ask")
    async def erase(path: str) -> str:
        """Erase a file."""
        return "gone"

    model = ScriptedModel(lambda r: "Left as it was." if has_results(r) else call("erase", path="x"))
    with serving({"guide": Agent(model, tools=[erase])}) as client:
        run = client.start("Erase x")
        client.wait(run, "paused")
        waiting = client.get(f"/api/runs/{run}")["waiting"][0]
        client.post(f"/api/runs/{run}/approvals", {"call_id": waiting["call_id"], "allow": False})
        client.wait(run)
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        page = open_runs(stage)
        texts = dict(
            zip(page.locator(".totals dt").all_inner_texts(), page.locator(".totals dd").all_inner_texts(), strict=True)
        )
        assert (texts["Tool calls"], texts["Failed calls"]) == ("1", "0")
        chart, bar = page.locator(".chart svg").bounding_box(), page.locator(".chart rect.all").bounding_box()
        assert bar["width"] < chart["width"] / 10
        page.set_viewport_size({"width": 390, "height": 844})  # with the hour below each end of the chart
        assert page.locator(".desk").evaluate("it => it.scrollWidth <= it.clientWidth")
        context.close()
        assert not stage.faults, stage.faults
