"""`treadle code`: work on files that can be looked at, taken back and brought into the person's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.terminal import call, script, treadle

EDIT = call("edit", path="a.py", old="1", new="2")
AGAIN = call("edit", path="a.py", old="2", new="3")


@pytest.fixture
def project(home: Path) -> Path:
    (home / "a.py").write_text("x = 1\n")
    return home


def code(project: Path, *lines: str, options: tuple[str, ...] = (), replies: tuple[object, ...] = ()) -> str:
    model = ("-m", script(project, *replies)) if replies else ()
    done = treadle(project, "code", "-w", "copy", *model, *options, stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    return done.out


def test_what_is_done_is_shown_taken_back_and_brought_into_the_folder(project: Path):
    replies = (EDIT, "Two.", "Really.", AGAIN, "Three.", "Really.")
    out = code(project, "/diff", "make it two", "/diff", "make it three", "/diff", "/undo", "/diff", replies=replies)
    assert out.startswith("no files were changed\n")
    assert "[changed: a.py (+1 -1)]" in out
    parts = out.split("-x = 1\n")
    assert len(parts) == 4
    assert [part[:7] for part in parts[1:]] == ["+x = 2\n", "+x = 3\n", "+x = 2\n"]
    assert (project / "a.py").read_text() == "x = 1\n"
    out = code(project, "/apply", options=("--continue", "-y"))
    assert "1 file changed in" in out
    assert (project / "a.py").read_text() == "x = 2\n"


def test_a_first_question_is_taken_back_with_its_files(project: Path):
    replies = (EDIT, "Two.", "Really.", EDIT, "Two again.", "Really.")
    out = code(project, "/undo", "make it two", "/diff", options=("make it two",), replies=replies)
    assert out.count("Really.") == 2
    assert out.count("-x = 1\n+x = 2") == 1


def test_another_folder_has_other_conversations(project: Path):
    code(project, "q", replies=("answer",))
    (project / "other").mkdir()
    state = {"TREADLE_STATE": str(project / "state"), "HOME": str(project)}
    done = treadle(project / "other", "code", "-w", "copy", "--continue", stdin="x\n", **state)
    assert done.code == 2
    assert "treadle code starts one" in done.err
    assert treadle(project, "chat", "--continue", stdin="x\n").code == 2
