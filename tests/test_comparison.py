"""docs/comparison.md: a test shows each feature of ours, and a named file shows each feature of another engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from named_tests import ROOT, check_row
from script_modules import load_script

check = load_script("check_comparison")

PAGE = (ROOT / "docs" / "comparison.md").read_text("utf-8")
ENGINES = check.engines_of(PAGE)
CITATIONS = check.citations_of(PAGE)
SECTIONS = [section.partition("\n") for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize(("feature", "body"), [(feature, body) for feature, _, body in SECTIONS])
def test_features_name_a_test_and_an_engine(feature: str, body: str):
    _, ours, _, *others = body.splitlines()
    assert ours.startswith("Treadle: ")
    check_row(ours)
    lines = [line for line in others if line]
    assert lines
    assert len(lines) == sum(citation.feature == feature for citation in CITATIONS), "a line that cannot be read"


def test_engines_are_cited_with_their_versions():
    assert len(ENGINES) == 8
    assert all(packages for packages in ENGINES.values())
    assert {citation.engine for citation in CITATIONS} == set(ENGINES)
    assert len({(citation.feature, citation.engine) for citation in CITATIONS}) == len(CITATIONS)


def test_absence_is_not_claimed():
    assert len(SECTIONS) >= 10
    assert re.findall(r"not found|: no\b", PAGE) == []


@pytest.mark.parametrize(
    ("name", "cited"),
    [
        ("Agent", True),
        ("Agent.cost", True),
        ("run", True),
        ("Agent.run", False),
        ("Missing", False),
        ("Missing.cost", False),
        ("cos", False),
    ],
)
def test_names_are_looked_up_in_their_class(name: str, cited: bool):
    source = "class Agent:\n    cost = 1\n\nclass Other:\n    def run(self): ...\n"
    assert check.names_it(source, name) is cited


def test_wrong_citations_are_reported(tmp_path: Path):
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "agent.py").write_text("class Agent: ...")
    page = "## Agents\n\n- Loom: `engine/agent.py` `Agent`\n- Loom: `engine/agent.py` `Team`\n- Loom: `team.py` `Team`"
    assert check.problems_in(check.citations_of(page), tmp_path) == [
        "Agents: Loom: engine/agent.py does not name Team",
        "Agents: Loom: team.py does not exist",
    ]


def test_packages_are_read_from_the_table():
    page = "| engine | packages |\n|---|---|\n| Loom | loom 1.2.3, @loom/mcp 0.4.0b1 (npm) |\n"
    [packages] = check.engines_of(page).values()
    assert [(package.name, package.version, package.npm) for package in packages] == [
        ("loom", "1.2.3", False),
        ("@loom/mcp", "0.4.0b1", True),
    ]
