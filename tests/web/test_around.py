"""Around a conversation: examples, search, settings, export, files, keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.serving import relaxed, serving
from tools.builtin.pdf_file import make_pdf
from treadle import Agent, ScriptedModel
from treadle._types.messages import ImagePart, TextPart, UserMessage

from .stage import Gates, guide
from .test_markdown import PNG
from .test_page import SIZE, Shoot, Stage

GUIDE = Gates()
GUIDE.search.open()
PDF = make_pdf(["The plan is simple."])
PLAIN = ScriptedModel(lambda request: "Plain **words**.")


@pytest.fixture(scope="module")
def server(browser: Any) -> Iterator[Any]:
    other = ScriptedModel(lambda request: "Other words.", name="other")
    agents = {"guide": guide(GUIDE), "plain": Agent(PLAIN, tools=None, fallbacks=[other])}
    with serving(agents, settings=relaxed(presets=("two_phase",))) as client:
        yield client


@pytest.fixture
def talk(browser: Any, server: Any) -> Iterator[Stage]:
    context = browser.new_context(viewport=SIZE, accept_downloads=True)
    stage = Stage(context.new_page(), server, Gates())
    stage.page.goto(server.address)
    stage.see(".welcome")
    yield stage
    context.close()
    assert not stage.faults, stage.faults


def test_examples_fit_the_tools_of_the_agent_and_fill_the_message_box(talk: Stage):
    shown = talk.page.locator(".examples button").all_inner_texts()
    assert any("mail" in words for words in shown)
    talk.page.get_by_label("plain").check()
    talk.page.wait_for_function("() => !document.querySelector('.examples').textContent.includes('mail')")
    first = talk.page.locator(".examples button").first
    words = first.inner_text()
    first.click()
    box = talk.page.get_by_label("Message", exact=True)
    talk.page.wait_for_function("(words) => document.getElementById('composer').value === words", arg=words)
    assert talk.page.locator(".turn").count() == 0, "nothing is asked before it is sent"
    box.fill("")


def test_search_finds_words_in_results_and_goes_there(talk: Stage, shoot: Shoot):
    talk.ask("Find a hotel near the station.")
    talk.finish()
    talk.page.keyboard.press("Alt+n")
    talk.see(".welcome")
    talk.page.keyboard.press("Alt+s")
    talk.page.keyboard.type("pension currency")
    hit = talk.see(".hit")
    assert "search: " in hit.inner_text()
    shoot(talk.page, "search")
    hit.locator("button").click()
    talk.finish()
    assert "hotel" in talk.page.locator(".question").inner_text()
    talk.page.get_by_label("Search conversations").fill("zzzz nothing")
    talk.see(".conversations", has_text="Nothing found.")


def test_conversations_that_begin_alike_can_be_told_apart(talk: Stage):
    begin = "Please compare the prices of all the small hotels in the old town for the first weekend of"
    for month in ("May", "June"):
        talk.page.keyboard.press("Alt+n")
        talk.see(".welcome")
        talk.page.get_by_label("plain").check()
        talk.ask(f"{begin} {month}")
        talk.finish()
    for month in ("May", "June"):
        title = talk.see(".conversation .title", has_text=f"{begin} {month}")
        assert title.evaluate("it => it.scrollHeight <= it.clientHeight && it.scrollWidth <= it.clientWidth"), month
    for _ in range(2):
        talk.page.keyboard.press("Alt+n")
        talk.see(".welcome")
        talk.page.get_by_label("plain").check()
        talk.ask(f"What was the weather like yesterday, {begin} May?")
        talk.finish()
    same = talk.see(".conversation .title", has_text="What was the weather")
    assert same.evaluate("it => it.scrollWidth > it.clientWidth"), "more words would not tell them apart"


def test_agent_and_settings_of_a_conversation(talk: Stage):
    page = talk.page
    talk.ask("Find a hotel near the station.")
    talk.finish()
    assert page.locator(".model-name").inner_text() == "scripted"
    page.get_by_label("Settings and export").click()
    page.get_by_role("combobox", name="Agent").select_option("plain")
    page.get_by_label("Temperature").fill("0.3")
    page.get_by_label("Steps at most").fill("2")
    page.keyboard.press("Escape")
    talk.count(".choices-panel", 0)
    talk.ask("And now?")
    talk.finish(2)
    run = talk.client.get("/api/runs?limit=1")["runs"][0]["run_id"]
    started = talk.client.get(f"/api/runs/{run}/records")["records"][0]["event"]
    assert started["agent"] == "plain"
    assert (started["settings"]["temperature"], started["settings"]["max_iterations"]) == (0.3, 2)
    page.reload()
    talk.finish(2)
    assert page.locator(".agent-name").inner_text() == "plain"
    page.get_by_label("Settings and export").click()
    assert page.get_by_label("Temperature").input_value() == "0.3"


def test_exports(talk: Stage, browser: Any, tmp_path: Path):
    talk.ask("Find a hotel near the station.")
    talk.finish()
    files: dict[str, Path] = {}
    for name in ("Markdown", "JSON", "a page that replays it"):
        talk.page.get_by_label("Settings and export").click()
        with talk.page.expect_download() as download:
            talk.page.get_by_role("button", name=f"Export as {name}").click()
        files[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[name])
    text = files["Markdown"].read_text("utf-8")
    assert text.startswith("# Find a hotel near the station.")
    assert "**Pension Anna** costs 74 euros" in text
    assert "> **search**" in text
    data = json.loads(files["JSON"].read_text("utf-8"))
    assert data["turns"][0]["steps"][-1]["content"].startswith("[{")
    assert data["turns"][0]["result"]["usage"]["total_tokens"] > 0
    alone = browser.new_context(offline=True)
    page = alone.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(files["a page that replays it"].as_uri())
    assert page.locator(".answer strong").inner_text() == "Pension Anna"
    assert len(asked) == 1, "it needs nothing else"
    page.locator(".log summary").click()
    assert "run_finished" in page.locator(".log pre").inner_text(), "with its log, as from the terminal"
    step = page.get_by_label("Step", exact=True)
    step.fill("1")
    assert not page.locator(".answer").is_visible()
    step.fill(step.get_attribute("max"))
    assert page.locator(".answer").is_visible()
    alone.close()


def test_pictures_and_texts_go_with_a_question(talk: Stage, tmp_path: Path):
    page = talk.page
    page.get_by_label("plain").check()
    drop = """([data, name, type, how]) => {
        const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
        const moved = new DataTransfer();
        moved.items.add(new File([bytes], name, { type }));
        const place = document.querySelector(how === "paste" ? "#composer" : ".composer-place");
        const more = { bubbles: true, cancelable: true };
        place.dispatchEvent(how === "paste" ? new ClipboardEvent("paste", { clipboardData: moved, ...more })
            : new DragEvent("drop", { dataTransfer: moved, ...more }));
    }"""
    page.evaluate(drop, [PNG, "shot.png", "image/png", "paste"])
    talk.count(".attachments li", 1)
    page.evaluate(drop, [base64.b64encode(b"a,b\n1,2").decode(), "figures.csv", "text/csv", "drop"])
    talk.count(".attachments li", 2)
    page.evaluate(drop, [base64.b64encode(b"MZ").decode(), "bad.exe", "application/x-msdownload", "drop"])
    talk.see(".notice", has_text="bad.exe cannot be sent")
    page.evaluate(drop, [base64.b64encode(PDF).decode(), "plan.pdf", "application/pdf", "drop"])
    talk.count(".attachments li", 3)
    talk.ask("What is this?")
    talk.finish()
    for _ in range(2):  # as it was sent, and as the journal gives it back
        assert page.locator(".question img").count() == 1
        page.wait_for_function("() => document.querySelector('.question img').naturalWidth > 0")
        links = page.locator(".question-file")
        assert [name.strip() for name in links.all_inner_texts()] == ["figures.csv", "plan.pdf"]
        assert page.locator(".question p").inner_text() == "What is this?", "a file is a file, not part of the words"
        assert page.locator(".head h1").inner_text() == "What is this?"
        got = page.request.get(links.last.evaluate("(link) => link.href"))
        assert (got.body(), got.headers["content-type"]) == (PDF, "application/pdf")
        assert got.headers["content-security-policy"].startswith("sandbox;")
        page.reload()
        talk.finish()
    sent = next(m for m in reversed(PLAIN.requests[-1].messages) if isinstance(m, UserMessage))
    assert not isinstance(sent.content, str)
    assert [part.data for part in sent.content if isinstance(part, ImagePart)] == [PNG]
    assert any(isinstance(part, TextPart) and "a,b\n1,2" in part.text for part in sent.content)
    talk.count(".attachments", 0)


def test_a_conversation_is_renamed(talk: Stage):
    page = talk.page
    talk.ask("Find a hotel near the station.")
    talk.finish()
    page.get_by_role("button", name="Find a hotel near the station.", exact=True).click()
    title = page.get_by_label("Title of this conversation")
    title.fill("A bed for the night")
    page.keyboard.press("Enter")
    talk.see(".head h1", has_text="A bed for the night")
    talk.see(".conversation .title", has_text="A bed for the night")
    page.reload()
    talk.see(".head h1", has_text="A bed for the night")
    page.wait_for_function("() => document.title === 'A bed for the night'")
    page.keyboard.press("F2")
    title.fill("Nonsense")
    page.keyboard.press("Escape")
    talk.see(".head h1", has_text="A bed for the night")
    page.keyboard.press("F2")
    title.fill("")
    page.keyboard.press("Enter")
    talk.see(".head h1", has_text="Find a hotel near the station.")


def test_model_preset_and_settings_are_chosen_for_a_conversation(talk: Stage):
    page = talk.page
    page.get_by_label("plain").check()
    assert page.locator(".model-name").inner_text() == "scripted"
    page.get_by_label("Settings and export").click()
    page.get_by_role("combobox", name="Model").select_option("other")
    page.get_by_role("combobox", name="Preset").select_option("two_phase")
    page.get_by_label("Steps at most").fill("3")
    talk.see(".model-name", has_text="other")
    talk.ask("Who is there?")
    talk.finish()
    assert page.locator(".answer").inner_text() == "Other words."
    conversation = page.evaluate("location.hash").rsplit("/")[-1]
    (run,) = talk.client.get(f"/api/conversations/{conversation}")["runs"]
    started = talk.client.get(f"/api/runs/{run['run_id']}/records")["records"][0]["event"]
    assert (started["model"], started["preset"]) == ("other", "two_phase")
    assert started["settings"]["max_iterations"] == 3
    page.reload()
    talk.finish()
    assert page.locator(".model-name").inner_text() == "other", "it is kept for this conversation"
    page.get_by_role("button", name="New conversation").click()
    page.get_by_label("plain").check()
    assert page.locator(".model-name").inner_text() == "scripted", "and for no other"


def test_the_help_sheet(talk: Stage, shoot: Shoot):
    talk.page.locator(".talk").focus()
    talk.page.keyboard.press("?")
    sheet = talk.see("dialog.help[open]")
    assert "Answer again" in sheet.inner_text()
    shoot(talk.page, "keys")
    talk.page.keyboard.press("Escape")
    talk.count("dialog.help[open]", 0)
    talk.page.get_by_label("Message", exact=True).fill("")
    talk.page.keyboard.type("why?")
    assert talk.page.locator("dialog.help[open]").count() == 0
    assert talk.page.get_by_label("Message", exact=True).input_value() == "why?"
