"""What a person at a terminal sees and can do."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from .terminal import Terminal, call, script, treadle

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
pytest.importorskip("rich")


def test_a_run_is_shown_alive(home: Path):
    model = script(
        home,
        {"text": "Let me wait.", "calls": [call("wait", seconds=0.6)]},
        "# Done\n\nThe answer is **395**, see [here](https://example.com).",
        pace=0.01,
    )
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:wait") as screen:
        assert screen.end() == 0
    assert "thinking · step 1" in screen.text
    assert "╭ wait  0.6" in screen.text
    assert "│ tick 3" in screen.text
    assert "working · step 1" in screen.text
    assert "The answer is 395, see here (https://example.com)." in screen.text, (
        "markdown is drawn, links are written out"
    )
    assert "✓ 2 steps" in screen.text
    assert screen.raw.rstrip().endswith("\x1b[0m")
    assert screen.raw.count("\x1b[?25l") == screen.raw.count("\x1b[?25h"), "the cursor is shown again"


def test_markup_and_escapes_of_others_are_only_text(home: Path):
    with Terminal(
        home, "run", "q", "-m", script(home, call("hostile"), "[red]answer[/red] \x1b]0;t\x07"), "-t", "mytools:hostile"
    ) as screen:
        assert screen.end() == 0
    assert "red clip reversed [bold]markup[/bold]" in screen.text
    assert "[red]answer[/red]" in screen.text
    assert "\x1b]" not in screen.raw


def test_without_rich_it_is_plain(home: Path):
    with Terminal(
        home, "run", "q", "-m", script(home, call("calculator", expression="1 + 1"), "two"), TREADLE_PLAIN="1"
    ) as screen:
        assert screen.end() == 0
    assert "> calculator 1 + 1\r\n  2\r\n" in screen.raw
    assert "\x1b" not in screen.raw


@pytest.mark.parametrize(
    ("key", "code", "erased"), [("y", 0, "a\nb\n"), ("n", 0, ""), ("a", 0, "a\nb\n"), ("l", 4, "")]
)
def test_approval_is_asked_for(home: Path, key: str, code: int, erased: str):
    model = script(home, call("erase", path="a"), call("erase", path="b"), "done")
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:erase") as screen:
        screen.wait_for('? erase {"path":"a"}')
        screen.wait_for("allow this call?")
        screen.type("x")  # not an answer
        screen.type(key)
        if key in "yn":
            screen.wait_for('? erase {"path":"b"}')
            screen.type(key)
        assert screen.end() == code, screen.text
    assert ((home / "erased.txt").read_text() if erased else "") == erased
    assert (home / "erased.txt").exists() == bool(erased)


def test_ctrl_c_in_a_terminal(home: Path):
    with Terminal(home, "run", "q", "-m", script(home, call("wait", seconds=30), "x"), "-t", "mytools:wait") as screen:
        screen.wait_for("tick 2")
        screen.ctrl_c()
        assert screen.end() == 130
    assert "✗ cancelled" in screen.text
    assert screen.raw.count("\x1b[?25l") == screen.raw.count("\x1b[?25h")


def test_chat_with_an_interrupt_while_it_works(home: Path):
    model = script(home, call("wait", seconds=2), "In euros: **360**.", "You asked about euros.")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:wait") as screen:
        screen.wait_for("> ")
        screen.type("How much is it?\n")
        screen.wait_for("tick 1")
        screen.type("and in euross\x7f?")
        screen.wait_for("> and in euros?▏")
        screen.type("\n")
        screen.wait_for("sent: and in euros?")
        screen.wait_for("In euros: 360.")
        screen.wait_for("✓ 2 steps")
        screen.forget()
        screen.type("What did I ask?\n")
        screen.wait_for("You asked about euros.")
        screen.wait_for("✓")
        assert screen.leave("/quit\n") == 0
    first, second = treadle(home, "runs", "list", "--ids").out.split()[::-1]
    texts = [
        r["event"].get("texts")
        for r in treadle(home, "runs", "show", first, "--json").records
        if r["event"]["type"] == "injected"
    ]
    assert texts == [["and in euros?"]]
    history = treadle(home, "runs", "show", second, "--json").records[0]["event"]["history"]
    assert any("and in euros?" in str(message) for message in history)


def test_chat_ctrl_c_stops_the_run_and_the_chat_goes_on(home: Path):
    model = script(home, call("wait", seconds=30), "again")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:wait") as screen:
        screen.wait_for("> ")
        screen.type("go\n")
        screen.wait_for("tick 1")
        screen.ctrl_c()
        screen.wait_for("✗ cancelled")
        screen.forget()
        screen.type("and now?\n")
        screen.wait_for("again")
        screen.wait_for("✓")
        assert screen.leave("\x03") == 130
        assert "Ctrl-C again leaves" in screen.text


def test_chat_what_was_typed_but_not_sent_is_still_there(home: Path):
    model = script(home, call("wait", seconds=1), "first", "second")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:wait") as screen:
        screen.wait_for("> ")
        screen.type("go\n")
        screen.wait_for("tick 1")
        screen.type("half a ")
        screen.wait_for("✓ 2 steps")
        screen.wait_for("half a ")
        time.sleep(0.3)
        screen.type("question\n")
        screen.wait_for("second")
        assert screen.leave("\x04") == 0
    assert "half a question" in treadle(home, "runs", "show", "last").out


def test_chat_leaves_on_ctrl_d(home: Path):
    with Terminal(home, "chat", "-m", script(home, "x")) as screen:
        screen.wait_for("> ")
        assert screen.leave("\x04") == 0


def test_chat_multi_line_by_backslash_and_by_paste(home: Path):
    with Terminal(home, "chat", "-m", script(home, "one", "two")) as screen:
        screen.wait_for("> ")
        screen.type("first \\\n")
        screen.wait_for("… ")
        screen.type("second\n")
        screen.wait_for("✓")
        time.sleep(0.3)
        screen.type("pasted 1\npasted 2\n")
        screen.wait_for("two")
        assert screen.leave("/quit\n") == 0
    ids = treadle(home, "runs", "list", "--ids").out.split()
    questions = [treadle(home, "runs", "show", run, "--json").records[0]["event"]["question"] for run in ids]
    assert questions == ["pasted 1\npasted 2", "first \nsecond"]


def test_chat_from_a_pipe(home: Path):
    model = script(home, call("calculator", expression="2 + 3"), "five", "hello again")
    lines = [
        "How much is \\",
        "2 + 3?",
        "/tools",
        "/fork",
        "/model",
        "/plan",
        "/plan on",
        "/plan off",
        "/cost",
        "/nothing",
        "/help",
    ]
    lines += ["/fork 2 say hello", "/new", "/quit", "never asked"]
    done = treadle(home, "chat", "-m", model, "--journal", "none", stdin="\n".join(lines) + "\n")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err
    answers = [line for line in done.out.splitlines() if line in ("five", "hello again")]
    assert answers == ["five", "hello again"]
    assert "  calculator: Work out" in done.out
    assert "  1  calculator 2 + 3 -> 5" in done.out
    assert "there is no plan; /plan on makes one" in done.out
    assert "planning is on" in done.out
    assert "1 question, " in done.out
    assert "there is no command /nothing" in done.out
    assert "you: say hello" in done.err
    assert "a new conversation" in done.out


def test_chat_goes_on_after_an_error(home: Path):
    model = script(home, {"error": "bad request", "status": 400}, "fine now")
    done = treadle(home, "chat", "-m", model, stdin="one\n/model nonsense\ntwo\n")
    assert done.code == 0
    assert done.out == "fine now\n"
    assert "bad request" in done.err
    assert "'nonsense' names no provider" in done.err
