"""`treadle runs diff`, `restore` and `apply`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kit import call, go

from treadle import Agent, ScriptedModel, open_journal, tool
from treadle._cli.main import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, and a run in a copy of it that has changed three files in two steps."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    monkeypatch.chdir(tmp_path)

    @tool
    async def change(name: str, text: str) -> str:
        """Write a file."""
        (next((tmp_path / "runs.db.trees" / "runs").iterdir()) / name).write_text(text)
        return "done"

    calls = [call("change", name="a.txt", text="1\n"), call("change", name="c.txt", text="three\n")]
    journal = open_journal(tmp_path / "runs.db")
    go(Agent(ScriptedModel([*calls, "done"]), [change], workspace=folder, journal=journal).run("go"))
    return folder


def runs(*words: str) -> int:
    return main(["runs", "--journal", "runs.db", *words])


def test_differences_of_steps(project: Path, capsys: pytest.CaptureFixture[str]):
    assert runs("diff", "last") == 0
    assert capsys.readouterr().out == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+three\n"
    )
    assert runs("diff", "last", "2") == 0
    assert "a.txt" not in (out := capsys.readouterr().out)
    assert "+three" in out
    assert runs("diff", "last", "3") == 0
    assert capsys.readouterr().out == "nothing changed\n"


def test_files_of_a_step_are_restored_into_a_folder(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert runs("restore", "last", "1", "--to", "there") == 0
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["a.txt", "b.txt"]
    assert runs("restore", "last", "--to", "there") == 2, "what is there is asked about"
    assert runs("restore", "last", "--to", "there", "--yes") == 0
    assert (tmp_path / "there" / "c.txt").read_text() == "three\n"
    assert runs("restore", "last", "--to", "there") == 0
    assert "already" in capsys.readouterr().out


def test_changes_are_applied_beside_those_of_the_person(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "b.txt").write_text("the person's\n")
    assert runs("apply", "last") == 2
    assert "+three" in capsys.readouterr().out
    assert not (project / "c.txt").exists()
    assert runs("apply", "last", "--yes") == 0
    assert [(project / f"{name}.txt").read_text() for name in "abc"] == ["1\n", "the person's\n", "three\n"]
    (project / "a.txt").write_text("another\n")
    assert runs("apply", "last", "--yes") != 0
    assert "a.txt" in capsys.readouterr().err
    assert (project / "a.txt").read_text() == "another\n"
