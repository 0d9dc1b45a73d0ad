"""Lines that begin with a slash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Done, call, logs, script, treadle


def said(
    home: Path, *lines: str, replies: tuple[Any, ...] = ("one", "two", "three"), tools: str = "calculator"
) -> Done:
    return treadle(home, "chat", "-m", script(home, *replies), "-t", tools, stdin="\n".join(lines) + "\n")


def histories(home: Path) -> list[list[str]]:
    """What each question of the chat was sent with, oldest first."""
    events = [log[0]["event"] for log in logs(home)]
    return [[message.get("content") or message.get("text") for message in event.get("history", [])] for event in events]


def test_undo_forgets_the_last_question(home: Path):
    done = said(home, "/undo", "first", "second", "/undo", "third")
    assert "there is nothing to undo" in done.out
    assert "are forgotten" in done.out
    assert histories(home) == [[], ["first", "one"], ["first", "one"]]


def test_what_was_undone_stays_so_in_the_next_session(home: Path):
    said(home, "first", "second", "/undo")
    model = script(home, "later", name="other")
    done = treadle(home, "chat", "--continue", "-m", model, stdin="third\n/undo\n")
    assert "are forgotten" in done.out
    assert histories(home)[-1] == ["first", "one"]
    treadle(home, "chat", "--continue", "-m", model, stdin="/undo\nfourth\n")
    assert histories(home)[-1] == [], "also what was asked before this session"
    assert len(treadle(home, "runs", "list", "--tag", "undone", "--ids").out.split()) == 3, "nothing is deleted"


def test_a_question_knows_the_same_in_this_session_as_in_the_next(home: Path):
    """Once the terminal went on from all messages of the last run, not from what the model had of them."""
    model = script(home, "A draft.", "The whole answer.", "Another.", "Second.", "More.", "Third.")
    first = ("-m", model, "-p", "two_phase", "-t", "calculator")
    treadle(home, "chat", *first, stdin="one\ntwo\n/save all.md\n")
    treadle(home, "chat", "--continue", stdin="three\n")
    one, two = ["one", "The whole answer."], ["two", "Second."]
    assert histories(home) == [[], one, [*one, *two]]
    assert "## You\n\none" in (home / "all.md").read_text()


def test_files_for_the_next_question_only(home: Path):
    (home / "a.txt").write_text("alpha")
    (home / "b.txt").write_text("beta")
    done = said(
        home, "/file", "/file a.txt", "/file none.txt", "look, with @b.txt", "again", "/file b.txt", "/file off"
    )
    assert "with the next question: a.txt\n" in done.out
    assert "none.txt cannot be read" in done.err
    assert done.out.count("no file goes with the next question") == 2
    (asked, *files), again = (log[0]["event"]["question"] for log in logs(home))
    assert (asked["text"], again) == ("look, with @b.txt", "again")
    assert [(file["name"], file["text"]) for file in files] == [("b.txt", "beta"), ("a.txt", "alpha")]


def test_a_conversation_is_saved(home: Path):
    done = said(home, "/save", "first", "/save talk.md", "/save talk.md")
    assert "nothing to save" in done.out
    assert "saved as talk.md" in done.out
    assert "talk.md exists" in done.err
    assert (home / "talk.md").read_text() == "## You\n\nfirst\n\n## Answer\n\none\n"


ERASE = (call("erase", path="a"), "erased", call("erase", path="b"), "erased again", call("erase", path="c"), "waits")


def test_tools_that_need_not_be_asked_about(home: Path):
    lines = ("/approve", "/approve eras", "/approve erase", "/tools", "go", "/approve off", "/approve", "go on")
    done = said(home, *lines, replies=ERASE, tools="mytools:erase")
    assert done.out.count("asked about: erase") == 2
    assert "there is no tool 'eras'" in done.err
    assert "(asks first)" not in done.out
    assert (home / "erased.txt").read_text() == "a\n", "after /approve off the next call waits"
    assert [r["event"]["by"] for r in logs(home)[0] if r["event"]["type"] == "approved"] == ["/approve"]


@pytest.mark.parametrize(("allowed", "paid"), [("pay", False), ("all", True)])
def test_a_tool_allowed_by_name_is_asked_about_after_something_was_read(home: Path, allowed: str, paid: bool):
    replies = (call("visit", url="http://evil.org/"), call("pay", to="eve@evil.org"), "done")
    said(home, f"/approve {allowed}", "go", replies=replies, tools="mytools:visit,mytools:pay")
    assert (home / "paid.txt").exists() is paid


def test_a_pasted_text_that_begins_with_a_slash_is_no_command(home: Path):
    done = said(home, "/quit \\", "is what I typed", "/csot")
    assert done.out.splitlines()[0] == "one"
    assert "did you mean /cost?" in done.out


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
    assert "forked" in done.err
    assert "resumed" not in done.err
    assert "a new conversation" in done.out
