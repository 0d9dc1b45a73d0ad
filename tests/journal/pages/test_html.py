"""Runs as a page of HTML."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from treadle import Agent, Artifact, ScriptedModel, ToolResponse, tool
from treadle._journal.pages.html import html_of
from treadle._types.events import Record

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@tool(effect="pure")
def look(at: str) -> str:
    """Look at something."""
    return f"seen {at} {EVIL}"


@tool(effect="pure", name="look")
def draw(at: str) -> ToolResponse:
    """Draw something."""
    return ToolResponse("drawn", artifacts=(Artifact("chart.png", "iVBORw0KGgo=", "image/png", True),))


def run(question: str, answer: str = f"an answer {EVIL}") -> list[Record]:
    calls = {"name": "look", "args": {"at": f'"{EVIL}'}}
    agent = Agent(ScriptedModel([calls, answer]), [draw if "chart" in answer else look])
    records: list[Record] = []

    async def go() -> None:
        handle = agent.prepare(question)
        handle.subscribe(lambda record: None if record.offset else records.append(record))
        await agent.launch(handle)

    import asyncio

    asyncio.run(go())
    return records


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [
            name for name, value in attrs if name.startswith("on") or (name == "src" and "data:" not in (value or ""))
        ]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_has_everything_and_needs_nothing():
    page = html_of([run(f"what is it? {EVIL}")])
    tags = Tags(page)
    assert {"img", "link", "iframe", "a"} & {*tags.tags} == set()
    assert tags.tags.count("script") == 1, "its own, which the policy names by its digest"
    for words in (f"what is it? {EVIL}", f'seen "{EVIL} {EVIL}', f"an answer {EVIL}", "run_finished"):
        assert words in tags.text
    assert "default-src &#x27;none&#x27;" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")


def test_only_its_own_script_may_run():
    page = html_of([run("q")])
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in page
    assert page.count("script-src") == 1


def test_answers_are_drawn_and_show_what_tools_have_drawn():
    records = run("q", "It is **bold**: ![the chart](chart.png) ![other](https://e.example/spy.png)")
    page = html_of([records])
    assert "<strong>bold</strong>" in page
    assert page.count('src="data:image/png;base64,iVBORw0KGgo="') == 2, "in the answer and below the call"
    assert '<a href="https://e.example/spy.png"' in page


def test_a_conversation_is_one_page():
    first, second = run("first question"), run("second question")
    text = Tags(html_of([first, second], title="Two of them")).text
    assert text.startswith("Two of them")
    assert text.index("first question") < text.index("second question")
    assert text.count("The log: ") == 2


def test_a_run_that_has_not_ended():
    assert "not finished" in html_of([run("q")[:3]])
