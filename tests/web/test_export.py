"""The file that a conversation is exported to shows formulas and code as the page does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle._journal.pages.html import html_of
from treadle._journal.pages.markdown import html_of_markdown
from treadle._types import events as ev

from .test_markdown import RICH

FORMULAS = (
    r"""
E = mc^2 + \frac{1}{2}\sum_{i=1}^n x_i'
\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}
\begin{pmatrix} a & b \\ c & 1.5 \end{pmatrix} \cdot \vec{v} \neq \mathbf{0}
\begin{aligned} a &= b \\ &= 1,024 + .5 \\ \end{aligned}
f(x) = \begin{cases} 1 & \text{if } x < 0 \\ -2 & \text{otherwise} \end{cases}
\left( \frac{a}{b} \right]^{10} \quad \left\{ x \mid x \ge 0 \right.
\lim_{n \to \infty} \sin x + \log_2 8 - \max\limits_i y_i
\mathbb{R} \mathcal{L} \mathrm{kg\,m} \mathfrak{g} \mathbf{x1} \operatorname{softmax}
\hat{x} \overline{ab} \underbrace{a+b}_{n} \overset{!}{=} \not= \binom{n}{k} \sqrt[3]{x}
\boxed{42} \tag{1} 50\% \$5 \| a \| a~b % said
\frac12 x^12 3.14.15 1, 2 é ∑ "quoted" <b>
\unknown{x}
{a
a & b
\hat\hat\hat x
\displaystyle\sum_{k}^{n} \big( x \big) \underline{x} \begin{array}{cc} 1 & 2 \\ \hline 3 & 4 \end{array}
""".strip().splitlines()
    + ["{" * 70 + "x" + "}" * 70, r"\hat" * 70 + "x"]
)
CODE = {
    "python": '@cached\ndef f(x: int = 0x1F) -> str:\n    """Doc <b>."""\n    return f"a{x}" + \'b\' + rb"c"  # y\n',
    "ts": "const a: number = 1_000; // one\n/* two */ let b = `x${a}` + f('y');\n",
    "rust": '#[derive(Debug)]\nfn main() { let mut x: u8 = 0b11; println!("{}", x); }\n',
    "c": "#include <stdio.h>\nint main(void) { return 1.5e3; /* open",
    "bash": "#!/bin/sh\nfor f in $HOME ${X}; do echo \"$f\" --long -s 'a'; done # end\na#b\n",
    "sql": "SELECT count(*) FROM t WHERE a = 'it''s' -- why\n",
    "json": '{"a": [1, -2.5e3, true, null], "b" : "c\\"d"}',
    "yaml": 'a: 1 # one\n- b-c: &x yes\n  d: *x\n[tool.x]\nk = "v"\n',
    "html": '<!-- x --><p class="a" id=b>&amp; <br/></p>',
    "css": "@media x { .a:hover, #b { color: #fff; --x: 1px; margin : 0 !important } }",
    "ruby": "def a(b) :sym @c 'd' end # e\n",
    "php": "<?php $a = f('b'); # c\n// d\n",
    "diff": "@@ -1 +1 @@\n-a\n+b\n c",
    "unknown": "def f(): <b>",
}


@pytest.fixture(scope="module")
def page(browser: Any, bundle: Callable[[str, str], str]) -> Iterator[Any]:
    page = browser.new_page()
    page.add_script_tag(content=bundle("src/markdown/index.ts", "markdown"))
    yield page
    page.close()


def both(page: Any, source: str, what: str) -> list[str]:
    """What the page draws and what stands in the file, as a browser reads it."""
    read = """([source, file, what]) => [markdown.blocks(source).join(""), file].map((html) => {
        const box = document.createElement("div");
        box.innerHTML = html;
        return box.querySelector(what).innerHTML.trimEnd();
    })"""
    return page.evaluate(read, [source, html_of_markdown(source), what])


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("around", ["$${}$$", "$$\n{}\n$$", "so \\({}\\) is"])
def test_formulas_are_those_of_the_page(page: Any, formula: str, around: str):
    here, there = both(page, around.replace("{}", formula, 1), ".math")
    assert here == there


@pytest.mark.parametrize("name", CODE)
def test_colours_are_those_of_the_page(page: Any, name: str):
    here, there = both(page, f"```{name}\n{CODE[name].rstrip()}\n```", "pre code")
    assert here == there
    assert ("tok-" in here) is (name != "unknown")


def test_two_formulas_in_a_line_are_two(page: Any):
    for html in (
        str(page.evaluate("markdown.blocks('$$a$$ and $$b$$').join('')")),
        html_of_markdown("$$a$$ and $$b$$"),
    ):
        assert html.count("<math") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_file_in_a_browser(browser: Any, tmp_path: Path, axe: Callable[..., list[str]], scheme: str):
    events = [ev.RunStarted("Compare"), ev.AnswerDone(RICH, "loop"), ev.RunFinished("answer", RICH)]
    file = tmp_path / "run.html"
    file.write_text(html_of([[ev.Record("r", seq, 1.8e9, event) for seq, event in enumerate(events)]]), "utf-8")
    context = browser.new_context(color_scheme=scheme)
    page, asked = context.new_page(), list[str]()

    def note(request: Any) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(file.as_uri())
    assert asked == [file.as_uri()]
    assert page.locator(".answer math").count() == 2
    assert page.locator(".answer mfrac").first.bounding_box()["height"] > 20, "drawn above each other"
    colours = "[...document.querySelectorAll('.answer pre span')].map((one) => getComputedStyle(one).color)"
    assert len(set(page.evaluate(colours))) >= 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []
    context.close()
