"""What reads text from outside takes a time that grows with its length, not with the square of it.

Every pattern of the source is found with how it is called, and tried with texts made from the pattern itself. Readers
that are written by hand are listed in `readers.py`, each with the texts that its kind of reader is slow for.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

import treadle
from safety.growth import FEW, SIZES, patterns_in, texts_for, too_fast_growing
from safety.readers import READERS
from treadle._tools import results
from treadle._tools.media.office import MAX_TEXT, office_text

SOURCE = Path(treadle.__file__).parent
ESCAPED, OURS, PERSON = (
    "a text as it is",
    "a constant, looked for in a short text",
    "written by the person",
)
BUILT = {
    "_config/components.py:transformed": ESCAPED,
    "_dialects/code.py:_is_python": ESCAPED,
    "_dialects/code.py:find_code": "tried below, as a reply in the dialect code",
    "_dialects/reading/placement.py:_enclosed": ESCAPED,
    "_dialects/reading/reply.py:_prose": "looks at 40 characters",
    "_dialects/reading/thinking.py:_close": "tried below, as a reply without its thoughts",
    "_dialects/watching/prose.py:_line_starts": "tried below, as a reply that is shown while it comes",
    "_dialects/watching/prose.py:_stops": "tried below, as a reply that is shown while it comes",
    "_engine/acting/picking.py:_holds": ESCAPED,
    "_engine/acting/picking.py:text_like": ESCAPED,
    "_engine/acting/user_words.py:UserWords": ESCAPED,
    "_inspect/evals/checks.py:evaluate_check": PERSON,
    "_inspect/evals/tasks.py:_check_task": PERSON,
    "_inspect/why/candidates.py:_stands": ESCAPED,
    "_inspect/why/patches.py:_edit": ESCAPED,
    "_local/guards/numbers_and_ids.py:mentions": ESCAPED,
    "_local/weights/hub.py:pick": OURS,
    "_models/catalog/profiles.py:_first": OURS,
    "_models/transport/decision.py:_pattern": ESCAPED,
    "_models/transport/failures.py:_matches": "tried below, as the error of a provider",
    "_plugins/evidence/support.py:_claims": ESCAPED,
    "_plugins/guards/guardrail.py:forbid_patterns": PERSON,
    "_plugins/mcp.py:named_in": ESCAPED,
    "_safety/key_shapes.py:_compiled": "tried below, as secrets in a text",
    "_safety/personal/kinds.py:Finder": ESCAPED,
    "_safety/personal/national_ids.py:_rule": "tried below, as personal data in a text",
    "_server/mcp/values.py:McpResource": "looks at addresses of bounded length",
    "_testing/examples.py:_object": OURS,
    "_testing/examples.py:_is_in": OURS,
    "_testing/examples.py:text_for_pattern": PERSON,
    "_tools/base.py:Tool": PERSON,
    "_tools/mcp/content.py:_structured": ESCAPED,
}
"""Patterns that are put together of what a function is given, and why none of them is slow."""


@pytest.mark.parametrize("sizes", [FEW, pytest.param(SIZES, marks=pytest.mark.long)], ids=["few", "all"])
def test_no_pattern_takes_the_square_of_a_text(sizes: tuple[int, ...]):
    uses, built = patterns_in(SOURCE)
    assert len(uses) > 300
    assert built == {*BUILT}
    slow = {
        f"{use.where} {use.method}": f"{make(20)!r}: {grown}"
        for use in uses
        for make in texts_for(use)
        if (grown := too_fast_growing(use.reader(), make, sizes))
    }
    assert slow == {}


@pytest.mark.parametrize("sizes", [(1_250, 10_000), pytest.param(SIZES, marks=pytest.mark.long)], ids=["few", "all"])
def test_no_reader_takes_the_square_of_a_text(sizes: tuple[int, ...]):
    slow = {
        f"{name}: {make(20)!r}": grown
        for name, (read, makers) in READERS.items()
        for make in makers
        if (grown := too_fast_growing(read, make, sizes))
    }
    assert slow == {}


def test_sheets_that_name_one_part_are_read_once():
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        rows = "<row><c><v>7</v></c></row>" + "<row></row>" * 1_000  # long to read, and nearly no text
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{rows}</sheetData></worksheet>")
        sheets = "".join(f'<sheet name="s{number}" r:id="r1"/>' for number in range(10_000))
        archive.writestr("xl/workbook.xml", f'<workbook xmlns:r="r"><sheets>{sheets}</sheets></workbook>')
        rels = '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>'
        archive.writestr("xl/_rels/workbook.xml.rels", rels)
    text = office_text(packed.getvalue())
    assert text.startswith("# s0\n7\n")
    assert text.endswith("[the rest of the file is left out]")
    assert len(text) < MAX_TEXT + 100


KINDS: dict[str, Callable[[str], Any]] = {
    "str": str, "bytes": lambda text: text.encode(), "part": lambda text: [results.TextPart(text)],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_result_is_cut_before_it_is_looked_at(kind: str):
    content, full, _ = results.render(KINDS[kind]("é" * (results.LARGEST * 5)), (), 1_000)
    assert full is not None
    assert len(full) <= results.LARGEST
    assert "characters left out" in str(content)
