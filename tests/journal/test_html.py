"""Runs as a page of HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from treadle import Agent, ScriptedModel, tool
from treadle._journal.html import html_of
from treadle._types.events import Record

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@tool(effect="pure")
def look(at: str) -> str:
    """Look at something."""
    return f"seen {at} {EVIL}"


def run(question: str) -> list[Record]:
    calls = {"name": "look", "args": {"at": f'"{EVIL}'}}
    agent = Agent(ScriptedModel([calls, f"an answer {EVIL}"]), [look])
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
        assert not [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_has_everything_and_needs_nothing():
    page = html_of([run(f"what is it? {EVIL}")])
    tags = Tags(page)
    assert {"script", "img", "link", "iframe"} & {*tags.tags} == set()
    for words in (f"what is it? {EVIL}", f'seen "{EVIL} {EVIL}', f"an answer {EVIL}", "run_finished"):
        assert words in tags.text
    assert "default-src &#x27;none&#x27;" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")


def test_a_conversation_is_one_page():
    first, second = run("first question"), run("second question")
    text = Tags(html_of([first, second], title="Two of them")).text
    assert text.startswith("Two of them")
    assert text.index("first question") < text.index("second question")
    assert text.count("The log: ") == 2


def test_a_run_that_has_not_ended():
    assert "not finished" in html_of([run("q")[:3]])
