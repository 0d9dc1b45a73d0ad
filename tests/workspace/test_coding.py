"""The preset for work on code: it knows the folder, tests what it has changed, and says at the end what that was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel
from treadle._engine.receipts.work import TEST_PROGRAMS
from treadle._journal import open_journal
from treadle._tools.builtin.workfolder import WorkFolder
from treadle._types.messages import text_of
from treadle._workspace.coding import Coding
from treadle._workspace.repo_map import command_for_tests, repository_map
from treadle._workspace.workspace import Workspace

WRONG = "def area(w, h):\n    return w + h\n"
TEST = "from area import area\nassert area(2, 3) == 6\n"
EDIT = call("edit", path="area.py", old="w + h", new="w * h")
RUN = call("bash", command="python3 tests/test_area.py && echo ok # pytest")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "tests").mkdir(parents=True)
    (source / "area.py").write_text(WRONG)
    (source / "tests" / "test_area.py").write_text(
        f"import sys; sys.path.insert(0, '.'); sys.dont_write_bytecode = True\n{TEST}"
    )
    return source


def work(folder: Path, *replies: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(list(replies))
    journal = open_journal(str(folder.parent / "journal.db"))

    async def main() -> Any:
        agent = Agent(
            model,
            preset="coding",
            workspace=Workspace(folder, backend="copy"),
            plugins=[Coding(allow="*")],
            journal=journal,
        )
        try:
            return await agent.run("area is wrong")
        finally:
            await journal.aclose()

    return go(main()), model


def said(model: ScriptedModel) -> list[str]:
    return [text_of(message.content) for message in model.requests[-1].messages if message.role == "user"]


def test_the_end_says_what_changed_and_what_the_tests_said(folder: Path):
    result, model = work(folder, EDIT, RUN, "It multiplies now.")
    assert result.answer.startswith("It multiplies now.\n\n[changed: area.py (+1 -1)")
    assert result.answer.endswith("passed]")
    assert (folder / "area.py").read_text() == WRONG, "the person's own file is as it was"
    assert sum("area.py: area" in text for text in said(model)) == 1, "the map is told once"


def test_who_has_not_tested_a_change_is_asked_to_once(folder: Path):
    result, model = work(folder, EDIT, "Done.", "Done, not tested.")
    assert sum("no tests since" in text or "since tests were last run" in text for text in said(model)) == 1
    assert result.answer.endswith("[tests: none were run]")
    again = call("edit", path="area.py", old="w * h", new="h * w")
    result, model = work(folder, EDIT, RUN, again, "Done.", "Done.")
    assert result.answer.endswith("passed, before the last change]")


def test_who_changes_nothing_is_not_asked(folder: Path):
    result, model = work(folder, call("read", path="area.py"), "It adds.")
    assert result.answer == "It adds."
    assert len(model.requests) == 2


def test_without_a_workspace_its_tools_say_what_is_missing():
    result = go(Agent(ScriptedModel([call("glob", pattern="*"), "none"]), preset="coding").run("q"))
    assert "Agent(..., workspace='FOLDER')" in result.steps[0].observation


def test_a_map_has_names_within_its_bound(tmp_path: Path):
    for number in range(300):
        (tmp_path / f"d{number % 7}").mkdir(exist_ok=True)
        (tmp_path / f"d{number % 7}" / f"m{number}.py").write_text(
            f"class C{number}:\n    def inner(self): ...\ndef f(): ...\n"
        )
    (tmp_path / "main.go").write_text("package main\nfunc Run() {}\n")
    text = repository_map(WorkFolder(tmp_path), 2_000)
    assert text.startswith("main.go: Run\nd0/m0.py: C0, f\n")
    assert len(text) < 2_300
    assert "more files in d6]" in text
    assert text == repository_map(WorkFolder(tmp_path), 2_000)


def test_how_tests_are_run_is_found_and_recognized(tmp_path: Path):
    assert command_for_tests(WorkFolder(tmp_path)) == ""
    (tmp_path / "Makefile").write_text("all:\n\ntest:\n\tpytest\n")
    assert command_for_tests(WorkFolder(tmp_path)) == "make test"
    (tmp_path / "Cargo.toml").write_text("")
    assert command_for_tests(WorkFolder(tmp_path)) == "cargo test"
    tests = [
        "pytest -q",
        "python -m pytest x",
        "npm run test:unit",
        "cd a && cargo test",
        "python3 -m unittest",
        "make check",
    ]
    others = ["ls tests", "python a.py", "make build; ls test", "git commit -m 'go'", "npm install"]
    assert [line for line in tests if not TEST_PROGRAMS.search(line)] == []
    assert [line for line in others if TEST_PROGRAMS.search(line)] == []
