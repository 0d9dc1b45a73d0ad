"""The report: figures, Markdown, and an HTML page that loads nothing else."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from treadle._inspect.evals.report import html, make_report, markdown
from treadle._inspect.evals.runner import Trial
from treadle._types.usage import Usage

HOSTILE = "<script>alert(1)</script> | `x` [l](javascript:1)\nsecond line"


def trial(
    variant: str,
    task: str,
    passed: bool,
    *,
    repeat: int = 0,
    answer: str = "fine",
    kind: str = "single",
    split: str = "dev",
) -> Trial:
    return Trial(
        variant, task, kind, split, repeat, passed, f"run{variant}{task}{repeat}" + "0" * 20, f"question {task}",
        answer=answer, problems=() if passed else ("the answer lacks 3",), stop_reason="answer", dialect="schema",
        calls=("calculator",), elapsed=2.0 + repeat, usage=Usage(100, 20, cached_tokens=50, requests=2, cost=0.001),
    )  # fmt: skip


TRIALS = [
    trial("A", "t1", True),
    trial("A", "t1", False, repeat=1),
    trial("A", "t2", True, kind="chain", split="held"),
    trial("A", "t2", True, repeat=1, kind="chain", split="held"),
    trial("B", "t1", False, answer=HOSTILE),
]


def test_figures():
    report = make_report("mine", TRIALS)
    first, second = report.figures
    assert (first.variant, str(first.shares["all"])) == ("A", "1.5/2 = 75 % (20 to 97)")
    assert {name: share.value for name, share in first.shares.items()} == {
        "all": 0.75,
        "single": 0.5,
        "chain": 1.0,
        "dev": 0.5,
        "held": 1.0,
    }
    assert (first.flaky, first.seconds, first.total_seconds) == (1, 2.5, 10.0)
    assert (first.requests, first.tokens, first.cached_share, first.cost) == (2, 120, 0.5, pytest.approx(0.004))
    assert (second.shares["all"].value, second.flaky) == (0.0, 0)


def test_markdown():
    text = markdown(make_report("mine: solved", TRIALS, {"repeats": "2"}))
    assert text.startswith("# mine: solved\n")
    assert "- repeats: 2" in text
    head = "|  | all | single | chain | dev | held |\n| --- | --- | --- | --- | --- | --- |\n"
    assert head + "| A | 1.5/2 = 75 % (20 to 97) |" in text
    assert "| A | schema | 2.5 | 10 | 2.0 | 120 | 50 % | $0.0040 | 1 |" in text
    row = next(line for line in text.splitlines() if "second line" in line)
    assert row.count(" | ") == 8, "what a model wrote must not add columns"
    assert "\\<script\\>" in row
    assert "runBt10" in row
    assert text.index("| failed |") < text.index("| passed |")


def test_the_page():
    page = html(make_report("mine <b>", TRIALS))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<title>mine &lt;b&gt;</title>" in page
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page)
    for one in TRIALS:
        assert f'id="run-{one.run_id}"' in page
        assert f'title="treadle runs show {one.run_id}"' in page
    assert page.count('class="failed"') == 2
    open_tags: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "rect", "line", "path"):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in ("meta", "rect", "line", "path"):
                assert open_tags.pop() == tag

    Balanced().feed(page)
    assert not open_tags
