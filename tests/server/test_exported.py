"""Runs as one file of HTML: what they say is data in it, never markup."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from treadle._server import exported
from treadle._server.exported import html_of
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

TAGS = "html head meta meta meta title style body div h2 pre script script".split()


class Parsed(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data

    def text(self, tag: str) -> str:
        return self.texts[[name for name, _ in self.tags].index(tag)]


def run(words: str, name: str = "r") -> list[ev.Record]:
    """A run in which everything that somebody wrote is these words."""
    call = ToolCall("c", words, {words: words})
    events = [
        ev.RunStarted(words, agent=words, model=words),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(words, (call,)), thought=words),
        ev.ToolStarted(call, 1),
        ev.ToolDone("c", words, 1, words),
        ev.Reflected(1, words),
        ev.AnswerDone(words, "loop"),
        ev.RunFinished("answer", words),
    ]
    return [ev.Record(name, seq, 1.8e9, event) for seq, event in enumerate(events)]


@settings(max_examples=25)
@given(st.text())
@example("</script><script>alert(1)</script><!--<script>")
@example("\"'><img src=x onerror=alert(1)></title></style></pre>&lt;b&gt;\u2028")
def test_words_of_a_run_are_data(words: str):
    page = html_of([run(words)])
    parsed = Parsed(page)
    assert [tag for tag, _ in parsed.tags] == TAGS
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith(("on", "src", "href"))]
    assert "<!--" not in page, "a browser would read on behind the script's end"
    embedded = parsed.texts[-2]
    assert "<" not in embedded
    (only,) = json.loads(embedded)["runs"]
    assert only["records"] == json.loads(msgspec.json.encode(run(words)))
    (call,) = [item for item in only["items"] if item["kind"] == "call"]
    assert (call["tool"], call["content"], call["state"]) == (words, words, "done")


def test_only_its_own_script_and_style_count():
    parsed = Parsed(html_of([run("q")]))
    policy = parsed.tags[TAGS.index("meta") + 1][1]["content"]
    own = [
        f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
        for text in (parsed.texts[-1].rstrip("\n"), parsed.text("style"))
    ]
    assert policy == (
        f"default-src 'none'; script-src {own[0]}; style-src {own[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_a_conversation_is_one_file():
    parsed = Parsed(html_of([run("first", "a"), run("second", "b")], title="Two\nof them"))
    data = json.loads(parsed.texts[-2])
    assert (data["title"], parsed.text("title")) == ("Two of them", "Two of them")
    assert [one["run"] for one in data["runs"]] == ["a", "b"]
    assert len(Parsed(html_of([run("long " * 100)])).text("title")) == 120


def test_without_the_page_there_are_questions_and_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exported, "_BUILT", "nowhere")
    text = " ".join(Parsed(html_of([run("why?")])).texts)
    assert "has not been built" in text
    assert text.count("why?") > 2
