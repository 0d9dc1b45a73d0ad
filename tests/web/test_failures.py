"""What cannot be read says so in its place, with a way to try again; what is drawn stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit import add, call
from server.serving import Client, has_results, serving
from treadle import Agent, ScriptedModel

from .stage import Gates
from .test_page import SIZE, SlowPath, Stage

BROKEN = "Failed to load resource"


class Broken:
    """Requests that fail until they are mended."""

    def __init__(self, page: Any, pattern: str, status: int = 500) -> None:
        self.mended = False
        answer = {"status": status, "json": {"error": {"code": "internal", "message": "The disk is on fire."}}}
        page.route(pattern, lambda route: route.fallback() if self.mended else route.fulfill(**answer))


@pytest.fixture(scope="module")
def client(built_page: None) -> Iterator[Client]:
    model = ScriptedModel(lambda r: "It is 5." if has_results(r) else call("add", a=2, b=3))
    with serving({"guide": Agent(model, tools=[add])}) as client:
        yield client


@pytest.fixture(scope="module")
def fork(client: Client) -> tuple[str, str]:
    run = client.start("add")
    client.wait(run)
    fork = client.post(f"/api/runs/{run}/fork", {"at": 2, "message": "and again"}, 201)["run_id"]
    client.wait(fork)
    return run, fork


@pytest.fixture(scope="module")
def shown(browser: Any, client: Client) -> Iterator[Stage]:
    context = browser.new_context(viewport=SIZE)
    yield Stage(context.new_page(), client, Gates())
    context.close()


@pytest.fixture
def stage(shown: Stage) -> Iterator[Stage]:
    """The same page for all: a test opens an address in it."""
    yield shown
    shown.page.unroute_all(behavior="ignoreErrors")
    shown.page.evaluate("localStorage.clear()")
    shown.page.goto("about:blank")
    faults, shown.faults = shown.faults, []
    assert not [fault for fault in faults if not fault.startswith(BROKEN)], faults


VIEWS = {
    "the page itself": ("#/", "**/api/session", ".welcome"),
    "the agents it needs": ("#/", "**/api/agents", ".welcome"),
    "the list of conversations": ("#/", "**/api/conversations?*", ".conversation"),
    "a conversation": ("#/c/{fork}", "**/api/conversations/*", ".turn-foot"),
    "a run that is refused": ("#/c/{fork}", "**/events?*", ".turn-foot"),
    "the list of runs": ("#/runs", "**/api/runs?*", ".run"),
    "the sums": ("#/runs", "**/api/overview*", ".totals:not(.not-yet)"),
    "the agents": ("#/agents", "**/api/agents", ".agent"),
    "two runs": ("#/compare/{run}/{fork}", "**/api/compare*", ".facts"),
    "the code of a view": ("#/runs", "**/assets/desk-*.js", ".run"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_cannot_be_read_says_so_and_is_read_again(stage: Stage, fork: tuple[str, str], name: str):
    address, pattern, wanted = VIEWS[name]
    broken = Broken(stage.page, pattern, 403 if "refused" in name else 500)
    stage.page.goto(f"{stage.client.address}/{address.format(run=fork[0], fork=fork[1])}")
    card = stage.see(".failure")
    assert card.locator("strong").inner_text()
    assert stage.page.locator(wanted).count() == 0
    broken.mended = True
    card.get_by_role("button").click()
    stage.see(wanted)
    stage.count(".failure", 0)


@pytest.mark.parametrize(
    ("tab", "pattern", "wanted"),
    [
        ("Timeline", "**/records?*", ".record"),
        ("Cache", "**/prefixes", ".prefixes li"),
        ("", "**/requests/*", ".message"),
    ],
)
def test_so_does_each_part_of_the_inspector(stage: Stage, fork: tuple[str, str], tab: str, pattern: str, wanted: str):
    page = stage.page
    broken = Broken(page, pattern)
    page.goto(f"{stage.client.address}/#/c/{fork[0]}")
    stage.finish()
    page.get_by_label("Inspect this run").click()
    if tab == "Cache":
        page.get_by_role("tab", name="Cache").click()
    elif not tab:
        page.get_by_label("Show the request of record").first.click()
    card = stage.see(".inspector .failure", has_text="The disk is on fire.")
    broken.mended = True
    card.get_by_role("button", name="Try again").click()
    stage.see(f".inspector {wanted}")
    stage.count(".inspector .failure", 0)


def test_a_search_that_fails(stage: Stage, fork: tuple[str, str]):
    broken = Broken(stage.page, "**/api/search*")
    stage.page.goto(stage.client.address)
    stage.page.get_by_label("Search conversations").fill("add")
    card = stage.see(".sidebar .failure", has_text="The disk is on fire.")
    broken.mended = True
    card.get_by_role("button", name="Try again").click()
    stage.see(".hit")


def test_a_question_stays_when_only_the_list_fails(stage: Stage, fork: tuple[str, str]):
    """It used to vanish from the page while it was being answered."""
    stage.page.goto(stage.client.address)
    stage.see(".conversation")
    Broken(stage.page, "**/api/conversations?*")
    stage.ask("add")
    stage.finish()
    assert stage.page.locator(".question").inner_text() == "add"


def test_what_can_be_clicked_does_not_move_away(stage: Stage, fork: tuple[str, str]):
    """The notes came after the records and pushed the link down while somebody was clicking it."""
    page = stage.page
    slow = SlowPath(page, f"**/api/runs/{fork[1]}")
    page.goto(f"{stage.client.address}/#/c/{fork[1]}")
    stage.finish()
    with page.expect_response("**/records?*"):
        page.get_by_label("Inspect this run").first.click()
    stage.see(".inspector .loading, .inspector .record")
    where = "document.querySelector('a[href^=\"#/compare\"]')?.getBoundingClientRect().top ?? -1"
    page.evaluate(
        f"() => {{ window.tops = []; const look = () => {{ window.tops.push({where}); "
        "requestAnimationFrame(look); }; look(); }"
    )
    slow.release()
    stage.see(".notes")
    link = page.get_by_role("link", name="Compare with its origin")
    link.wait_for()
    assert len(set(page.evaluate("window.tops")) - {-1}) <= 1
    link.click()
    stage.see(".facts")


def test_the_list_does_not_wait_for_the_sums(stage: Stage, fork: tuple[str, str]):
    page = stage.page
    slow = SlowPath(page, "**/api/overview*")
    page.goto(f"{stage.client.address}/#/runs")
    first = stage.see(".run")
    stage.settle()
    before = first.bounding_box()
    slow.release()
    stage.see(".totals:not(.not-yet)")
    stage.settle()
    assert first.bounding_box() == before, "the sums have pushed the list away"


@pytest.mark.parametrize("address", ["#/compare/%/%zz", "#/c/%", "#/runs/%", "#/c/a/%E0%A4%A"])
def test_an_address_that_cannot_be_read_shows_the_page_all_the_same(stage: Stage, fork: tuple[str, str], address: str):
    stage.page.goto(f"{stage.client.address}/{address}")
    stage.see(".conversation")


def test_reading_old_turns_does_not_ask_for_the_list_again(stage: Stage, fork: tuple[str, str]):
    """It is asked for once, and again when a run that was under way has ended."""
    asked: list[str] = []
    stage.page.on(
        "request", lambda request: asked.append(request.url) if "/api/conversations?" in request.url else None
    )
    stage.page.goto(f"{stage.client.address}/#/c/{fork[0]}")
    stage.finish()
    stage.page.wait_for_timeout(200)
    assert len(asked) == 1
    turns = stage.page.locator(".turn").count()
    stage.ask("Add again.")
    stage.finish(turns + 1)
    stage.page.wait_for_function("() => document.querySelector('.conversation')")
    stage.page.wait_for_timeout(200)
    assert len(asked) in (2, 3), "when it was started, and when it had ended"


def test_words_that_could_not_be_sent_are_still_there(stage: Stage, fork: tuple[str, str]):
    """A question with its file, a question in other words, a message: until they can be sent."""
    page = stage.page
    page.goto(stage.client.address)
    broken = Broken(page, "**/api/runs")
    page.locator("input[type=file]").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"a,b"})
    stage.ask("Add two and three.")
    stage.see(".notice", has_text="The disk is on fire.")
    page.wait_for_function("() => document.getElementById('composer').value === 'Add two and three.'")
    stage.see(".composer-place", has_text="a.csv")
    broken.mended = True
    page.locator("#composer").press("Enter")
    stage.finish()
    assert page.locator("#composer").input_value() == ""
    again = Broken(page, "**/fork")
    page.locator(".notice").wait_for(state="hidden")  # else the next one, with the same words, is seen too early
    page.get_by_label("Edit and ask again").click()
    page.get_by_label("Your question").fill("Add four and five.")
    page.keyboard.press("Enter")
    stage.see(".notice", has_text="The disk is on fire.")
    assert page.get_by_label("Your question").input_value() == "Add four and five."
    again.mended = True
    page.get_by_role("button", name="Ask again", exact=True).click()
    stage.see(".question", has_text="Add four and five.")
    stage.finish()
