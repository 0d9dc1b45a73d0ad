"""Lines that begin with a slash."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import call, script, treadle


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
