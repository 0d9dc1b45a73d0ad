"""Where each sentence of an answer comes from, as footnotes: by mouse, by keyboard, by finger, by day and by night."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import call
from server.serving import Client, has_results, serving
from treadle import Agent, ScriptedModel, tool, verify_proof

from .conftest import CONTRAST
from .stage import Gates, question_of
from .test_page import SIZE, Stage

NOTES = "In May it rained on 12 days. In June it rained on 3 days. The roses were [planted](http://x.y/z) in 2019."
ANSWER = """In **May** it rained on 12 days. May and June *together* had 15 days of rain.

- The [roses](https://example.com/roses) were planted in 2019.
- The roses of Oslo suffered badly.

| month | days of rain |
|---|---:|
| June | 3 |

```python
rain = 12 + 3
```
"""
HOSTILE = (
    'It rained on 12 days.<button class="ground supported" data-claim="0">1</button> '
    '<span class="claim supported" data-claim="1">In May it rained on 99 days.</span> '
    "In June it rained on 3 days. " + "[" * 500 + "**" * 500
)


@tool(effect="pure")
async def weather(year: int) -> str:
    """How often it rained."""
    return NOTES


@tool(effect="unsafe", identifies="order")
async def refund(order: int) -> str:
    """Refund an order."""
    return "refunded" if order == 1 else "Error: card expired"


@pytest.fixture(scope="module")
def client(built_page: None) -> Iterator[Client]:
    def script(request: Any) -> Any:
        if "refund" in question_of(request):
            return (
                "Order 1 was refunded. All done!"
                if has_results(request)
                else [call("refund", order=1), call("refund", order=4711)]
            )
        if not has_results(request):
            return call("weather", year=2026)
        return HOSTILE if "hostile" in question_of(request) else ANSWER

    with serving({"gardener": Agent(ScriptedModel(script), tools=[weather, refund])}) as client:
        yield client


def stage_of(browser: Any, client: Client, **options: Any) -> Stage:
    context = browser.new_context(**{"viewport": SIZE, **options})
    stage = Stage(context.new_page(), client, Gates())
    stage.page.goto(client.address)
    return stage


@pytest.fixture
def stage(browser: Any, client: Client) -> Iterator[Stage]:
    stage = stage_of(browser, client)
    yield stage
    assert not stage.faults, stage.faults
    stage.page.context.close()


def ask(stage: Stage, question: str = "How often did it rain in May and June?") -> Any:
    stage.ask(question)
    stage.finish()
    stage.page.get_by_role("button", name="Grounds of the answer").click()
    stage.see(".grounds [role=status]")
    return stage.page


def test_sentences_have_footnotes_that_open_on_hover_and_lead_to_the_record(stage: Stage, tmp_path: Path):
    page = ask(stage)
    assert "Sentences: 2 supported, 4 only words match, 1 unsupported" in page.locator(".grounds").inner_text()
    marks = page.locator(".answer button.ground").all_inner_texts()
    assert marks == ["1", "2~", "3", "4?", "5~", "6~"]
    assert page.locator(".claim.unsupported").all_inner_texts() == ["The roses of Oslo suffered badly."]
    assert page.locator("a .claim").inner_text() == "roses", "a sentence goes through the link in it"
    assert page.locator("a button").count() == 0
    assert page.locator("table .claim.words").count() == 4, "a row is one sentence"
    assert "1 sentence that could not be found in the text" in page.locator(".grounds").inner_text(), "that of the code"
    code = page.locator(".answer pre code").text_content()
    assert code.strip() == "rain = 12 + 3", "code is copied as it was written"
    page.locator(".claim.unsupported").hover()
    card = stage.see(".ground-card")
    assert "Oslo is in no record" in card.inner_text()
    page.mouse.move(5, 5)
    page.locator(".ground-card").wait_for(state="detached")
    page.locator(".claim", has_text="had 15 days").hover()
    card = stage.see(".ground-card")
    assert "15 = 12 + 3" in card.inner_text()
    card.get_by_role("button", name="Record").first.click()
    opened = stage.see(".record:has([aria-expanded=true])")
    assert "In May it rained on 12 days" in opened.inner_text()
    with page.expect_download() as waited:
        page.get_by_role("link", name="Download the proof").click()
    waited.value.save_as(tmp_path / "proof.jsonl")
    verdict = verify_proof((tmp_path / "proof.jsonl").read_bytes())
    assert (verdict.intact, len(verdict.unsupported)) == (True, 1)
    page.get_by_role("button", name="Grounds of the answer").click()
    stage.count("button.ground", 0)
    assert page.locator(".claim").count() == 0
    assert page.locator(".answer pre code").text_content().strip() == "rain = 12 + 3"


def test_below_the_answer_stands_what_was_done_with_its_record(stage: Stage):
    stage.ask("Please refund orders 1 and 4711.")
    stage.finish()
    lines = stage.page.locator(".ledger li").all_inner_texts()
    assert [line.split(" · ")[:2] for line in lines] == [["Done refund", "order 1"], ["Not done refund", "order 4711"]]
    assert "card expired" in stage.page.locator(".answer").inner_text()
    stage.page.get_by_role("button", name="Grounds of the answer").click()
    stage.page.locator("button.ground").first.click()
    card = stage.see(".ground-card").inner_text()
    assert re.search(r"Receipted[\s\S]*refund done .*\d\d:\d\d.*: refunded", card), "what, when, with which result"
    assert "in no record" not in card
    stage.page.keyboard.press("Escape")
    stage.page.locator(".ledger button").first.click()
    opened = stage.see(".record:has([aria-expanded=true])")
    assert "refunded" in opened.inner_text()


def test_by_keyboard(stage: Stage):
    page = ask(stage)
    page.locator(".answer button.copy, .answer a").first.focus()
    page.locator(".grounds a").focus()
    page.locator("button.ground").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    stage.see('button.ground[data-claim="0"][aria-expanded="true"]')  # not the card of the one that Tab has passed
    card = stage.see(".ground-card")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.closest('.ground-card')")
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    assert page.evaluate("document.activeElement.dataset.claim") == "0", "the focus is where it was"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.closest('.ground-card')")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    stage.see(".record:has([aria-expanded=true])")
    page.wait_for_function("() => document.activeElement.closest('.record[data-seq]')")


def test_a_pointer_that_lies_elsewhere_does_not_close_what_the_keyboard_is_at(stage: Stage):
    page = ask(stage)
    page.locator(".grounds a").focus()
    page.locator("button.ground").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    stage.see('button.ground[data-claim="0"][aria-expanded="true"]')
    page.locator(".grounds [role=status]").hover()
    page.wait_for_timeout(600)
    assert page.locator(".ground-card").count() == 1
    page.keyboard.press("Escape")
    page.locator(".ground-card").wait_for(state="detached")


def test_it_can_be_read(stage: Stage, axe: Any):
    page = ask(stage)
    page.locator("button.ground.unsupported").click()
    stage.see(".ground-card")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        stage.settle()
        assert page.evaluate(CONTRAST) == []
        assert axe(page, ".answer, .ground-card") == []


def test_with_a_finger(browser: Any, client: Client):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    stage = stage_of(browser, client, **phone)
    page = ask(stage)
    page.locator("button.ground.unsupported").tap()
    card = stage.see(".ground-card")
    box = card.bounding_box()
    assert box["x"] >= 0, "nothing of it is cut off"
    assert box["x"] + box["width"] <= 390, "nothing of it is cut off"
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    small = page.locator("button.ground").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).filter((b) => b.width < 24 || b.height < 24).length"
    )
    assert small == 0, "too small for a finger"
    card.get_by_label("Close the grounds").tap()
    card.wait_for(state="detached")
    page.context.close()


def test_an_answer_cannot_dress_up_as_its_own_grounds(stage: Stage):
    page = ask(stage, "Something hostile?")
    assert page.locator(".claim", has_text="99").evaluate_all("(all) => all.map((one) => one.className)") == [
        "claim unsupported"
    ]
    assert page.locator("button.ground").count() == page.locator("button.ground[aria-expanded]").count()
