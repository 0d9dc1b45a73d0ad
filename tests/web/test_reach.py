"""The page by keyboard, on a phone, in the dark, and for those who listen to it."""

from __future__ import annotations

from typing import Any

from server.serving import serving

from .conftest import CONTRAST
from .stage import Gates, guide
from .test_page import Shoot, Stage, stage

__all__ = ["stage"]


def test_everything_by_keyboard(stage: Stage):
    page = stage.page
    assert page.evaluate("document.activeElement.id") == "composer"
    page.keyboard.type("Which is taller?")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Eiffel or Empire State?")
    page.keyboard.press("Enter")
    stage.finish()
    assert "Which is taller?\nEiffel" in page.locator(".question").inner_text()
    page.locator(".tool summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".tool details").first.get_attribute("open") is not None
    page.keyboard.press("Alt+i")
    stage.see(".inspector .record")
    page.get_by_role("tab", name="Timeline").focus()
    page.keyboard.press("ArrowRight")
    stage.see(".cost table")
    page.keyboard.press("Escape")
    stage.count(".inspector", 0)
    page.keyboard.press("Alt+n")
    stage.see(".welcome")
    page.keyboard.type("Find a hotel.")
    page.keyboard.press("Enter")
    stage.see(".tool.running")
    page.keyboard.press("Control+.")
    stage.finish()
    assert page.locator(".turn-foot").inner_text().startswith("Stopped")


def test_everything_has_a_name_and_what_happens_is_said(stage: Stage):
    stage.ask("Write Ann a mail.")
    stage.see(".approval")
    status = stage.page.locator("[role=status]")
    assert status.inner_text() == "Waiting for your approval of send_mail."
    stage.page.get_by_role("button", name="Allow").click()
    stage.finish()
    assert status.inner_text() == "The answer is ready."
    stage.page.get_by_label("Inspect this run").click()
    stage.see(".record")
    nameless = stage.page.evaluate(
        """() => [...document.querySelectorAll(
                "button, a, input, textarea, iframe, summary, [role=button], [role=img]")]
            .filter((one) => !(one.ariaLabel || one.title || one.innerText?.trim() || one.labels?.length))
            .filter((one) => !one.querySelector("[aria-label]"))
            .map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    landmarks = stage.page.evaluate(
        "() => ['nav', 'main', 'aside'].map((tag) => !!document.querySelector(tag + '[aria-label]'))"
    )
    assert landmarks == [True, True, True]


def test_it_can_be_read_by_day_and_by_night(stage: Stage):
    """What no reviewed picture shows."""
    stage.ask("Where is Atlantis?")
    stage.finish()
    stage.ask("Write Ann a mail.")
    stage.see(".approval")
    stage.page.get_by_label("Inspect this run").first.click()
    stage.see(".record")
    for scheme in ("light", "dark"):
        stage.page.emulate_media(color_scheme=scheme)
        stage.settle()
        assert stage.page.evaluate(CONTRAST) == [], scheme


def test_on_a_phone(browser: Any, shoot: Shoot):
    gates = Gates()
    with serving({"guide": guide(gates)}) as client:
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, device_scale_factor=2, has_touch=True, is_mobile=True
        )
        stage = Stage(context.new_page(), client, gates)
        stage.page.goto(client.address)
        box = stage.page.locator(".composer")
        height = box.bounding_box()["height"]
        stage.ask("Which is taller, the Eiffel Tower or the Empire State Building?")
        stage.finish()
        assert box.bounding_box()["height"] == height, "as high as before, whatever stood in it meanwhile"
        wide = stage.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, "the page is wider than the phone"
        assert not stage.page.locator(".sidebar").is_visible()
        stage.page.get_by_role("button", name="Conversations and views").tap()
        stage.see(".conversation .open").tap()
        stage.page.locator(".sidebar").wait_for(state="hidden")
        for view in ("Runs", "Agents"):  # there and back from every view
            stage.page.get_by_role("button", name="Conversations and views").tap()
            stage.page.get_by_role("link", name=view, exact=True).tap()
            stage.page.locator(".sidebar").wait_for(state="hidden")
            stage.see(".desk-head h1", has_text=view)
        stage.page.get_by_role("button", name="Conversations and views").tap()
        stage.see(".conversation .open").tap()
        stage.finish()
        stage.page.get_by_label("Inspect this run").tap()
        stage.see(".record")
        small = stage.page.evaluate(
            """() => [...document.querySelectorAll(".inspector button, .composer button")]
                .map((one) => one.getBoundingClientRect())
                .filter((box) => box.width && (box.width < 24 || box.height < 24)).length"""
        )
        assert small == 0, "buttons too small for a finger"
        stage.page.get_by_label("Close the inspector").tap()
        stage.count(".inspector", 0)
        context.close()
