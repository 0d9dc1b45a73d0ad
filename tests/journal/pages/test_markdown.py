"""Markdown as HTML, without anything that acts or loads."""

from __future__ import annotations

import re
import time

import pytest

from treadle._journal.pages.markdown import html_of_markdown

LENGTH = 5_000


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("# A *title* #", "<h3>A <em>title</em></h3>"),
        ("a **b _c_** `d*e` ~~f~~", "<p>a <strong>b <em>c</em></strong> <code>d*e</code> <del>f</del></p>"),
        ("snake_case_name 2 * 3 * 4", "<p>snake_case_name 2 * 3 * 4</p>"),
        ("a\\*b\\*  \nc", "<p>a*b*<br>c</p>"),
        ("- a\n- b\n  - c\n\n1. d", "<ul><li>a</li><li>b\n<ul><li>c</li></ul></li></ul>\n<ol><li>d</li></ol>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>"),
        ("> a\n> > b", "<blockquote><p>a</p>\n<blockquote><p>b</p></blockquote></blockquote>"),
        ("```py\n<b>\n", "<pre><code>&lt;b&gt;\n</code></pre>"),
        ("```py\nx = 1\n```", '<pre><code>x = <span class="tok-n">1</span></code></pre>'),
        ("a[^1]\n\n[^1]: b *c*\nd", "<p>a<sup>1</sup></p>\n<p class=footnote><sup>1</sup> b <em>c</em> d</p>"),
        ("a\n\n---\n\nb", "<p>a</p>\n<hr>\n<p>b</p>"),
    ],
)
def test_what_models_write(source: str, html: str):
    assert html_of_markdown(source) == html


@pytest.mark.parametrize("source", ["$x_1$", r"\(x_1\)", "**$x_1$**", "- a $x_1$", "| a |\n|---|\n| $x_1$ |"])
def test_formulas_in_a_line(source: str):
    html = html_of_markdown(source)
    assert "<math><semantics><mrow><msub><mi>x</mi><mrow><mn>1</mn></mrow></msub></mrow>" in html


@pytest.mark.parametrize(
    "source", ["$$x$$", "so\n$$\nx\n$$\nit is", "\\[\nx\n\\]", "```math\nx\n```", "- a\n\n  $$x$$"]
)
def test_formulas_that_stand_alone(source: str):
    html = html_of_markdown(source)
    assert '<div class="math" tabindex="0" role="group" aria-label="Formula"><math display="block">' in html
    assert "$" not in html


@pytest.mark.parametrize(
    "source", ["it costs $5 or $10", "`$x$`", "$ x $", "$$", "$$\n\n$$", "\\$x$", "\\( and", "\\[\nx"]
)
def test_what_is_no_formula(source: str):
    assert "<math" not in html_of_markdown(source)


def test_tables():
    html = html_of_markdown("| a | b |\n|---|:-:|\n| 1 \\| 2 | **3** | 4 |\n| 5 |\n\nend")
    assert "<tr><th>a</th><th>b</th></tr>" in html
    assert "<tr><td>1 | 2</td><td><strong>3</strong></td></tr><tr><td>5</td></tr>" in html
    assert html.endswith("<p>end</p>")


def test_addresses():
    html = html_of_markdown(
        "[a](https://e.example/x_y) https://e.example/z. [b](javascript:x) ![c](http://e.example/c.png)"
    )
    assert re.findall(r'href="([^"]*)"', html) == [
        "https://e.example/x_y",
        "https://e.example/z",
        "http://e.example/c.png",
    ]
    assert "<img" not in html
    assert "</a>. b <a" in html


def test_pictures_of_the_run():
    html = html_of_markdown("![c](out/chart.png)", {"chart.png": 'data:image/png;base64,AA"'})
    assert html == '<p><img src="data:image/png;base64,AA&quot;" alt="c"></p>'


@pytest.mark.parametrize(
    "nasty",
    [
        "<script>x</script>",
        "<img src=x onerror=x>",
        '[a](https://x"onmouseover=x)',
        '![a"onerror=x](x)',
        "`<b>`",
        "**<b>**",
        "| <b> |\n|---|\n| <i> |",
        "```<b>\n</code><script>",
        "# <b>",
        "[<b>](https://x)",
        "$<b>$",
        "$$\n\\text{<script>}<img src=x>\n$$",
        "\\(\\unknown<b>\\)",
        "```py\n'<b>' <i> # <script>",
        "```diff\n+<b>",
        "a[^<b>]\n\n[^<i>]: <script>",
    ],
)
def test_nothing_of_the_text_is_a_tag(nasty: str):
    html = html_of_markdown(nasty)
    assert not re.search(r"<(script|img|b|i)\b", html), html
    assert not re.search(r'<[^>]*"\s*on\w+=', html), html


@pytest.mark.parametrize(
    "unit",
    [
        ">",
        "> ",
        "- ",
        "1. ",
        "*a_",
        "*a ",
        "[",
        "[a](",
        "`a``",
        "~~a ",
        "\\",
        "|a",
        "- a\nb\n",
        "```\n",
        "_a",
        "http://",
        "$",
        "$a ",
        "$$a ",
        "$$\n",
        "\\(",
        "\\(a",
        "\\[",
        "\\[\n",
        "[^",
        "[^a]: b\n",
        "$a$",
    ],
)
def test_a_text_takes_time_in_proportion_to_its_length(unit: str):
    """Four times the length takes about four times as long, and not sixteen times."""

    def taken(length: int) -> float:
        text = unit * (length // len(unit))
        best = 1e9
        for _ in range(2):
            before = time.process_time()
            html_of_markdown(text)
            best = min(best, time.process_time() - before)
        return best

    assert taken(4 * LENGTH) < 9 * taken(LENGTH) + 0.05
