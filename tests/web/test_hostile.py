"""Answers that are made to hurt: they cost what their length costs, fetch nothing, and leave the page standing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.serving import serving
from treadle import Agent, ScriptedModel

from .stage import Gates
from .test_page import SIZE, Stage

LENGTH = 8_000
MOST_TIMES = 40
"""How much longer than plain text of the same length a text may take. Before there were bounds, most of these took
hundreds of times as long, some for ever."""
MANY_ELEMENTS = {
    "many items", "many rows", "underlined headings", "definitions and their uses", "footnotes", "quotes in code",
    "tags in code",
}  # fmt: skip
MOST_TIMES_WITH_ELEMENTS = 160
"""For those that are thousands of elements of the page, where plain text is a handful of paragraphs."""


def of(unit: str, before: str = "", after: str = "") -> str:
    return before + unit * ((LENGTH - len(before) - len(after)) // len(unit)) + after


def stairs(step: Callable[[int], str], base: int = LENGTH) -> str:
    return "\n".join(step(number) for number in range(1, int((2 * base) ** 0.5)))


SLOW = {
    "quotes in quotes": of(">", "", " x"),
    "quotes in quotes, spaced": of("> ", "", "x"),
    "quotes, each line deeper": stairs(lambda n: ">" * n + " x"),
    "lists in lists": of("- ", "", "x"),
    "numbers in numbers": of("1. ", "", "x"),
    "lists, each line deeper": stairs(lambda n: "  " * n + "- x", LENGTH // 2),
    "lists in quotes": of("> - ", "", "x"),
    "one item of many lines": "- a\n" + of("b\n"),
    "many items": of("- item\n"),
    "open stars": of("*a "),
    "stars within words": of("a**"),
    "stars and underscores": of("*a_"),
    "open tildes": of("~~a "),
    "open brackets": of("["),
    "brackets closed later": of("[", "", "](x)" * 10),
    "pictures that do not end": of("!["),
    "more backticks each time": stairs(lambda n: "`" * n),
    "backticks that do not match": of("`a``"),
    "open dollars": of("$$a "),
    "open formulas": of("\\[a"),
    "formulas in formulas": "$$\n" + of("\\frac{1}{") + "\n$$",
    "open tags": of("x<b>"),
    "boxes in boxes": of("<div>"),
    "comments that do not end": of("<!-- "),
    "angle brackets": of("<"),
    "a head and no rows": "|a" * (LENGTH // 6) + "|\n" + "|-" * (LENGTH // 6) + "|\n" + "|\n" * (LENGTH // 6),
    "many rows": "|a|b|\n|-|-|\n" + of("|c|d|\n"),
    "underlined headings": of("a\n-\n"),
    "definitions and their uses": "".join(f"[a{n}]: x\n\n[a{n}] p\n\n" for n in range(LENGTH // 20)),
    "footnotes": "".join(f"[^a{n}]: x\n" for n in range(LENGTH // 11)),
    "an address that does not end": of("a.", "", "@"),
    "words of one letter and a line": of("a_"),
    "quotes in code": "```python\n" + of('"') + "\n```",
    "tags in code": "```html\n" + of("<a ") + "\n```",
    "blanks": of(" ", "a", "b"),
    "one word": of("a"),
}
PLAIN = " ".join(f"word{number}" + (".\n\n" if number % 60 == 59 else "") for number in range(LENGTH // 8))

DRAW = """([text, open, name]) => {
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    place.innerHTML = markdown.blocks(text, open, undefined, name).join("");
    place.getBoundingClientRect();
}"""


@pytest.fixture(scope="module")
def markdown(browser: Any, bundle: Callable[[str, str], str]) -> Iterator[Any]:
    page = browser.new_page()
    page.add_script_tag(content=bundle("src/markdown/index.ts", "markdown"))
    yield page
    page.close()


@pytest.mark.parametrize("open", [False, True], ids=["whole", "growing"])
def test_a_text_takes_time_in_proportion_to_its_length(markdown: Any, open: bool):
    # What the page's own thread computes: time that other programs take does not count.
    measure = markdown.context.new_cdp_session(markdown)
    measure.send("Performance.enable", {"timeDomain": "threadTicks"})

    def computed() -> float:
        return {one["name"]: one["value"] for one in measure.send("Performance.getMetrics")["metrics"]}["ThreadTime"]

    def cost(text: str, name: str) -> float:
        before = computed()
        markdown.evaluate(DRAW, [text, open, name])
        return computed() - before

    plain = sorted(cost(PLAIN, f"plain {number}") for number in range(5))[2]
    slow: dict[str, float] = {}
    for name, text in SLOW.items():
        # The name of the files makes each a text that has not been drawn before. A busy machine gets a second try.
        bound = MOST_TIMES_WITH_ELEMENTS if name in MANY_ELEMENTS else MOST_TIMES
        for number in range(2):
            slow[name] = cost(text, f"{name} {number}") / plain
            if slow[name] <= bound:
                del slow[name]
                break
    assert slow == {}


def test_long_paragraphs_keep_their_emphasis_links_and_breaks(markdown: Any):
    """They are read in pieces: what stands between two cuts is read as in a short one."""
    sentence = "It is **bold**, *slanted*, `code with * in it`, [a](https://e.example/a_b), $x_1$ and  \nhere. "
    count = 60
    html = markdown.evaluate("(text) => markdown.blocks(text).join('')", sentence * count)
    for part in (
        "<strong>bold</strong>",
        "<em>slanted</em>",
        "<code>code with * in it</code>",
        'href="https://e.example/a_b"',
    ):
        assert html.count(part) == count, part
    assert html.count("<math") == count
    assert html.count("<br>") == count
    assert html.count("<p>") == 1


def test_a_long_picture_in_the_text_is_no_long_word(markdown: Any):
    data = "data:image/png;base64," + "A" * 50_000
    html = markdown.evaluate("(text) => markdown.blocks(text).join('')", f"{'Words. ' * 300}![it]({data}) more")
    assert f'src="{data}"' in html


def test_while_a_long_answer_grows_only_its_end_is_read_again(markdown: Any):
    """And it ends as it is drawn when it comes whole, also where a link is defined at its end."""
    words = "# Part {n}\n\nWords with **weight** and [a reference][r{m}].\n\n- one\n- two\n\n  more\n\n"
    part = words + "```js\nlet a = {n};\n```\n\n"
    links = "".join(f"[r{n}]: https://e.example/{n}\n" for n in range(3))
    text = "".join(part.format(n=n, m=n % 3) for n in range(60)) + links
    report = markdown.evaluate(
        """(text) => {
            const counts = [];
            const exec = RegExp.prototype.exec;
            let matches = 0, last = "";
            RegExp.prototype.exec = function (text) { matches += 1; return exec.call(this, text); };
            for (let end = 200; end < text.length + 200; end += 200) {
                matches = 0;
                markdown.blocks(text.slice(0, end), true, undefined, "grows");
                counts.push(matches);
            }
            RegExp.prototype.exec = exec;
            const growing = (end) => JSON.stringify(markdown.blocks(text.slice(0, end), true, undefined, "grows"));
            for (let end = text.length - 40; end <= text.length; end += 1) last = growing(end);
            const same = last === JSON.stringify(markdown.blocks(text, false, undefined, "whole"));
            return { same, counts };
        }""",
        text,
    )
    assert report["same"], report
    early, late = (sum(part) for part in (report["counts"][2:8], report["counts"][-8:-2]))
    assert len(report["counts"]) > 30
    assert 0 < late < 2 * early, report["counts"]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server on another address, and what was asked of it."""
    asked: list[str] = []

    class Canary(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canary) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


FETCHING = """<img src={a}/raw>
<img srcset="{a}/set 2x"><IMG SRC='{a}/case'><img src="//{host}/noscheme"><image src={a}/image>

![a]({a}/md) ![b][ref] [![c]({a}/inner)](x)

[ref]: {a}/ref
<picture><source srcset={a}/picture><img></picture>
<video src={a}/video poster={a}/poster autoplay></video><audio src={a}/audio autoplay></audio>
<svg><image href={a}/svg /><use href={a}/use /></svg>
<math><mtext><img src={a}/math></mtext></math>
<div style="background:url({a}/css)">x</div><style>@import url({a}/import)</style>
<table background={a}/table><tr><td background={a}/cell>x</td></tr></table>
<link rel=prefetch href={a}/prefetch><link rel=dns-prefetch href={a}/dns><link rel=stylesheet href={a}/sheet>
<iframe src={a}/frame></iframe><object data={a}/object></object><embed src={a}/embed><input type=image src={a}/input>
<a href=https://x.example ping={a}/ping>x</a><body background={a}/body>
<meta http-equiv=refresh content="0;url={a}/meta">
<script src={a}/script></script><track src={a}/track>

[^n]: <img src={a}/note>

| <img src={a}/in-a-table> |
|---|
"""


def test_nothing_is_fetched_because_a_model_wrote_it(markdown: Any, elsewhere: tuple[str, list[str]]):
    """Without the policy that the server sends: the text itself is without such addresses. A click still goes there."""
    address, asked = elsewhere
    text = FETCHING.format(a=address, host=address.partition("//")[2])
    for open in (False, True):
        markdown.evaluate(
            """async ([text, open]) => {
                const place = document.createElement("div");
                document.body.replaceChildren(place);
                place.innerHTML = markdown.blocks(text, open).join("");
                place.scrollIntoView();
                await new Promise((go) => setTimeout(go, 300));
            }""",
            [text, open],
        )
    assert asked == []
    assert markdown.locator("img").count() == 0
    assert markdown.locator(f"a[href='{address}/md']").count() == 1
    assert markdown.locator(f"a[href='{address}/raw']").count() == 1


def test_the_page_stands_whatever_the_answer_was(browser: Any, elsewhere: tuple[str, list[str]]):
    """After the answer, after a reload, and for the question that comes next."""
    address, asked = elsewhere
    nasty = FETCHING.format(a=address, host=address.partition("//")[2])
    answers = [">" * 3000 + " deep", "- " * 3000 + "deep", "*a_" * 4000, nasty, "It still answers."]
    with serving(Agent(ScriptedModel(answers), tools=None, answer="direct")) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(client.address)
        for turns in range(1, 5):
            stage.ask("Go on.")
            stage.finish(turns)
        stage.page.reload()
        stage.see(".turn-foot")
        stage.ask("Are you there?")
        stage.see(".answer", has_text="It still answers.")
        assert asked == []
        # What is taken out of a text is read before, and the policy of the page stops it then already.
        faults = [fault for fault in stage.faults if not fault.startswith("Applying inline style violates")]
        assert not faults, faults
        context.close()
