"""A run and the person at the keyboard: approval, Ctrl-C."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from cli.terminal import Terminal, call, interrupt, open_gate, recorded, script, start, treadle, until
from tools.builtin.loopback import redirecting
from waiting import GUARD_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


pytest.importorskip("rich")


DRAWN, PLAIN = "xterm-256color", "dumb"
"""Terminals with the display that draws, and with the plain one."""
DISPLAYS = pytest.mark.parametrize("term", [DRAWN, PLAIN])


def erased(home: Path) -> str:
    return (home / "erased.txt").read_text() if (home / "erased.txt").exists() else ""


def asking(home: Path, *arguments: str, term: str = "xterm-256color") -> Terminal:
    model = script(home, call("erase", path="a"), call("erase", path="b"), "done")
    return Terminal(home, "run", "q", "-m", model, "-t", "mytools:erase", *arguments, TERM=term)


@pytest.mark.parametrize(
    ("line", "code", "files", "term"),
    [("y", 0, "a\nb\n", DRAWN), ("no", 0, "", PLAIN), ("always", 0, "a\nb\n", PLAIN), ("later", 4, "", DRAWN)],
)
def test_approval_is_asked_for(home: Path, line: str, code: int, files: str, term: str):
    with asking(home, term=term) as screen:
        screen.wait_for('? erase {"path":"a"}')
        screen.wait_for("allow this call?")
        screen.type(line + "\n")
        if line in ("y", "no"):
            screen.wait_for('? erase {"path":"b"}')
            screen.type(line + "\n")
        assert screen.end() == code, screen.text
    assert erased(home) == files


@DISPLAYS
def test_only_a_whole_answer_and_enter_decide(home: Path, term: str):
    with asking(home, term=term) as screen:
        screen.wait_for("allow this call?")
        for line in ("please", "a different file", "yes but not that one", ""):
            screen.forget()
            screen.type(line + "\n")
            screen.wait_for("not an answer, nothing was decided; type one of: yes, no, always")
        screen.forget()
        screen.type("a")  # without Enter
        screen.type("\x7f")
        screen.type("no the wrong one\n")
        screen.wait_for('? erase {"path":"b"}')
        screen.type("l\n")
        assert screen.end() == 4
    assert erased(home) == ""
    assert [event["note"] for event in recorded(home, "approved")] == ["the wrong one"]


@DISPLAYS
def test_what_was_typed_before_the_question_does_not_answer_it(home: Path, term: str):
    model = script(home, call("gate", name="g"), call("erase", path="a"), "done")
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:gate", "-t", "mytools:erase", TERM=term) as screen:
        if term != "dumb":
            screen.wait_for("waiting at g")
        screen.type("y\nalways\n~\x7fy")
        screen.wait_for("~")  # the terminal itself has echoed it, so all of it is in its buffer
        open_gate(home, "g")
        screen.wait_for("allow this call?")
        screen.type("\n")
        screen.wait_for("not an answer")
        screen.type("l\n")
        assert screen.end() == 4
    assert erased(home) == ""


@DISPLAYS
def test_two_answers_at_once_answer_one_question(home: Path, term: str):
    with asking(home, term=term) as screen:
        screen.wait_for("allow this call?")
        screen.type("y\ny\n")
        screen.wait_for('? erase {"path":"b"}')
        screen.type("\n")
        screen.wait_for("not an answer")
        screen.type("no\n")
        assert screen.end() == 0
    assert erased(home) == "a\n"


@DISPLAYS
@pytest.mark.parametrize("way_out", ["ctrl-c", "ctrl-d", "closed"])
def test_who_leaves_has_not_approved(home: Path, way_out: str, term: str):
    with asking(home, term=term) as screen:
        screen.wait_for("allow this call?")
        screen.type("ye")
        if way_out == "closed":
            screen.close()
            screen.process.wait(GUARD_SECONDS)
        else:
            screen.type("\x03" if way_out == "ctrl-c" else "\x7f\x7f\x04")
            assert screen.end() == (130 if way_out == "ctrl-c" else 4), screen.text
    assert erased(home) == ""
    assert not any(event["allow"] for event in recorded(home, "approved"))


@DISPLAYS
def test_arguments_can_be_edited(home: Path, term: str):
    with asking(home, term=term) as screen:
        screen.wait_for("allow this call?")
        screen.type("e\n")
        screen.wait_for("change the arguments")
        screen.type('\x15{"file":"c"}\n')
        screen.wait_for("unknown argument 'file'; it takes: path")
        screen.type('\x15{"path":"c"}\n')
        screen.wait_for('? erase {"path":"c"}')
        assert erased(home) == ""
        screen.type("a\n")
        assert screen.end() == 0
    assert erased(home) == "c\nb\n"
    decided = recorded(home, "approved")
    assert [(event["args"], event["always"]) for event in decided] == [({"path": "c"}, True)]
    assert [event["call"]["args"]["path"] for event in recorded(home, "tool_started")] == ["c", "b"]
    assert recorded(home, "think_done")[0]["message"]["calls"][0]["args"] == {"path": "a"}


VISITS = ("-t", "mytools:visit", "-t", "mytools:pay")
VISIT = call("visit", url="https://example.org/page")


@DISPLAYS
def test_after_reading_from_outside_the_question_says_what_was_read(home: Path, term: str):
    model = script(home, VISIT, call("pay", to="bob@example.org"), call("pay", to="eve@evil.org"), "done")
    with Terminal(home, "run", "Read it and pay bob@example.org", "-m", model, *VISITS, TERM=term) as screen:
        screen.wait_for('? pay {"to":"eve@evil.org"}')
        screen.wait_for("after reading example.org")
        screen.type("no\n")
        assert screen.end() == 1, "the answer hides what was refused: " + screen.text
    assert "[not done: pay (to eve@evil.org): the user refused]" in screen.text
    assert (home / "paid.txt").read_text() == "bob@example.org\n", "the user's own words need no question"


FETCHING = '''
from treadle._tools.builtin.web.http_fetch import http_fetch
fetch = http_fetch(allow_private=True)

@tool(untrusted=True, effect="pure")
def recall() -> str:
    """Recall what is private."""
    return "salary 123456"
'''


@DISPLAYS
def test_a_redirect_is_asked_about_as_a_call_of_its_own(home: Path, term: str):
    with (home / "mytools.py").open("a") as file:
        file.write(FETCHING)
    with redirecting("/told?salary=123456") as (here, there, came):
        model = script(home, call("recall"), call("http_fetch", url=here), "done")
        tools = ("-t", "mytools:recall", "-t", "mytools:fetch")
        with Terminal(home, "run", f"Read {here}", "-m", model, *tools, TERM=term) as screen:
            screen.wait_for(f'? http_fetch {{"url":"{there}"}}')
            screen.wait_for("could carry away")
            screen.type("no\n")
            screen.end()
        assert came == []


def test_always_from_before_reading_is_no_answer_to_what_comes_after(home: Path):
    model = script(home, call("pay", to="carol"), call("pay", to="dave"), VISIT, *[call("pay", to="eve")] * 2, "done")
    with Terminal(home, "run", "Read it", "-m", model, *VISITS, "--ask", "pay") as screen:
        screen.wait_for('? pay {"to":"carol"}')
        screen.type("always\n")
        screen.wait_for("after reading example.org")
        screen.type("a\n")
        assert screen.end() == 0, screen.text
    assert (home / "paid.txt").read_text() == "carol\ndave\neve\neve\n"


@pytest.mark.parametrize(
    ("options", "code"), [((), 4), (("--yes",), 0), (("--set", "provenance=off"), 0), (("--set", "provenance=deny"), 1)]
)
def test_without_a_terminal_the_policy_holds_as_well(home: Path, options: tuple[str, ...], code: int):
    model = script(home, VISIT, call("pay", to="eve@evil.org"), "done")
    ran = treadle(home, "run", "Read it", "-m", model, *VISITS, *options)
    assert ran.code == code, ran.err
    unasked = options in (("--yes",), ("--set", "provenance=off"))
    assert ("after reading example.org" in ran.err, (home / "paid.txt").exists()) == (not unasked, unasked)


@pytest.mark.parametrize("stdin", ["", "y\ny\n", "always\n"])
def test_without_a_terminal_nobody_can_decide(home: Path, stdin: str):
    model = script(home, call("erase", path="a"), "done")
    done = treadle(home, "run", "q", "-m", model, "-t", "mytools:erase", stdin=stdin)
    assert done.code == 4
    assert "waiting for approval: erase" in done.err
    assert "treadle runs approve" in done.err
    assert erased(home) == ""


@pytest.mark.parametrize(("first", "files"), [("y", ["ann"]), ("no", []), ("always", ["ann", "bob"])])
def test_calls_of_agents_inside_are_asked_about_one_after_the_other(home: Path, first: str, files: list[str]):
    (home / "team.py").write_text(
        "from treadle import Agent, ScriptedModel\nimport mytools\n"
        "def clerk(name):\n"
        "    model = ScriptedModel([[{'name': 'erase', 'args': {'path': name}}], 'done'])\n"
        "    return Agent(model, [mytools.erase], name=name).as_tool()\n"
        "tools = [clerk('ann'), clerk('bob')]\n"
    )
    order = {"user_prompt": "erase it", "reasoning": "", "context": ""}
    model = script(home, [call("ann", **order), call("bob", **order)], "done")
    with Terminal(home, "run", "q", "-m", model, "-t", "team:tools") as screen:
        screen.wait_for("asked for by the agent ann")
        screen.type(first + "\n")
        if first != "always":
            screen.wait_for("asked for by the agent bob")
            screen.type("n\n")
        assert screen.end() == 0, screen.text
    assert sorted(erased(home).split()) == files


def test_ctrl_c_in_a_terminal(home: Path):
    with Terminal(home, "run", "q", "-m", script(home, call("gate", name="a"), "x"), "-t", "mytools:gate") as screen:
        screen.wait_for("waiting at a")
        screen.ctrl_c()
        assert screen.end() == 130
    assert "✗ cancelled" in screen.text
    assert screen.raw.count("\x1b[?25l") == screen.raw.count("\x1b[?25h")
    goes_on = re.search(r"to go on: treadle (chat --resume \w+)", screen.text)
    assert goes_on is not None, screen.text
    with Terminal(home, *goes_on[1].split(), "-m", script(home, "Where was I?")) as screen:
        screen.wait_for_prompt()
        screen.type("go on\n")
        screen.wait_for("Where was I?")


def test_ctrl_c_once_cancels_cleanly(home: Path):
    model = script(home, [call("calculator", expression="1"), call("gate", name="a")], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:gate", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        out, err = process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
        assert out == ""
        assert "stopping" in err
        assert "-- cancelled, 1 step" in err
        assert recorded(home)[-1]["stop_reason"] == "cancelled"
        assert sorted(event["name"] for event in recorded(home, "tool_done")) == ["calculator", "gate"]


def test_ctrl_c_twice_leaves_at_once_and_loses_nothing(home: Path):
    (home / "deaf.py").write_text(
        "import asyncio, time\nfrom treadle import tool\n\n@tool\nasync def deaf() -> str:\n"
        '    """Does not listen."""\n    while True:\n        try:\n            await asyncio.sleep(60)\n'
        "        except asyncio.CancelledError:\n            pass\n"
    )
    model = script(home, [call("calculator", expression="1"), call("deaf")], "never")
    with start(home, "run", "q", "-m", model, "-t", "deaf:deaf", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        until(process, "stopping")
        interrupt(process)
        process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
        assert not recorded(home, "run_finished")
        assert recorded(home, "tool_done")[0]["name"] == "calculator"


def test_a_blocked_thread_does_not_keep_the_program(home: Path):
    model = script(home, [call("calculator", expression="1"), call("stuck")], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:stuck,calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
    assert recorded(home, "tool_done")[-1]["error"] == "unknown_outcome"


@pytest.mark.parametrize(
    ("lines", "code", "files", "term"),
    [
        (["y"], 0, "a\nb\n", PLAIN),
        (["no"], 0, "", DRAWN),
        (["later"], 4, "", PLAIN),
        (["always", "each", "no", "y"], 0, "b\n", DRAWN),
    ],
)
def test_several_calls_are_one_question(home: Path, lines: list[str], code: int, files: str, term: str):
    model = script(home, [call("erase", path="a"), call("erase", path="b")], "done")
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:erase", TERM=term) as screen:
        screen.wait_for('? erase {"path":"b"}')
        screen.wait_for("allow all of these?")
        for line in lines:
            screen.forget()
            screen.type(line + "\n")
            if line == "always":
                screen.wait_for("type one of: yes, no, each")
            elif line != lines[-1]:
                screen.wait_for('? erase {"path":"a"}' if line == "each" else '? erase {"path":"b"}')
                screen.wait_for("allow this call?")
        assert screen.end() == code, screen.text
    assert "".join(sorted(erased(home).splitlines(keepends=True))) == files, "they run side by side"
    assert len(recorded(home, "approved")) == (0 if lines == ["later"] else 2)
