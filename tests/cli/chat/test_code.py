"""`treadle code`: work on files that can be looked at, taken back and brought into the person's folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cli.terminal import Terminal, call, script, start, treadle
from waiting import eventually

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


def test_each_step_is_undone_with_its_files(project: Path):
    """Going back through the steps that changed something, then the question; what follows begins there."""
    back = ("/undo step", "/diff")
    replies = (EDIT, AGAIN, "Three.", "Really.", AGAIN, "Three again.", "Really.")
    out = code(project, "make it three", *back, "do it again", "/diff", *back, *back, *back, replies=replies)
    said = [line for line in out.splitlines() if "undone" in line or line[:4] == "+x =" or "forgotten" in line]
    step, question = "step {} and what came after it are undone", "the last question and its answer are forgotten"
    two = "+x = 2"
    assert [line.partition(",")[0] for line in said] == [
        step.format(2), two, "+x = 3", step.format(1), two, question, two, step.format(1),
    ]  # fmt: skip
    assert out.endswith("no files were changed\n")


def test_a_later_session_goes_on_from_before_the_undone_step(project: Path):
    code(project, "make it three", "/undo 2", replies=(EDIT, AGAIN, "Three.", "Really."))
    out = code(project, "/diff", "/undo 9", "/diff", options=("--continue",))
    assert out.count("-x = 1\n+x = 2\n") == 2


def test_another_folder_has_other_conversations(project: Path):
    code(project, "q", replies=("answer",))
    (project / "other").mkdir()
    state = {"TREADLE_STATE": str(project / "state"), "HOME": str(project)}
    done = treadle(project / "other", "code", "-w", "copy", "--continue", stdin="x\n", **state)
    assert done.code == 2
    assert "treadle code starts one" in done.err
    assert treadle(project, "chat", "--continue", stdin="x\n").code == 2


def test_a_session_at_a_terminal_to_its_end(project: Path):
    """Edit and tests, undone by a key and done again, with the cost, what the cache gave, and the final lines."""
    (project / "test.sh").write_text("grep -q 'x = 2' a.py\n")
    check = call("bash", command="sh test.sh && echo fine # pytest")
    replies = (EDIT, check, "Two.", EDIT, "Two again.", "Tests were not run.")
    model = script(project, *replies)
    with Terminal(project, "code", "-w", "copy", "-y", "-m", model) as terminal:
        terminal.wait_for_prompt()
        terminal.type("make it two\r")
        terminal.wait_for("[tests: ")
        terminal.wait_for_prompt()
        assert "[changed: a.py (+1 -1)]" in terminal.text
        assert "passed]" in terminal.text
        terminal.type("half a line\x1f")
        terminal.wait_for("step 1 and what came after it are undone")
        terminal.wait_for_prompt()
        terminal.forget()
        terminal.type("/diff\r")
        terminal.wait_for("no files were changed")
        terminal.wait_for_prompt()
        terminal.type("once more\r")
        terminal.wait_for("[tests: none were run]")
        terminal.wait_for_prompt()
        assert " tokens" in terminal.text
        terminal.type("/apply\r")
        terminal.wait_for("1 file changed in")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert (project / "a.py").read_text() == "x = 2\n"


def test_two_sessions_at_once_in_worktrees_of_one_repository(project: Path):
    """Each works on its own checkout while the other is open; both bring their changes into the same folder."""
    (project / "b.py").write_text("y = 1\n")
    for line in ("init -q", "add a.py b.py", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", *line.split()], cwd=project, check=True)
    options = ("code", "-w", "worktree", "-y", "-m")
    first = script(project, EDIT, "Two.", "Really.", name="first")
    second = script(project, call("edit", path="b.py", old="1", new="2"), "Two.", "Really.", name="second")
    with start(project, *options, first, "make it two", stdin=subprocess.PIPE) as one:
        assert one.stdout is not None
        shown = next(line for line in one.stdout if line.startswith("[tests:"))
        done = treadle(project, *options, second, "make b two", stdin="/diff\n/apply\n")
        assert "a.py" not in done.out
        assert (project / "a.py").read_text() == "x = 1\n"
        out, _ = one.communicate("/diff\n/apply\n")
    assert "none were run" in shown
    assert "b.py" not in out.partition("changed in")[0]
    assert [(project / name).read_text() for name in ("a.py", "b.py")] == ["x = 2\n", "y = 2\n"]


def test_a_session_is_stopped_in_the_middle_of_a_command_and_killed_in_another(project: Path):
    """What the command had written until then is shown, and is a step that a key takes back; its rest is not run."""
    slow = call("bash", command="echo half > b; sleep 1000; echo whole > b")
    model = script(project, EDIT, slow, "never")

    def written() -> int:
        return sum(path.read_text() == "half\n" for path in project.glob("state/*.trees/runs/*/b"))

    with Terminal(project, "code", "-w", "copy", "-y", "-m", model) as terminal:
        terminal.wait_for_prompt()
        terminal.type("make it two\r")
        terminal.wait_for("sleep 1000")
        eventually(written, "the first half")
        terminal.ctrl_c()
        terminal.wait_for("cancelled")
        terminal.wait_for_prompt()
        for seen, undone in (("+half", "step 2"), ("+x = 2", "step 1")):
            terminal.forget()
            terminal.type("/diff\r")
            terminal.wait_for(seen)
            terminal.wait_for_prompt()
            assert "+whole" not in terminal.text
            terminal.type("\x1f")
            terminal.wait_for(f"{undone} and what came after it are undone")
            terminal.wait_for_prompt()
        terminal.type("/quit\r")
        assert terminal.end() == 0
    with Terminal(project, "code", "-w", "copy", "-y", "-m", model) as terminal:
        terminal.wait_for_prompt()
        terminal.type("make it two\r")
        terminal.wait_for("sleep 1000")
        eventually(lambda: written() == 2, "the first half")
        terminal.kill()
    again = script(project, "Half of it.", "Really.", name="again")
    done = treadle(project, "code", "-w", "copy", "--continue", "-m", again, stdin="/diff\n")
    assert "outcome unknown" in done.err, "the run that was killed goes on"
    assert "+half" in treadle(project, "runs", "diff", "last", "2").out
    assert "+half" in done.out
    assert "+whole" not in done.out
