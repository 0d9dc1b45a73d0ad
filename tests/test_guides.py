"""What newcomers read about the code is true: paths exist, the checks before a commit are those of the tests."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from treadle import testing
from treadle._dialects.registry import _LAZY_IMPORTS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "treadle"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
INTERNALS = sorted((ROOT / "docs" / "internals").glob("*.md"))


def paths_in(page: Path) -> list[str]:
    """Everything in backticks that looks like a file or a folder."""
    return [
        text
        for text in re.findall(r"`([^`\s]+)`", page.read_text("utf-8"))
        if re.fullmatch(r"[\w./-]+(\.py|\.md|/)", text) and not text.startswith("/") and "NAME" not in text
    ]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_paths_exist(name: str):
    paths = paths_in(ROOT / name)
    assert len(paths) > 10
    bases = (ROOT, SOURCE, *SOURCE.rglob("*"))
    assert [path for path in paths if not any((base / path).exists() for base in bases)] == []


@pytest.mark.parametrize("page", INTERNALS, ids=lambda page: page.stem)
def test_paths_of_a_folder_exist(page: Path):
    folder = SOURCE / f"_{page.stem}"
    bases = (ROOT, SOURCE, *(folder if folder.exists() else SOURCE).rglob("*"), folder)
    assert [path for path in paths_in(page) if not any((base / path).exists() for base in bases)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_tests_that_are_named_exist(page: Path):
    """As a path in backticks, alone or after `pytest`, with or without the name of a test."""
    named = re.findall(r"[`\s]((?:tests|benchmarks|scripts|examples|evals)/[\w./-]+)", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path.rstrip(".")).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "howto").glob("*.md")), ids=lambda page: page.stem)
def test_a_how_to_is_read_in_two_minutes(page: Path):
    assert len(page.read_text("utf-8").split()) <= 400


def test_every_folder_of_the_source_is_described():
    folders = {path.name.removeprefix("_") for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    index = (ROOT / "docs" / "internals" / "index.md").read_text("utf-8")
    assert set(re.findall(r"^- \[?`_(\w+)`", index, re.MULTILINE)) == folders


def test_the_checks_before_a_commit_are_those_of_the_tests():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    commands = [hook["entry"].split() for repo in config["repos"] for hook in repo["hooks"]]
    assert all(command[0] == ".venv/test/bin/python" for command in commands)
    modules = [tuple(command[2:4]) for command in commands if command[1] == "-m"]
    assert [module for module, _ in modules] == ["ruff", "ruff", "basedpyright"]
    assert all(importlib.util.find_spec(module) for module, _ in modules)
    assert [command[1] for command in commands if command[1] != "-m"] == ["scripts/gen_reference.py"]


def test_the_guide_to_testing_has_every_helper():
    guide = (ROOT / "docs" / "howto" / "test_an_agent.md").read_text("utf-8")
    helpers = [*testing.__all__, "agent.override", "record", "replay", "--treadle-record"]
    assert [name for name in helpers if not re.search(rf"(?<![\w.]){re.escape(name)}\b", guide)] == []


def test_every_dialect_is_on_the_page_about_them_and_in_the_setting():
    page = (ROOT / "docs" / "concepts" / "dialects.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(_LAZY_IMPORTS)
    setting = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    [line] = [line for line in setting.splitlines() if line.startswith("- `dialect=")]
    assert [name for name in _LAZY_IMPORTS if not re.search(rf"\b{name}\b", line)] == []


CHANGES = (ROOT / "CHANGELOG.md").read_text("utf-8")


def changelog_versions() -> dict[str, list[str]]:
    """Map each heading of a version to the lines below it that are not blank."""
    _, *sections = re.split(r"^## ", CHANGES, flags=re.MULTILINE)
    return {
        heading: [line for line in body.splitlines() if line]
        for heading, _, body in (section.partition("\n") for section in sections)
    }


def test_changelog_versions_are_dated_and_newest_first():
    headings = list(changelog_versions())
    released = headings[headings[0] == "Unreleased" :]
    assert released[-1].startswith("0.1.0 ")
    assert [heading for heading in released if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading)] == []
    assert released == sorted(released, reverse=True)


def test_changelog_is_short_and_grouped():
    for version, lines in changelog_versions().items():
        assert len(lines) <= 40, f"{version}: {len(lines)} lines"
        groups = [line.removeprefix("### ") for line in lines if line.startswith("#")]
        allowed = ["Added", "Changed", "Fixed", "Removed"]
        assert groups, version
        assert groups == [group for group in allowed if group in groups], f"{version}: {groups}"
    assert [line for line in CHANGES.splitlines() if len(line) > 120] == []


def test_no_codes_that_mean_nothing_to_a_reader():
    """Requirements are named in words: docs/behaviours.md lists them."""
    files = [path for folder in ("src", "tests", "docs", "examples") for path in (ROOT / folder).rglob("*.[pm][yd]")]
    code = re.compile(r"(?<![\w-])L\d+\b")  # the name of a model may have one inside: all-MiniLM-L6
    coded = [path.relative_to(ROOT).as_posix() for path in files if code.search(path.read_text("utf-8"))]
    assert len(files) > 300
    assert coded == []
