"""Journeys on the page, in a real browser."""

from __future__ import annotations

import base64
import signal
import sys
from pathlib import Path
from typing import Any

from cli.terminal import TOOLS, call, open_gate, script, start, treadle
from waiting import eventually
from web.conftest import CONTRAST

from .conftest import DOT, GO_ON, LET_GO, MOODS, RECORDED, Desk, Http, free_port
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
        desk.open("unmet")
        for turn in (1, 2, 3):
            desk.ask(f"Hi for the time {turn}")
            assert desk.answered(turn) == "Hello."
    with step("above stands the name that the server gives the model"):
        desk.see("fake-1", ".model-name")


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
        desk.open("rounder")
        desk.ask("What is 2 + 3?")
        assert desk.answered() == "About ten."
        desk.page.get_by_label("Inspect this run").click()
        desk.page.get_by_role("tab", name="Why").click()
        desk.see("At most 60 model requests", ".why-cost")
    with step("she says it, and the search runs; the line of the prompt that caused it is marked"):
        desk.page.get_by_label("What should it have said?").fill("Hello")
        desk.page.get_by_role("button", name="Find out why").click()
        desk.see("It should have said Hello.", ".why-wanted")
        desk.see("It goes right with the system prompt without 'Always round up.'", ".cause")
        desk.see("Always round up.", ".cause .removed")
    with step("she looks at both runs"):
        desk.page.get_by_role("link", name="Both runs").click()
        desk.see("About ten.", ".desk")


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
    with step("a screen reader is told in order: who asked what, which tool was called, the answer"):
        tree = desk.page.locator("main").aria_snapshot()
        told = [
            tree.index(words) for words in ('article "Question: How high is the tower?"', "height", "330 m", "Message")
        ]
        assert told == sorted(told), tree
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


@journey("A picture goes with a question", on="page")
def test_picture(desk: Desk):
    with step("she adds a picture and asks; it stands in the question, and the model has seen it"):
        desk.open()
        file = {"name": "dot.png", "mimeType": "image/png", "buffer": base64.b64decode(DOT)}
        desk.page.locator("input[type=file]").set_input_files(file)
        desk.see("dot.png", ".attachments li")
        desk.ask("What is in this picture?")
        assert desk.answered() == "A dot."
        desk.page.locator(".question img").wait_for()
    with step("an agent whose model does not read pictures says so, and what she wrote stays in the box"):
        desk.open("blind")
        desk.page.locator("input[type=file]").set_input_files(file)
        desk.see("dot.png", ".attachments li")
        desk.ask("What is in this picture?")
        desk.see("send in words what it shows", "body")
        assert desk.page.get_by_label("Message", exact=True).input_value() == "What is in this picture?"


@journey("Another answer to the same question, beside the first", on="page")
def test_again(desk: Desk):
    with step("she has it answered again, and sees that there are two"):
        desk.open()
        desk.ask("Good day to you.")
        desk.answered()
        desk.page.get_by_label("Answer again").click()
        desk.page.locator(".versions", has_text="2").first.wait_for()
        desk.answered()
    with step("she compares the two in Runs"):
        desk.page.get_by_role("link", name="Runs", exact=True).click()
        desk.page.get_by_label("Text").fill("Good day to you.")
        desk.page.wait_for_function("() => document.querySelectorAll('.run').length === 2")
        for place in range(2):
            desk.page.locator(".run").get_by_role("checkbox").nth(place).check()
        desk.page.get_by_role("link", name="Compare the two").click()
        desk.page.get_by_label("Also what is the same").check()
        desk.see("Good day to you.", ".facts")


def accept(dialog: Any) -> None:
    dialog.accept()


@journey("Memory, seen and erased", on="page")
def test_memory(desk: Desk):
    with step("an agent that remembers finds something out"):
        desk.open("friend")
        desk.ask("How high is the tower that I like?")
        assert desk.answered() == "330 m."
    with step("Memory shows what it has kept"):
        desk.page.get_by_role("link", name="Memory", exact=True).click()
        desk.see("Ann likes tall buildings.", ".memory")
    with step("in the next conversation it is known"):
        desk.open("friend")
        desk.ask("What do I like?")
        assert desk.answered() == "You like tall buildings."
    with step("she has everything forgotten, and nothing is there"):
        desk.page.on("dialog", accept)
        desk.page.get_by_role("link", name="Memory", exact=True).click()
        desk.page.get_by_role("button", name="Forget everything").click()
        desk.see("Nothing is remembered", ".desk")


@journey("Two people at once", on="page")
def test_two_at_once(desk: Desk, browser: Any):
    with step("both ask before either is answered; each sees the own answer, in the own window"):
        context = browser.new_context()
        other = Desk(context.new_page(), desk.address)
        LET_GO.clear()
        desk.open()
        other.open()
        desk.ask("Please build it")
        desk.see("compiling 214 modules", ".live-line")
        other.ask("How high is the tower?")
        assert other.answered() == "It is 330 m high."
        LET_GO.set()
        assert desk.answered() == "Built."
        assert other.page.locator(".turn").count() == 1
        context.close()


@journey("Search and find again", on="page")
def test_search(desk: Desk):
    with step("a word of an answer brings her back to the conversation"):
        desk.open()
        desk.ask("What is my name? I am Wilhelmina.")
        desk.answered()
        desk.page.get_by_role("button", name="New conversation").click()
        desk.page.get_by_label("Search conversations").fill("You are Wilhelmina")
        desk.see("Wilhelmina", ".hit").click()
        assert desk.answered() == "You are Wilhelmina."


@journey("Export and import", on="page")
def test_export(desk: Desk, tmp_path: Path):
    with step("she saves a conversation as one file, and opens it with nothing else running"):
        desk.open()
        desk.ask("How high is the tower?")
        desk.answered()
        desk.page.get_by_label("Settings and export").click()
        with desk.page.expect_download() as saved:
            desk.page.get_by_role("button", name="Export as a page that replays it").click()
        saved.value.save_as(tmp_path / "talk.html")
        desk.page.goto((tmp_path / "talk.html").as_uri())
        desk.see("It is 330 m high.", ".answer")


@journey("In the dark", on="page")
def test_dark(desk: Desk):
    with step("what she asked, the tool and the answer can be read: the contrast is 4.5 and more"):
        desk.page.emulate_media(color_scheme="dark")
        desk.open()
        desk.ask("How high is the tower?")
        desk.answered()
        desk.page.locator(".tool summary").click()
        assert desk.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 23, 25)"
        assert desk.page.evaluate(CONTRAST) == []


@journey("The program is killed and comes back", on="page")
def test_killed_server(desk: Desk, tmp_path: Path):
    (tmp_path / "mine.py").write_text(TOOLS)
    model = script(tmp_path, call("gate", name="north"), "It is open.")
    port = free_port()
    serve = ("serve", "--port", str(port), "-t", "mine.py:gate", "-m", model)
    desk.address = f"http://127.0.0.1:{port}"
    with start(tmp_path, *serve) as server:
        eventually(Http(desk.address).answers, "the server answers")
        with step("she asks, a tool works, and the server is killed with kill -9"):
            desk.page.goto(desk.address)
            desk.ask("Open it")
            desk.see("waiting at north", ".live-line")
            server.send_signal(signal.SIGKILL)
            server.wait()
    open_gate(tmp_path, "north")
    with start(tmp_path, *serve), step("it is started again: the page goes on by itself, and has the answer"):
        assert desk.answered() == "It is open."
        assert desk.page.locator(".question").count() == 1


@journey("The provider fails, is cut off, is slow, and is back", on="page")
def test_moody_provider(desk: Desk):
    with step("it is busy once and cut off once: she sees both, and the answer"):
        MOODS[:] = ["busy", "cut"]
        desk.open("by_address")
        desk.ask("Hi")
        assert desk.answered() == "Hello."
        desk.see("too busy", ".turn")
    with step("it is busy too long: she sees why, once"):
        MOODS[:] = ["busy"] * 3
        desk.ask("And now?")
        desk.see("This did not work", ".failure")
        assert desk.page.locator(".turn").nth(1).inner_text().count("too busy") == 1
    with step("it is back: she tries again, and has the answer"):
        desk.page.get_by_role("button", name="Try again").click()
        desk.page.locator(".failure").wait_for(state="detached")
        assert desk.answered(2) == "Hello."
    with step("it is slow: she stops it, goes on, and has the answer"):
        GO_ON.clear()
        MOODS[:] = ["slow"]
        desk.ask("A slow one?")
        eventually(lambda: not MOODS, "the provider is asked")
        desk.page.get_by_label("Stop").click()
        desk.see("Stopped", ".turn-foot")
        GO_ON.set()
        desk.page.get_by_role("button", name="Go on").click()
        desk.page.locator(".turn-foot", has_text="Stopped").wait_for(state="detached")
        assert desk.answered(3) == "Hello."


@journey("The provider is not there", on="page")
def test_dead_provider(desk: Desk):
    with step("one card says where nothing was found, and what to do"):
        desk.open("nobody")
        desk.ask("Hi")
        desk.see("is the server running", ".failure")
        assert desk.page.locator(".turn").inner_text().count("no model was found") == 1
    with step("the question is kept: she can try again, or look at what happened"):
        desk.page.get_by_role("button", name="Try again").wait_for()
        desk.page.get_by_role("button", name="See what happened").click()
        desk.see("no model was found", ".inspector")


@journey("A document", on="page")
def test_document(desk: Desk):
    with step("she asks it twice: its components stand in a plan, and the last has the answer"):
        desk.open("desk")
        for turn in (1, 2):
            desk.ask(f"Hi for the time {turn}")
            assert desk.answered(turn) == f"It says: Answer {turn}."
            desk.page.locator(".dag").nth(turn - 1).get_by_text("Agent:Say").wait_for()


@journey("A coding session", on="page")
def test_coding(desk: Desk, coding_folder: Path):
    with step("a file is edited in a copy, and the answer says which; hers is as it was"):
        desk.open("coder")
        desk.ask("Mend the area")
        assert "[changed: area.py (+1 -1)]" in desk.answered()
        assert "w + h" in (coding_folder / "area.py").read_text()
    with step("she asks for more, which goes on from there"):
        desk.ask("Turn it round")
        assert "[changed: area.py (+1 -1)]" in desk.answered(2)
    with step("the inspector shows the difference; she applies it, and her folder has both"):
        desk.page.get_by_label("Inspect this run").last.click()
        desk.page.get_by_role("tab", name="Files").click()
        desk.see("return h * w", ".inspector")
        desk.page.get_by_role("button", name="Apply to my folder").click()
        desk.page.get_by_role("button", name="Change 1 file").click()
        desk.page.get_by_role("button", name="Change 1 file").wait_for(state="detached")
        assert "h * w" in (coding_folder / "area.py").read_text()


@journey("A model by its name, from the environment, and another one in the middle", on="page")
def test_model_by_name(desk: Desk):
    def switch(number: int) -> None:
        desk.page.get_by_label("Settings and export").click()
        desk.page.get_by_role("combobox", name="Model").select_option(index=number)
        desk.page.keyboard.press("Escape")

    with step("the first question is answered by the agent's own model"):
        desk.open()
        desk.ask("I am Ann.")
        assert desk.answered() == "Answer 1."
    with step("she chooses the other one for the next question; both answers stand there"):
        switch(1)
        desk.ask("Who are you?")
        assert [desk.answered(2), desk.answered(1)] == ["Hello.", "Answer 1."]
    with step("back at the first, it knows what was said before; the same after the page is loaded again"):
        switch(0)
        desk.ask("What is my name?")
        assert desk.answered(3) == "You are Ann."
        desk.page.reload()
        assert [desk.answered(turn) for turn in (3, 2, 1)] == ["You are Ann.", "Hello.", "Answer 1."]
    with step("below each answer stands the model that it came from"):
        said = [text.partition(" ")[0] for text in desk.page.locator(".turn-foot").all_inner_texts()]
        assert said == ["scripted", "fake-1", "scripted"]


@journey("A wrong setting", on="page")
def test_wrong_setting(desk: Desk):
    with step("she types a number of steps that cannot be: the box says so, and the number is not taken"):
        desk.open()
        desk.page.get_by_label("Settings and export").click()
        desk.page.get_by_label("Steps at most").fill("0")
        desk.page.locator("input:invalid").wait_for()
        desk.page.keyboard.press("Escape")
        desk.ask("Good morning.")
        assert desk.answered() == "Answer 1."


@journey("An agent without tools", on="page")
def test_without_tools(desk: Desk):
    with step("Agents says that it has none; she asks it, and is answered"):
        desk.open("rounder")
        desk.ask("Hi")
        assert desk.answered() == "About ten."
        assert desk.page.locator(".tool").count() == 0


@journey("Another program: recorded, looked at, its cause found, forked", on="page")
def test_recorded_program(desk: Desk, model_server: str, tmp_path: Path):
    (tmp_path / "app.py").write_text(RECORDED)
    keys = {"OPENAI_BASE_URL": model_server, "OPENAI_API_KEY": "sk-test"}
    assert treadle(tmp_path, "record", "--", sys.executable, "app.py", **keys).code == 0
    port = free_port()
    desk.address = f"http://127.0.0.1:{port}"
    with start(tmp_path, "serve", "--port", str(port), "-m", model_server, "-t", "none"):
        eventually(Http(desk.address).answers, "the server answers")
        with step("treadle serve shows the run of another program among hers, with its question and its answer"):
            desk.page.goto(desk.address)
            desk.see("What is 2 + 3?", ".conversation .open").click()
            assert desk.answered() == "About ten."
        with step("the inspector shows what the model was told; Why says which command asks why"):
            desk.page.get_by_label("Inspect this run").click()
            desk.see("app.py", ".inspector")
            desk.page.get_by_role("tab", name="Why").click()
            desk.page.get_by_label("What should it have said?").fill("Hello")
            desk.page.get_by_role("button", name="Find out why").click()
            desk.see("In a terminal: treadle runs why ", ".inspector")
