"""Documents on the page: the answer while a component writes it, and the form that a run waits for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.serving import Gate, PacedModel, serving
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._tools.builtin.knowledge.base import KnowledgeBase

from .stage import Gates
from .test_page import SIZE, Shoot, Stage

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "howto" / "files.md"
ANSWER = "The bridge is 312 m long [ID:1], and it was opened in 1958."
FORM = {
    "UserFillUp:Form": {
        "obj": {
            "component_name": "UserFillUp",
            "params": {
                "tips": "How often, and how?",
                "inputs": {"rounds": {"type": "integer"}, "kind": {"type": "options", "options": ["short", "long"]}},
            },
        },
        "downstream": ["Agent:Do"],
    },
    "Agent:Do": {
        "obj": {
            "component_name": "Agent",
            "params": {"prompts": [{"role": "user", "content": "{{UserFillUp:Form@rounds}} {{UserFillUp:Form@kind}}"}]},
        },
    },
}


def desk() -> Any:
    """The example of six components in the documentation."""
    blocks = re.findall(r"```json\n(.*?)```", DOCUMENTED.read_text("utf-8"), re.DOTALL)
    return next(data for block in blocks if (data := json.loads(block)).get("name") == "desk")


def reply(request: Any) -> str:
    asked = str(request.messages)
    return "Question" if "categories" in asked else "Done 3 times." if "3 long" in asked else ANSWER


@pytest.fixture
def stage(browser: Any, tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "bridges.txt").write_text("The bridge of Aland is 312 m long and was opened in 1958.")
    KnowledgeBase(tmp_path / "manual.db").add(tmp_path / "bridges.txt")
    model, gates = PacedModel(reply, chunk=9), Gates()
    model.gates[4] = gates.answer
    agents: dict[str, Any] = {name: GraphAgent(parse_document(data), tmp_path, model=model) for name, data in
              {"desk": desk(), "form": FORM}.items()}  # fmt: skip
    with serving(agents) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, gates)
        yield stage
        gates.answer.open()
        context.close()
        assert not stage.faults, stage.faults


OVERLAPS = """[...document.querySelectorAll(".dag .box-head")].filter((head) => {
  const [name, state] = [...head.children].map((part) => part.getBoundingClientRect());
  return name.right > state.left || state.right > head.getBoundingClientRect().right + 1;
}).map((head) => head.innerText)"""
"""The steps of a plan's picture whose name runs into what stands beside it."""


def test_the_answer_is_shown_while_a_component_writes_it_and_a_form_is_filled_in(stage: Stage, shoot: Shoot):
    assert len(desk()["components"]) == 6
    gate: Gate = stage.gates.answer
    run = stage.client.start("How long is the bridge of Aland?", agent="desk")
    stage.page.goto(f"{stage.client.address}/#/c/{run}")
    stage.see(".answer", has_text="The bridge is 312 m long")
    assert "1958" not in stage.page.locator(".answer").inner_text()
    assert stage.page.evaluate(OVERLAPS) == []
    shoot(stage.page, "document-running")
    gate.open()
    stage.see(".answer", has_text="1958")
    stage.finish()

    run = stage.client.start("Do it.", agent="form")
    stage.page.goto(f"{stage.client.address}/#/c/{run}")
    form = stage.see(".tool-form")
    assert "How often, and how?" in form.inner_text()
    shoot(stage.page, "document-form")
    form.get_by_label("kind").select_option("long")
    form.get_by_label("rounds").fill("3")
    form.get_by_role("button", name="Send").click()
    stage.see(".answer", has_text="Done 3 times.")
