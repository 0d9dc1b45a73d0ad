"""Why a run went wrong, on the page: a person marks the answer or a step, searches, and reads the tree."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import add, call
from server.serving import Client, has_results, relaxed, serving
from treadle import Agent, ScriptedModel
from treadle._types.request import Request

from .stage import Gates
from .test_page import SIZE, Stage


def clerk(request: Request) -> Any:
    if not has_results(request):
        return call("add", a=2, b=3)
    return "About ten." if "Always round up." in str(request.messages[0]) else "It is 5."


@pytest.fixture
def stage(browser: Any, built_page: None, tmp_path: Path) -> Iterator[Stage]:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Be polite.\nAlways round up.\n")
    agent = Agent(ScriptedModel(clerk), [add], system=prompt.read_text().strip())
    with serving({"guide": agent}, settings=relaxed(sources=(str(prompt),))) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        yield stage
        assert not stage.faults, stage.faults
        context.close()


def asked(client: Client) -> str:
    run = client.start("What is 2 + 3?", agent="guide")
    client.wait(run)
    return run


def test_the_tree_of_experiments_beside_the_run(stage: Stage, axe: Callable[..., list[str]], tmp_path: Path):
    page = stage.page
    run = asked(stage.client)
    page.goto(f"{stage.client.address}/#/c/{stage.client.get(f'/api/runs/{run}')['conversation'] or run}")
    stage.finish()
    page.get_by_label("Inspect this run").click()
    page.get_by_role("tab", name="Why").click()
    assert page.get_by_role("button", name="Find out why").is_disabled(), "nobody has said what is wrong"
    assert "At most 60 model requests" in page.locator(".why-cost").inner_text()
    where = page.get_by_label("Where?").locator("option").all_inner_texts()
    assert where == ["In the end, whatever the way", "At step 1", "At step 2"]
    page.get_by_label("What should it have said?").fill("5")
    page.get_by_role("button", name="Find out why").click()
    stage.see(".cause", has_text="It goes right with the system prompt without 'Always round up.'")
    assert page.locator(".why-wanted").inner_text().startswith("It should have said 5.")
    assert page.locator(".cause .difference .removed").first.inner_text().strip().endswith("Always round up.")
    page.locator(".cause summary", has_text="Apply it to your file").click()
    patch = page.get_by_role("region", name="The difference to your file").inner_text().split("\n")
    assert [line.strip() for line in patch if line.strip()] == ["Be polite.", "-Always round up."]
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save the patch").click()
    saved.value.save_as(tmp_path / "why.patch")
    subprocess.run(["git", "apply", "why.patch"], cwd=tmp_path, check=True)
    assert (tmp_path / "prompt.txt").read_text() == "Be polite.\n"
    page.locator(".unfold > summary", has_text="experiment").first.click()
    tree = page.get_by_role("list", name="Experiments")
    assert "The same again" in tree.inner_text()
    stage.see(".experiments li.right", has_text="Always round up.")
    assert tree.locator("li.wrong").count() >= 1
    assert axe(page, ".why") == []
    tree.locator("li.right").get_by_role("link", name="The difference").first.click()
    stage.see(".pairs .pair.changed", has_text="It is 5.")
