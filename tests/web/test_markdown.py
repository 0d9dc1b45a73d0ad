"""Markdown on the page: drawn while it is written, and harmless whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest

from server.serving import Gate, PacedModel, serving
from treadle import Agent, Artifact, ToolResponse, tool
from treadle._types.profile import Profile
from treadle._types.request import Request

from .stage import Gates, calls, results
from .test_page import SIZE, Shoot, Stage

RICH = """# Storage compared

Both are **good choices**, with *one* difference: `fsync` is ~~never~~ rarely [documented](https://example.com/docs).

| Database | Licence | Throughput |
|---|:---:|---:|
| PostgreSQL | PostgreSQL Licence | 12 000 |
| SQLite | public domain | 48 000 |

- [x] measure writes
- [ ] measure reads
1. first **bold** word

```python
def rate(n: int) -> float:  # per second
    return n / 0.25 + len("x")
```

The mean is $\\bar{x} = \\frac{1}{n}\\sum_{i=1}^{n} x_i$, it costs $5 or $10.

$$
\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}
$$

It was measured[^1] and read [ID:7].

[^1]: On a laptop, *twice*.
"""


@pytest.fixture(scope="module")
def markdown(browser: Any, bundle: Callable[[str, str], str]) -> Iterator[Any]:
    """A blank page with the module alone: `call("blocks", ...)` gives what it gives."""
    page = browser.new_page()
    page.add_script_tag(content=bundle("src/markdown/index.ts", "markdown"))
    yield page
    page.close()


def drawn(page: Any, source: str, open: bool = False) -> str:
    return str(page.evaluate("([text, open]) => markdown.blocks(text, open).join('\\n')", [source, open]))


@pytest.mark.parametrize("text", ["1945.", "*", "+", "#", ">", "- *", "[1]: x", "1)\n2)"])
def test_marks_that_mark_nothing_are_shown(markdown: Any, text: str):
    assert re.fullmatch(r"<p[^>]*>(.*)</p>\s*", unescape(drawn(markdown, text)), re.DOTALL)[1] == text


def test_every_kind(markdown: Any):
    html = drawn(markdown, RICH)
    for part in ("<h1>", "<strong>good choices</strong>", "<em>one</em>", "<del>never</del>", "<code>fsync</code>"):
        assert part in html
    assert html.count('class="task done"') == 1
    assert html.count('class="task"') == 1
    assert '<span class="tok-k">def</span>' in html
    assert '<span class="tok-c"># per second</span>' in html
    assert '<span class="tok-s">"x"</span>' in html.replace("&quot;", '"').replace("&#34;", '"')
    assert html.count("<math") == 2
    assert "<munderover>" in html
    assert "<msqrt>" in html
    assert "it costs $5 or $10" in html
    assert 'value="^1"' in html
    assert 'value="ID:7"' in html
    assert '<p class="footnote">' in html
    assert "[^" not in html
    assert "[ID" not in html


def test_no_prefix_of_it_shows_raw_signs(markdown: Any):
    """Cut anywhere, it is drawn without signs that the whole does not show, and never as another kind of block."""
    found = markdown.evaluate(
        """(text) => {
            const seen = [];
            const place = document.createElement("div");
            for (let end = 1; end <= text.length; end += 1) {
                place.innerHTML = markdown.blocks(text.slice(0, end), true).join("");
                for (const one of place.querySelectorAll("annotation, pre")) one.remove();
                const raw = /\\*|`|~~|\\||\\[|\\]|#|\\$(?!5|1|$)|---|\\\\/.exec(place.textContent.trim());
                const where = JSON.stringify(text.slice(0, end).slice(-30));
                if (raw) seen.push(`${raw[0]} after ${where}`);
                if (place.querySelector("h2, hr")) seen.push(`heading ${where}`);
            }
            return seen;
        }""",
        RICH,
    )
    assert found == []


def test_what_was_drawn_stays_as_it_is_while_more_comes(markdown: Any):
    """No jump: a block that has another one after it is the same string from then on."""
    changed = markdown.evaluate(
        """(text) => {
            const changed = [];
            let before = [];
            for (let end = 1; end <= text.length; end += 1) {
                const now = markdown.blocks(text.slice(0, end), true);
                before.slice(0, -1).forEach((html, at) => {
                    if (now[at] !== html) changed.push(`${at}: ${html} | ${now[at]}`);
                });
                before = now;
            }
            const whole = markdown.blocks(text);
            before.forEach((html, at) => html === whole[at] || changed.push(`end ${at}: ${html} | ${whole[at]}`));
            return changed;
        }""",
        RICH,
    )
    assert changed == []


@pytest.mark.parametrize(
    ("tex", "part"),
    [
        (r"x_i^2", "<msubsup>"),
        (r"\lim_{n \to \infty} a_n", "<munder>"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "<mtable>"),
        (r"\left( \frac{a}{b} \right)", 'stretchy="true"'),
        (r"\mathbb{R}^n \ni \vec{v}", "\u211d"),
        (r"f(x) = \begin{cases} 1 & x > 0 \\ 0 & \text{else} \end{cases}", "<mtext>else</mtext>"),
        (r"\sqrt[3]{8} \cdot \hat{y} \leq 10.5", "<mroot>"),
    ],
)
def test_formulas(markdown: Any, tex: str, part: str):
    html = drawn(markdown, f"$$\n{tex}\n$$")
    assert part in html
    assert "<code>" not in html


@pytest.mark.parametrize(
    "tex", [r"\unknowncommand{x}", r"\frac{1}{", r"a & b", "{" * 500, r"\text{<img src=x onerror=alert(1)>}"]
)
def test_a_formula_it_does_not_know_is_shown_as_it_was_written(markdown: Any, tex: str):
    html = drawn(markdown, f"$$\n{tex}\n$$")
    markdown.evaluate("(html) => { document.body.innerHTML = html; }", html)
    assert markdown.evaluate("document.body.querySelectorAll('img, script').length") == 0
    assert (
        markdown.evaluate("document.body.textContent").strip().startswith(tex.replace(r"\text{", "").rstrip("}")[:10])
    )


HOSTILE = [
    '<img src=x onerror="window.owned=1">',
    "<script>window.owned=1</script>",
    "[x](javascript:window.owned=1)",
    "[x](  JaVaScRiPt&#58;window.owned=1)",
    "[x](data:text/html,<script>window.owned=1</script>)",
    "[x](vbscript:x)",
    "<svg><script>window.owned=1</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.owned=1>",
    "<form><button formaction=javascript:window.owned=1>go</button></form>",
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
    "<details open ontoggle=window.owned=1>x</details>",
    '<a href="https://e.example" style="position:fixed;inset:0">x</a>',
    '<div class="approval"><button class="primary">Allow</button></div>',
    "<button popovertarget=app>x</button><input autofocus onfocus=window.owned=1>",
    '```"><img src=x onerror=window.owned=1>\nx\n```',
    "```python\n</code></pre><img src=x onerror=window.owned=1>\n```",
    "$</span><img src=x onerror=window.owned=1>$",
    '<span class="math">&lt;img src=x onerror=window.owned=1&gt;</span>',
    "[^<img src=x onerror=window.owned=1>]",
    '[^"onmouseover=window.owned=1]',
    "[^a]: <img src=x onerror=window.owned=1>",
    '| <img src=x onerror=window.owned=1> |\n|---|\n| "><script>window.owned=1</script> |',
    '![x]("onerror=window.owned=1)',
    "![a](data:image/svg+xml,<svg onload=window.owned=1>)",
    "<base href=https://evil.example/><link rel=stylesheet href=//evil.example><meta http-equiv=refresh content=0>",
]


@pytest.mark.parametrize("open", [False, True], ids=["whole", "growing"])
@pytest.mark.parametrize(
    "text",
    [
        "Clone it: git clone <your-repository-url> and set <NAME>.",
        "It returns List<String>, or Map<K, V> and so on.",
        "<your-name>\n\nis a line of its own.",
        "<placeholder> begins a line, <input> is an element, and a < b > c.",
        "<script>\nlet a = 1;\n</script>",
        "<html><title>Mine</title></html>",
    ],
)
def test_angle_brackets_that_are_no_markup_stay_words(markdown: Any, text: str, open: bool):
    show = "(html) => { document.body.innerHTML = html; return document.body.textContent; }"
    shown = markdown.evaluate(show, drawn(markdown, text, open))
    assert shown.split() == text.split()


def test_markup_that_is_drawn_is_not_shown(markdown: Any):
    html = drawn(markdown, "H<sub>2</sub>O<br>or <kbd>Ctrl</kbd>\n\n<details><summary>More</summary>x</details>")
    for tag in ("<sub>", "<br>", "<kbd>", "<details>", "<summary>"):
        assert tag in html


@pytest.mark.parametrize("nasty", HOSTILE)
@pytest.mark.parametrize("open", [False, True], ids=["whole", "growing"])
def test_hostile_markdown_stays_harmless(markdown: Any, nasty: str, open: bool):
    bad = markdown.evaluate(
        """async ([text, open]) => {
            const place = document.createElement("div");
            document.body.replaceChildren(place);
            place.innerHTML = markdown.blocks(text, open).join("");
            for (const one of place.querySelectorAll("button, a, [tabindex]")) {
                one.focus();
                if (one.tagName === "BUTTON") one.click();
            }
            await new Promise((go) => setTimeout(go, 0));
            const bad = [];
            const TAGS = /^(script|style|iframe|form|input|svg|object|embed|base|link|meta)$/i;
            const ADDRESSES = /^(https?:|data:image\\/(png|jpeg|gif|webp);|[^:]*$)/i;
            if (window.owned) bad.push("it ran");
            for (const one of place.querySelectorAll("*")) {
                if (TAGS.test(one.tagName)) bad.push(one.tagName);
                for (const { name, value } of one.attributes) {
                    if (/^(on|style|form|popover)/.test(name)) bad.push(name);
                    if (/^(href|src)$/.test(name) && !ADDRESSES.test(value.trim())) bad.push(value);
                    if (name === "class" && /approval|primary|notice|decision/.test(value)) bad.push(value);
                }
            }
            return bad;
        }""",
        [nasty, open],
    )
    assert bad == []


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGNkYPiPAzDhkhi0EgB0HgEPrdcmqQAAAABJRU5ErkJggg=="


@tool
async def retrieve(query: str) -> ToolResponse:
    """Search the knowledge base."""
    text = (
        '{"chunks": [{"id": 7, "document": "handbook.pdf", "position": 3, "page": 12, '
        '"text": "Reads were measured on one laptop."}]}'
    )
    return ToolResponse(
        text,
        artifacts=(Artifact("chart.png", PNG, "image/png", True), Artifact("figures.csv", "a,b\n1,2\n", "text/csv")),
    )


def test_an_answer_is_drawn_while_it_is_written(browser: Any, shoot: Shoot):
    """In the page itself: no raw text, the table whole, pictures and files of the run, a card for a source."""
    answer = RICH + "\n![the chart](chart.png)\n\nAll figures are in [the file](figures.csv).\n"
    gate = Gate()

    def script(request: Request) -> Any:
        return answer if results(request) else calls("", ("retrieve", {"query": "storage"}))

    model = PacedModel(script, profile=Profile(tool_call=True), chunk=12)
    with serving(Agent(model, tools=[retrieve], answer="direct")) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(client.address)
        model.gates[16] = gate  # in the middle of the head of the table
        stage.ask("Compare the storage.")
        stage.see(".answer.open table")
        shown = stage.page.locator(".answer").inner_text()
        assert "|" not in shown
        assert "**" not in shown
        assert stage.page.locator(".answer h1").inner_text() == "Storage compared"
        first = stage.page.locator(".answer h1").element_handle()
        gate.open()
        stage.finish()
        assert stage.page.evaluate("(one) => one.isConnected", first), "what was there was drawn again"
        assert stage.page.locator(".answer math").count() == 2
        picture = stage.page.locator(".answer img")
        stage.page.wait_for_function("() => document.querySelector('.answer img')?.naturalWidth === 8")
        assert picture.get_attribute("alt") == "the chart"
        assert "/artifacts/figures.csv" in str(stage.page.locator(".answer a.file").get_attribute("href"))
        assert stage.page.locator(".artifact-picture").evaluate("(one) => one.naturalWidth") == 8
        stage.page.get_by_label("Source 7").click()
        card = stage.see(".source-card")
        assert "handbook.pdf" in card.inner_text()
        assert "Reads were measured on one laptop." in card.inner_text()
        shoot(stage.page, "markdown")
        stage.page.keyboard.press("Escape")
        stage.count(".source-card", 0)
        stage.page.get_by_label("Source 1").press("Enter")
        assert "On a laptop, twice." in stage.see(".source-card").inner_text()
        stage.page.get_by_label("Close the source").click()
        stage.count(".source-card", 0)
        assert not stage.faults, stage.faults
        context.close()


BROKEN = """() => {
    const broken = [];
    for (const cell of document.querySelectorAll(".answer th, .answer td")) {
        const text = cell.firstChild;
        if (!text || text.nodeType !== 3) continue;
        for (const word of text.textContent.matchAll(/\\S+/g)) {
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
        }
    }
    return broken;
}"""


def test_tables_never_break_inside_words(browser: Any):
    head = "| Database | Responsibilities | Characteristics | Recommendation | Alternatives | Notes |\n|" + "---|" * 6
    table = f"{head}\n| PostgreSQL | transactional workloads | extensibility | production | CockroachDB | see below |\n"
    with serving(Agent(PacedModel([table]), tools=None)) as client:
        context = browser.new_context(viewport=SIZE)
        stage = Stage(context.new_page(), client, Gates())
        stage.page.goto(client.address)
        stage.ask("Compare.")
        stage.finish()
        for width in (360, 768, 1280, 3840):
            stage.page.set_viewport_size({"width": width, "height": 800})
            assert stage.page.evaluate(BROKEN) == [], width
            assert not stage.page.evaluate("document.documentElement.scrollWidth > innerWidth"), width
        context.close()
