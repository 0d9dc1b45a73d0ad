"""Colours for code."""

from __future__ import annotations

import re
import time

import pytest

from treadle._journal.pages.colours import coloured

LENGTH = 5_000


def kinds(code: str, name: str) -> list[tuple[str, str]]:
    return re.findall(r'<span class="tok-(\w)">([^<]*)</span>', coloured(code, name))


def test_each_thing_has_its_class():
    code = "@cached\ndef f(x):\n    return 'a' + str(1.5)  # why"
    assert kinds(code, "python") == [
        ("f", "@cached"),
        ("k", "def"),
        ("f", "f"),
        ("k", "return"),
        ("s", "&#x27;a&#x27;"),
        ("f", "str"),
        ("n", "1.5"),
        ("c", "# why"),
    ]
    assert kinds("SELECT a -- b\nFROM t", "SQL") == [("k", "SELECT"), ("c", "-- b"), ("k", "FROM")]
    assert kinds("+a\n-b\n c", "diff") == [("i", "+a"), ("d", "-b")]


@pytest.mark.parametrize("name", ["", "unknown", "text"])
def test_what_it_does_not_know_is_plain(name: str):
    assert coloured("def f(): <b>", name) == "def f(): &lt;b&gt;"


def test_a_text_without_end_has_no_elements_without_end():
    assert coloured("1 " * 20_000, "python").count("<span") == 2000
    assert "<span" not in coloured("1 " * 40_000, "python")


@pytest.mark.parametrize("name", ["py", "ts", "c", "sh", "sql", "json", "yaml", "html", "css", "rb", "php", "diff"])
def test_nothing_of_the_code_is_a_tag_or_lost(name: str):
    code = "<script>'<b>' \"<i>\" #<u> //<s> <!-- <em> /* <p> def f(1) & &lt; $x --y\n" * 3
    html = coloured(code, name)
    assert {*re.findall(r"<[^>]*>", html)} <= {f'<span class="tok-{kind}">' for kind in "acdfikns"} | {"</span>"}
    assert len(re.sub(r"<[^>]*>", "", html)) > len(code)


@pytest.mark.parametrize("name", ["py", "ts", "c", "sh", "sql", "json", "yaml", "html", "css", "rb", "php"])
@pytest.mark.parametrize(
    "unit", ["\n", " ", "-", "a", "a-", '"', "'", "/*", "\\", "[", "<!--", "#", "0", "- ", "a:", '""" ', "${"]
)
def test_code_takes_time_in_proportion_to_its_length(name: str, unit: str):
    """Four times the length takes about four times as long, and not sixteen times."""

    def taken(length: int) -> float:
        code = unit * (length // len(unit))
        best = 1e9
        for _ in range(2):
            before = time.process_time()
            coloured(code, name)
            best = min(best, time.process_time() - before)
        return best

    assert taken(4 * LENGTH) < 9 * taken(LENGTH) + 0.05
