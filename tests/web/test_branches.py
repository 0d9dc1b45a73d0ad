"""Asking again on the page: other words, another answer, from where it failed. Each is a branch that stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit import add, call, user_texts
from server.serving import PacedModel, has_results, serving
from treadle import Agent
from treadle._types.request import Request

from .stage import Gates
from .test_page import SIZE, Shoot, Stage

FAILURES: list[str] = []


def script(request: Request) -> Any:
    asked = user_texts(request.messages)
    if "break" in asked[-1]:
        if not has_results(request):
            return call("add", a=2, b=3)
        if not FAILURES:
            FAILURES.append("once")
            raise RuntimeError("the line is down")
        return "It is 5."
    return f"Answer {len(asked)} to **{asked[-1]}**"


@pytest.fixture(scope="module")
def server(browser: Any) -> Iterator[Any]:
    agent = Agent(PacedModel(script), tools=[add], retry={"attempts": 1}, answer="direct")
    with serving(agent) as client:
        yield client


@pytest.fixture
def talk(browser: Any, server: Any) -> Iterator[Stage]:
    context = browser.new_context(viewport=SIZE)
    stage = Stage(context.new_page(), server, Gates())
    stage.page.goto(server.address)
    stage.see(".welcome")
    yield stage
    context.close()
    assert not stage.faults, stage.faults


def answers(stage: Stage) -> list[str]:
    return stage.page.locator(".answer").all_inner_texts()


def test_edit_and_ask_again_makes_a_branch_that_can_be_left_and_found_again(talk: Stage, shoot: Shoot):
    page = talk.page
    for turn, words in enumerate(("one", "two", "three"), 1):
        talk.ask(words)
        talk.finish(turn)
    second = page.locator(".turn").nth(1)
    second.hover()
    second.get_by_label("Edit and ask again").click()
    box = page.get_by_label("Your question")
    assert box.input_value() == "two"
    box.fill("zwei")
    page.keyboard.press("Enter")
    talk.finish(2)
    page.wait_for_function("() => document.querySelectorAll('.answer')[1]?.textContent.trim() === 'Answer 2 to zwei'")
    assert "2 of 2" in page.locator(".turn").nth(1).inner_text()
    shoot(page, "branches")
    talk.ask("drei")
    talk.finish(3)
    assert answers(talk)[2] == "Answer 3 to drei"
    page.get_by_label("The version before").click()
    page.wait_for_function("() => document.querySelectorAll('.answer')[2]?.textContent.trim() === 'Answer 3 to three'")
    assert answers(talk)[1] == "Answer 2 to two"
    where = page.url
    page.goto("about:blank")
    page.goto(where)
    talk.finish(3)
    assert answers(talk)[1:] == ["Answer 2 to two", "Answer 3 to three"], "the address names the branch"
    talk.ask("four")
    talk.finish(4)
    assert answers(talk)[3] == "Answer 4 to four"
    page.reload()
    talk.finish(4)
    assert answers(talk)[1] == "Answer 2 to two"
    page.get_by_label("The next version").click()
    page.wait_for_function("() => document.querySelectorAll('.answer')[2]?.textContent.trim() === 'Answer 3 to drei'")


def test_another_answer(talk: Stage):
    talk.ask("one")
    talk.finish()
    talk.page.get_by_label("Answer again").click()
    talk.see(".versions", has_text="2 of 2")
    talk.finish()
    runs = talk.client.get("/api/conversations")["conversations"][0]
    assert runs["runs"] == 2


def test_a_failure_says_what_was_kept_and_trying_again_goes_on_from_there(talk: Stage, shoot: Shoot):
    FAILURES.clear()
    talk.ask("please break")
    card = talk.see(".failure .decision").locator("xpath=..")
    assert "the line is down" in card.inner_text()
    assert "Kept: the 1 result of its tools" in card.inner_text()
    shoot(talk.page, "failure-card")
    card.get_by_role("button", name="Try again").click()
    talk.see(".answer", has_text="It is 5.")
    assert talk.page.locator(".tool").count() == 1
    run = talk.client.get("/api/runs?limit=1")["runs"][0]["run_id"]
    records = talk.client.get(f"/api/runs/{run}/records")["records"]
    assert sum(record["type"] == "tool_started" for record in records) == 1, "the call was made again"


def test_by_keyboard_and_escape_changes_nothing(talk: Stage):
    page = talk.page
    talk.ask("one")
    talk.finish()
    page.get_by_label("Edit and ask again").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement?.matches('.question-edit textarea')")
    page.keyboard.type(" more")
    page.keyboard.press("Escape")
    talk.count(".question-edit", 0)
    assert page.locator(".question").inner_text() == "one"
    assert page.locator(".versions").count() == 0


def test_the_keys_of_the_sheet_for_versions_and_the_last_question(talk: Stage):
    page = talk.page
    talk.ask("one")
    talk.finish()
    page.keyboard.press("Alt+r")
    versions = talk.see(".versions", has_text="2 of 2")
    talk.finish()
    page.keyboard.press("Alt+,")
    talk.see(".versions", has_text="1 of 2")
    page.keyboard.press("Alt+.")
    talk.see(".versions", has_text="2 of 2")
    assert versions.count() == 1
    page.locator("#composer").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_function("() => document.activeElement?.matches('.question-edit textarea')")
