"""Journeys on the page, in a real browser."""

from __future__ import annotations

from typing import Any

from .conftest import LET_GO, Desk
from .walking import journey, step


@journey("A first question", on="page")
def test_first_question(desk: Desk):
    with step("she opens the page, types a question and presses Enter"):
        desk.open()
        desk.ask("How high is the tower?")
    with step("she sees the tool with its argument and the answer"):
        assert desk.answered() == "It is 330 m high."
        assert desk.page.locator(".tool-brief").inner_text() == "Eiffel Tower"
    with step("the question is in the list of conversations"):
        desk.see("How high is the tower?", ".conversation .title")


@journey("A conversation in which a later question needs an earlier one", on="page")
def test_conversation(desk: Desk):
    answer = ""
    with step("she says her name, asks two other things, and asks for it"):
        desk.open()
        for turn, words in enumerate(("Good morning.", "I am Ann.", "What is new?", "Go on.", "What is my name?"), 1):
            desk.ask(words)
            answer = desk.answered(turn)
    with step("it is known"):
        assert answer == "You are Ann."


@journey("A model by its address, asked three times", on="page")
def test_model_by_address(desk: Desk):
    with step("she asks three times, and is answered three times"):
        desk.open("by_address")
        for turn in (1, 2, 3):
            desk.ask(f"Hi for the time {turn}")
            assert desk.answered(turn) == "Hello."


@journey("A call is approved, changed, refused", on="page")
def test_approvals(desk: Desk):
    with step("a card asks whether the mail may be sent; she changes the address in a form, and allows it"):
        desk.open()
        desk.ask("Write a mail")
        desk.see("May it use send_mail?")
        desk.page.get_by_role("button", name="Edit", exact=True).click()
        desk.page.get_by_label("to *").fill("bob@example.com")
        desk.page.get_by_role("button", name="Allow as changed").click()
        assert desk.answered() == "Sent."
        assert "bob@example.com" in desk.page.locator(".tool-brief").inner_text()
    with step("she refuses the next one, with a reason; nothing is sent"):
        desk.ask("Write a mail again")
        desk.page.get_by_label("Why it is refused").fill("not today")
        desk.page.get_by_role("button", name="Refuse").click()
        assert desk.answered(2) == "Not sent."


@journey("A long tool with output while it runs; stop, and go on", on="page")
def test_long_tool(desk: Desk):
    LET_GO.clear()
    with step("she sees what the tool says while it runs"):
        desk.open()
        desk.ask("Please build it")
        desk.see("compiling 214 modules", ".live-line")
    with step("she stops it, and the page says so"):
        desk.page.get_by_label("Stop").click()
        desk.see("Stopped", ".turn-foot")
    with step("she goes on, and it ends"):
        LET_GO.set()
        desk.page.get_by_role("button", name="Go on").click()
        desk.see("Built.", ".answer")


@journey("A tool that fails", on="page")
def test_failing_tool(desk: Desk):
    with step("the card says that it failed, and why"):
        desk.open()
        desk.ask("How high is Atlantis?")
        desk.answered()
        card = desk.see("Failed", ".tool.failed summary")
        card.click()
        desk.see("nothing is known about Atlantis Tower", ".tool pre")


@journey("Ask again in other words, and compare the branches", on="page")
def test_branches(desk: Desk):
    with step("she edits the question and asks again"):
        desk.open()
        desk.ask("I am Ann. What is my name?")
        desk.answered()
        desk.page.get_by_label("Edit and ask again").click()
        desk.page.get_by_label("Your question").fill("I am Bob. What is my name?")
        desk.page.get_by_role("button", name="Ask again").click()
        desk.see("Bob", ".answer")
    with step("the first version is a click away"):
        desk.page.get_by_label("The version before").click()
        desk.see("Ann", ".answer")


@journey("A text file goes with a question", on="page")
def test_attachment(desk: Desk):
    with step("she adds a table and asks; it stands below the question as a file"):
        desk.open()
        file = {"name": "cities.csv", "mimeType": "text/csv", "buffer": b"city,people\nBern,134591\n"}
        desk.page.locator("input[type=file]").set_input_files(file)
        desk.see("cities.csv", ".attachments li")
        desk.ask("How long is this file?")
        assert desk.answered() == "Two lines."
        assert desk.page.locator(".question-file").inner_text().strip() == "cities.csv"
    with step("the title is her question"):
        assert desk.page.locator(".head h1").inner_text() == "How long is this file?"


@journey("Why an answer is wrong", on="page")
def test_why(desk: Desk):
    with step("she opens the inspector at Why, and is asked what it should have said, with what a search may cost"):
        desk.open()
        desk.ask("How high is the tower, please?")
        desk.answered()
        desk.page.get_by_label("Inspect this run").click()
        desk.page.get_by_role("tab", name="Why").click()
        desk.see("At most 60 model requests", ".why-cost")
    with step("she says it, the search runs, and the page says what was tried"):
        desk.page.get_by_label("What should it have said?").fill("1,083 feet")
        desk.page.get_by_role("button", name="Find out why").click()
        desk.see("It should have said 1,083 feet.", ".why-wanted")
        desk.see("experiment", ".unfold summary")


@journey("On a phone: every view, and back", on="page")
def test_phone(desk: Desk, axe: Any):
    desk.page.set_viewport_size({"width": 390, "height": 844})
    with step("she asks, and nothing is wider than the phone"):
        desk.open()
        desk.ask("How high is the tower?")
        desk.answered()
    with step("she goes to the runs, to the agents, and back to her conversation"):
        for view in ("Runs", "Agents"):
            desk.page.get_by_role("button", name="Conversations and views").click()
            desk.page.get_by_role("link", name=view, exact=True).click()
            desk.see(view, ".desk-head h1")
            assert not desk.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        desk.page.get_by_role("button", name="Conversations and views").click()
        desk.page.locator(".conversation .open").first.click()
        desk.answered()


@journey("With the keyboard alone, and for a screen reader", on="page")
def test_keyboard(desk: Desk, axe: Any):
    with step("she types a question, opens the tool and the inspector, and leaves it, without a mouse"):
        desk.open()
        desk.page.get_by_label("Message", exact=True).focus()
        desk.page.keyboard.type("How high is the tower?")
        desk.page.keyboard.press("Enter")
        desk.answered()
        desk.page.keyboard.press("Alt+i")
        desk.page.locator(".inspector .record").first.wait_for()
        desk.page.keyboard.press("Escape")
    with step("two answers later, axe finds nothing wrong"):
        desk.ask("Good morning.")
        desk.answered(2)
        assert axe(desk.page) == []


@journey("A plan", on="page")
def test_plan(desk: Desk):
    with step("she sees the steps of the plan, and the answer"):
        desk.open("planner")
        desk.ask("How high is it in feet?")
        desk.see("1,083 feet.", ".answer")
        desk.see("Find the height", ".dag")


@journey("All that a task leaves open is one question", on="page")
def test_open_points(desk: Desk):
    with step("one card asks about both calls, and below it each can be decided by itself"):
        desk.open("secretary")
        desk.ask("Do what the list says")
        desk.see("May it make these 2 calls: write, write?")
        assert desk.page.locator(".approval").count() == 3
    with step("she refuses Bob and allows Ann: one is written to, and nothing else is asked"):
        for name, button, left in (("Bob", "Refuse", 1), ("Ann", "Allow", 0)):
            card = desk.page.locator(".approval", has_text=name)
            card.get_by_role("button", name=button, exact=True).click()
            desk.page.wait_for_function("(n) => document.querySelectorAll('.approval').length === n", arg=left)
        assert desk.answered().startswith("Written to: Ann.")
