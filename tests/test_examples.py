"""Every example runs to its end, and none is long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from programs import run_programs

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("[0-9]*.py"))
NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("[0-9]*.ipynb"))


def test_examples(tmp_path: Path):
    done = run_programs({path.stem: str(path) for path in EXAMPLES}, tmp_path, PATH=os.environ["PATH"])
    failed = [f"{name}\n{ran.out}{ran.err}" for name, ran in done.items() if ran.code]
    assert failed == [], "\n".join(failed)
    assert [path.name for path in EXAMPLES if len(path.read_text("utf-8").splitlines()) > 60] == []


def test_examples_have_numbers_of_their_own():
    numbers = [int(path.stem[:2]) for path in (*EXAMPLES, *NOTEBOOKS)]
    assert len(set(numbers)) == len(numbers) >= 10


CAPABILITIES = {
    "24_skills": "skills",
    "25_agents_md": "terminal",
    "26_proof": "proofs",
    "27_memory": "memory",
    "28_many_tools": "many_tools",
    "29_handoff": "agents",
    "30_background": "agents",
    "31_guardrails": "guardrails",
    "32_research": "research",
    "33_personal_data": "personal_data",
    "34_data_analysis": "code",
}


@pytest.mark.parametrize(("example", "page"), CAPABILITIES.items())
def test_what_an_agent_can_be_given_has_a_program_and_a_page_that_names_it(example: str, page: str):
    folder = EXAMPLES[0].parent
    assert (folder / f"{example}.py") in EXAMPLES
    assert f"examples/{example}" in (folder.parent / "docs" / "howto" / f"{page}.md").read_text("utf-8")
