"""What is remembered about whom, on the page: seen, changed and forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import add, call
from server.serving import Client, has_results, serving
from treadle import Agent, ScriptedModel
from treadle._plugins.memory.store import Memo
from treadle.plugins import Memory, MemoryStore

from .conftest import CONTRAST
from .stage import Gates
from .test_page import SIZE, Stage

TOKEN = "token-of-ann-0123456789"
HOSTILE = "<img src=x onerror=alert(1)> <b>Ann</b> likes tea."


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory.db")


@pytest.fixture
def client(built_page: None, store: MemoryStore) -> Iterator[Client]:
    def script(request: Any) -> Any:
        if request.component == "memory_summary":
            return "Two and three make five."
        return "It is 5." if has_results(request) else call("add", a=2, b=3)

    agent = Agent(ScriptedModel(script), tools=[add], plugins=[Memory(store, rank="text")])
    with serving({"helper": agent}, tokens={TOKEN: "ann"}) as client:
        yield client


def stage_of(browser: Any, client: Client, **options: Any) -> Stage:
    context = browser.new_context(**{"viewport": SIZE, **options})
    stage = Stage(context.new_page(), client, Gates())
    stage.page.goto(client.address)
    stage.page.locator("input").fill(TOKEN)
    stage.page.keyboard.press("Enter")
    stage.see(".welcome")
    return stage


def test_seen_with_its_run_changed_and_forgotten(browser: Any, client: Client, store: MemoryStore):
    store.add(
        {f"gone{n}/c": Memo(0, "ann", "helper", "Tea?", "Yes.", HOSTILE if n == 59 else f"Tea {n}.") for n in range(60)}
    )
    store.add({"other/c": Memo(0, "bob", "helper", "Who?", "Bob.", "Bob is Bob.")})
    stage = stage_of(browser, client)
    page = stage.page
    stage.ask("What is 2 + 3?")
    stage.finish()
    page.get_by_role("link", name="Memory", exact=True).click()
    stage.count(".memory", 50)
    assert "61 memories about ann" in page.locator(".desk").inner_text()
    first = page.locator(".memory").first
    assert "Two and three make five." in first.inner_text()
    assert "its run is deleted" in page.locator(".memory").nth(1).inner_text()
    assert page.locator(".memory img, .memory b").count() == 0, "what a model wrote is text"
    page.get_by_role("button", name="Older memories").click()
    stage.count(".memory", 61)
    assert "Bob" not in page.locator(".desk").inner_text()
    first.get_by_role("button", name="Edit memory").click()
    first.get_by_label("What is remembered").fill("Two and three are five.")
    first.get_by_role("button", name="Save").click()
    stage.see("text=Changed.")
    assert [memo.summary for memo in store.search("ann", "two three")] == ["Two and three are five."]
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.locator(".memory").nth(1).get_by_role("button", name="Forget memory").click()
    assert store.users()["ann"] == 61, "it was not confirmed"
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(".memory").nth(1).get_by_role("button", name="Forget memory").click()
    stage.see("text=60 memories about ann")
    assert store.users()["ann"] == 60
    page.locator(".memory").first.get_by_role("link", name="The run it comes from").click()
    stage.finish()
    page.go_back()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget everything about ann").click()
    stage.see("text=Nothing is remembered about ann.")
    assert store.users() == {"bob": 1}
    assert not stage.faults, stage.faults
    page.context.close()


def test_it_can_be_read_on_a_phone(browser: Any, client: Client, store: MemoryStore, axe: Any):
    store.add({"gone/c": Memo(0, "ann", "helper", "Tea?" * 80, "Yes.", "x" * 900)})
    stage = stage_of(browser, client, viewport={"width": 390, "height": 844})
    stage.page.goto(f"{client.address}/#/memory")
    stage.see(".memory").get_by_role("button", name="Edit memory").click()
    for scheme in ("light", "dark"):
        stage.page.emulate_media(color_scheme=scheme)
        stage.settle()
        assert stage.page.evaluate(CONTRAST) == []
        assert axe(stage.page) == []
    assert not stage.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    stage.page.context.close()


def test_a_server_that_remembers_nothing_has_no_such_view(browser: Any, built_page: None):
    with serving(Agent(ScriptedModel([]), tools=[add])) as client:
        page = browser.new_context(viewport=SIZE).new_page()
        page.goto(client.address)
        page.get_by_role("link", name="Agents", exact=True).wait_for()
        assert page.get_by_role("link", name="Memory", exact=True).count() == 0
        page.goto(f"{client.address}/#/memory")
        page.locator("text=none has the plug-in Memory").wait_for()
        page.context.close()
