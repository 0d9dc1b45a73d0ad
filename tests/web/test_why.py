"""Why a run went wrong, on the page: a person marks the answer or a step, searches, and reads the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit import add, call
from server.serving import Client, has_results, serving
from treadle import Agent, ScriptedModel
from treadle._types.request import Request

from .stage import Gates
from .test_page import SIZE, Stage


def clerk(request: Request) -> Any:
    if not has_results(request):
        return call("add", a=2, b=3)
    return "About ten." if "Always round up." in str(request.messages[0]) else "It is 5."


@pytest.fixture
def stage(browser: Any, built_page: None) -> Iterator[Stage]:
    agent = Agent(ScriptedModel(clerk), [add], system="Be polite.\nAlways round up.")
    with serving({"guide": agent}) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        yield stage
        assert not stage.faults, stage.faults
        context.close()


def asked(client: Client) -> str:
    run = client.start("What is 2 + 3?", agent="guide")
    client.wait(run)
    return run


def test_the_tree_of_experiments_beside_the_run(stage: Stage, axe: Callable[..., list[str]]):
    page = stage.page
    run = asked(stage.client)
    page.goto(f"{stage.client.address}/#/c/{stage.client.get(f'/api/runs/{run}')['conversation'] or run}")
    stage.finish()
    page.get_by_label("Inspect this run").click()
    page.get_by_role("tab", name="Why").click()
    page.get_by_role("button", name="Find the cause").click()
    stage.see(".why .failed", has_text="somebody has to say what is wrong")
    assert page.get_by_label("What is wrong", exact=True).locator("option").all_inner_texts() == [
        "The answer is wrong",
        "Step 1 is wrong",
        "Step 2 is wrong",
    ]
    page.get_by_label("Expected", exact=True).fill("5")
    page.get_by_role("button", name="Mark as wrong").click()
    stage.see(".why >> text=Expected: 5")
    page.get_by_role("button", name="Find the cause").click()
    stage.see(".causes li", has_text="the system prompt without 'Always round up.'")
    page.get_by_text("The first request that differs").first.click()
    stage.see(".causes .difference .removed", has_text="Always round up.")
    tree = page.get_by_role("list", name="Experiments")
    assert "The same again" in tree.inner_text()
    stage.see(".experiments li.right", has_text="Always round up.")
    assert tree.locator("li.wrong").count() >= 1
    assert axe(page, ".why") == []
    tree.locator("li.right").get_by_role("link", name="The difference").first.click()
    stage.see(".compare .pair.changed", has_text="It is 5.")
