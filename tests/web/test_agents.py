"""The agents of a server, and their tools tried by hand, in a real browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from server.serving import Client, send_mail, serving
from treadle import Agent, KnowledgeBase, McpConnection, McpTools, ScriptedModel, tool
from treadle._tools.builtin.knowledge.retrieval import retrieval

from .stage import Gates
from .test_page import SIZE, Shoot, Stage


@tool
async def order(
    item: str,
    many: int,
    gift: bool = False,
    size: Literal["small", "large"] = "small",
    notes: tuple[str, ...] = (),
    prices: tuple[int, ...] = (),
) -> str:
    """Order something."""
    return f"{many} {size} {item}{' as a gift' if gift else ''}, notes: {notes}"


@pytest.fixture(scope="module")
def client(built_page: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("kb")
    KnowledgeBase(folder / "facts.db").add("The moon is far away.", name="moon")
    broken = McpTools(McpConnection("broken", command=sys.executable, args=["-c", "raise SystemExit(3)"], timeout=5))
    clerk = Agent(
        ScriptedModel([]),
        tools=[order, send_mail, retrieval(folder / "facts.db")],
        plugins=[broken],
        description="Orders things.",
    )
    with serving({"clerk": clerk}) as client:
        yield client


@pytest.fixture
def stage(browser: Any, client: Client) -> Iterator[Stage]:
    context = browser.new_context(viewport=SIZE)
    stage = Stage(context.new_page(), client, Gates())
    stage.page.goto(client.address)
    stage.page.get_by_role("link", name="Agents", exact=True).click()
    stage.see(".agent")
    yield stage
    assert not stage.faults, stage.faults
    context.close()


def test_what_an_agent_has_and_whether_it_works(stage: Stage, shoot: Shoot):
    page = stage.page
    stage.see("text=does not answer")
    text = page.locator(".agent").inner_text()
    for words in ("clerk", "Orders things.", "Knowledge bases: facts", "broken", "asks first"):
        assert words in text
    assert "3 tools" in text.lower()
    narrow = "nodes => nodes.filter((one) => one.getBoundingClientRect().width < 400).map((one) => one.className)"
    assert page.locator(".agent > *").evaluate_all(narrow) == [], "each part has the width of the page"


def test_a_tool_is_called_with_a_form_made_from_its_schema(stage: Stage):
    page = stage.page
    page.locator(".try summary").first.focus()
    page.keyboard.press("Enter")
    form = page.get_by_role("form", name="Try order")
    form.get_by_label("item").fill("cups")
    form.get_by_label("many").fill("3")
    form.get_by_label("gift").check()
    form.get_by_label("size").select_option(label="large")
    form.get_by_label("notes").fill("red\nas before, no others\n")
    form.get_by_label("prices").fill("[1")
    form.get_by_role("button", name="Call it").click()
    form.locator("text=This is not JSON").wait_for()
    form.get_by_label("prices").fill("[1]")
    form.get_by_role("button", name="Call it").click()
    form.locator(".tool-outcome").wait_for()
    assert (
        form.locator(".tool-outcome").inner_text() == "3 large cups as a gift, notes: ('red', 'as before, no others')"
    )
    form.get_by_role("link", name="The record of this call").click()
    stage.finish()
    assert "order" in page.locator(".question").inner_text()


def test_a_tool_that_asks_waits_for_the_person(stage: Stage):
    page = stage.page
    page.locator(".try summary", has_text="send_mail").click()
    form = page.get_by_role("form", name="Try send_mail")
    form.get_by_label("to").fill("ann")
    form.get_by_label("text").fill("hi")
    form.get_by_role("button", name="Call it").click()
    form.get_by_role("button", name="Refuse").click()
    form.locator("text=It failed.").wait_for()
    form.get_by_role("button", name="Call it").click()
    form.get_by_role("button", name="Allow").click()
    form.locator("text=Done.").wait_for()
    assert form.locator(".tool-outcome").inner_text() == "sent to ann"
    runs = stage.client.get("/api/runs?text=send_mail")["runs"]
    assert [run["summary"]["success"] for run in runs] == [True, False], "both are on record"
