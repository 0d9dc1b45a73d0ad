"""An answer while it is written."""

from __future__ import annotations

import pytest

pytest.importorskip("rich")

from rich.console import Console

from treadle._cli.display.live import StreamedMarkdown, recent


def drawn(text: str, lines: int = 12, width: int = 40) -> list[str]:
    console = Console(width=width, record=True, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(StreamedMarkdown().of(text, lines))
    console.file.close()
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_it_is_markdown_from_the_first_words():
    assert drawn("The answer is **42**, see `x`") == ["The answer is 42, see x"]
    assert drawn("- one\n- tw")[-2:] == [" • one", " • tw"]
    assert drawn("half of a **bold wor") == ["half of a **bold wor"]


@pytest.mark.parametrize("text", ["1945.", "*", "+", "#", ">", "- *", "[1]: x", "1)\n2)"])
def test_marks_that_mark_nothing_are_shown(text: str):
    assert drawn(text) == [text.replace("\n", " ")]


def test_only_the_end_is_shown():
    text = "\n\n".join(f"paragraph {number}" for number in range(50))
    assert drawn(text, lines=3) == ["paragraph 48", "", "paragraph 49"]


def test_a_long_text_is_cut_where_a_paragraph_begins():
    text = "\n\n".join(f"paragraph {number}" for number in range(2000))
    cut = recent(text, 200)
    assert cut.startswith("paragraph ")
    assert text.endswith(cut)
    assert len(cut) <= 200
    assert recent("x" * 500, 200) == "x" * 200
    assert recent("short") == "short"


def test_code_stays_code_when_its_beginning_is_cut():
    code = "before\n\n```python\n" + "\n\n".join(f"line_{number} = 1" for number in range(200))
    assert recent(code, 300).startswith("```\nline_")
    assert not recent(code + "\n```\n\nafter\n\n" + "word " * 100, 300).startswith("```")
