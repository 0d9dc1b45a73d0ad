"""No prompt, example or rule uses names or numbers of a task set: what was fitted to tasks does not carry over.

The sets are all of `lab/evals`. Small numbers and words of everyday language are
in every text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, cast

import pytest

import treadle
from lab_kit import LAB

EVALS = LAB / "evals"
WITH_PROMPTS = (
    "treadle._dialects",
    "treadle._plugins",
    "treadle._engine.answering",
    "treadle._engine.loop",
    "treadle._local",
)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            yield from texts_in(key)
            yield from texts_in(item)
    elif isinstance(value, (tuple, list)):
        for item in cast("list[Any]", value):
            yield from texts_in(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def prompts() -> str:
    """All constants with texts that a model may be shown."""
    found: list[str] = []
    for module in walk_packages(treadle.__path__, "treadle."):
        if module.name.startswith(WITH_PROMPTS):
            constants = vars(import_module(module.name)).items()
            for name, value in constants:
                texts = list(texts_in(value)) if name.isupper() else []
                in_words = any(" " in text and re.search("[a-z]", text) for text in texts)
                found += texts if in_words else []  # numbers alone are a setting
    return "\n".join(found)


def task_lines() -> list[str]:
    return [line for path in EVALS.rglob("*.jsonl") for line in path.read_text().splitlines()]


def tasks() -> str:
    return "\n".join([*task_lines(), *(path.read_text() for path in (EVALS / "worlds").glob("*.py"))])


def tool_names() -> set[str]:
    return {name for line in task_lines() for name in json.loads(line).get("tools") or ()}


KINDS = {
    "a name": r"(?<=[a-z,:'\"] )[A-Z][a-z]+\b",
    "a number": r"(?<![\w.])\d{2,}(?:\.\d+)?(?!\w)",
    "an id": r"\b[A-Z]{1,4}-?\d+\b",
}
RECORDED = {
    "a name": {"France", "Rome", "Tom"},
    "a number": {"12", "42", "60", "91"},
    "an id": set[str](),
    "a tool": {"opening_hours"},
}
"""What stands in examples that are older than this rule, or than the set of tasks that has it too (91: a harvest of
`vineyard`, written by somebody who had not seen the prompts). Recorded runs have to render the same requests again, so
they stay as they are (`tests/journal/test_journal_0_1.py`); a new prompt has none of it."""
GENERAL = {"Action", "Python", "JSON"}
"""Words that name a form, not a thing of a task."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_prompt_has_a_name_or_a_number_of_a_task(kind: str):
    ours, theirs = (set(re.findall(KINDS[kind], text)) for text in (prompts(), tasks()))
    assert theirs, "the tasks have some"
    assert (ours & theirs) - GENERAL == RECORDED[kind]


def test_no_prompt_names_a_tool_of_a_task():
    text = prompts()
    assert "newest_record" in text
    assert "accession_record" in tool_names(), "a tool of a later set"
    assert {name for name in tool_names() if re.search(rf"\b{name}\b", text)} == RECORDED["a tool"]
