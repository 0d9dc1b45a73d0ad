"""The files of a run on the page: what each step has changed, and the ways back to one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.serving import serving
from treadle import Agent, ScriptedModel
from treadle.messages import ToolMessage

from .stage import Gates
from .test_page import SIZE, Shoot, Stage

AREA = '"""Areas of plane figures."""\n\n\ndef rectangle(width: float, height: float) -> float:\n    return {}\n'
STEPS: list[Any] = [
    {"name": "read", "args": {"path": "src/area.py"}},
    {
        "name": "edit",
        "args": {"path": "src/area.py", "edits": [{"old": "width + height", "new": "width * height"}]},
    },
    {"name": "write", "args": {"path": "docs/notes.md", "content": "# Notes\n\nThe width was added.\n"}},
    "`rectangle` added the width to the height; it multiplies now. The tests were not run: there are none.",
]


def coder(request: Any) -> Any:
    return STEPS[min(3, sum(isinstance(message, ToolMessage) for message in request.messages))]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "area.py").write_text(AREA.format("width + height"))
    (folder / "README.md").write_text("# Areas\n")
    return folder


@pytest.fixture
def stage(browser: Any, built_page: None, project: Path) -> Iterator[Stage]:
    agent = Agent(ScriptedModel(coder), preset="coding", workspace=str(project))
    with serving({"coder": agent}) as client:
        context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
        stage = Stage(context.new_page(), client, Gates())
        yield stage
        assert not stage.faults, stage.faults
        context.close()


def test_the_files_of_a_coding_session(stage: Stage, project: Path, shoot: Shoot):
    page = stage.page
    page.goto(stage.client.address)
    stage.ask("Why is the area of 3 x 5 not 15? Mend it.")
    stage.finish()
    assert page.locator(".note-text", has_text="M src/area.py").is_visible(), "what changed is said in the talk"
    page.get_by_label("Inspect this run").click()
    page.get_by_role("tab", name="Files").click()
    whole = stage.see(".files > .unfold", has_text="The whole run")
    names = page.locator(".files > .unfold > summary strong").all_inner_texts()
    assert names == ["The whole run", "Step 2", "Step 3", "As it was at the beginning"]
    whole.locator(".files-name").first.wait_for()
    assert whole.locator(".files-name").all_inner_texts() == ["notes.md", "area.py"]
    whole.locator("summary", has_text="area.py").click()
    stage.see(".difference .added", has_text="return width * height")

    # Into the person's folder, after it was shown and only as it was shown.
    whole.get_by_role("button", name="Apply to my folder").click()
    yes = whole.get_by_role("button", name="Change 2 files")
    yes.wait_for()
    assert "+ height" in (project / "src" / "area.py").read_text(), "it was only shown"
    (project / "mine.txt").write_text("kept")
    yes.click()
    stage.see(".files-bring [role=alert]", has_text="has changed since this was shown")
    assert ["409" in stage.faults.pop()] == [True], "which the browser says, too"
    yes.click()
    stage.see(".notice", has_text="2 files changed in")
    assert (project / "src" / "area.py").read_text() == AREA.format("width * height")
    assert (project / "mine.txt").read_text() == "kept"

    # Back to how it was, and on from a step in a run of its own.
    start = page.locator(".files > .unfold", has_text="As it was at the beginning")
    start.locator("> summary").click()
    start.get_by_role("button", name="All files").click()
    start.get_by_role("button", name="src/area.py").click()
    stage.see(".files-all pre", has_text="return width + height")
    start.get_by_role("button", name="Restore my folder to this").click()
    start.get_by_role("button", name="Change 3 files").click()
    stage.see(".notice", has_text="3 files changed in")
    assert sorted(path.name for path in project.rglob("*")) == ["README.md", "area.py", "src"]
    second = page.locator(".files > .unfold", has_text="Step 2")
    second.locator("> summary").click()
    second.get_by_role("button", name="Fork from here").click()
    second.get_by_role("button", name="Fork from here").nth(1).click()
    stage.count(".conversation", 2)
    stage.finish()


def test_nothing_is_wider_than_a_phone(stage: Stage):
    page = stage.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(stage.client.address)
    stage.ask("Mend it.")
    stage.finish()
    page.get_by_label("Inspect this run").click()
    page.get_by_role("tab", name="Files").click()
    stage.see(".files-tree summary").click()
    page.get_by_role("button", name="Restore my folder to this").first.click()
    stage.see(".files-bring")
    wider = "[...document.querySelectorAll('.inspector *')].filter((e) => e.getBoundingClientRect().right > 391)"
    assert page.evaluate(f"{wider}.map((e) => e.outerHTML.slice(0, 90))") == []
