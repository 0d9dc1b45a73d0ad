"""Conversations that are continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli.terminal import logs, recorded, script, treadle


def last(home: Path) -> dict[str, Any]:
    return recorded(home)[0]


def texts(event: dict[str, Any]) -> list[str]:
    return [message.get("content") or message.get("text") for message in event["history"]]


def test_the_newest_conversation_goes_on(home: Path):
    model = script(home, "one", "two")
    treadle(home, "chat", "-m", model, "-t", "calculator", stdin="first\n")
    before = last(home)
    treadle(home, "run", "in between", "-m", model)
    done = treadle(home, "chat", "--continue", stdin="second\n")
    assert (done.code, done.out) == (0, "one\n"), done.err
    assert "(as before)" in done.err
    assert "> first\none\n" in done.err
    after = last(home)
    assert after["conversation"] == before["conversation"]
    assert [tool["name"] for tool in after["tools"]] == ["calculator"], "with the agent it had"
    assert texts(after) == ["first", "one"]


def test_a_conversation_or_a_run_by_its_id(home: Path):
    treadle(home, "chat", "-m", script(home, "one", "two"), stdin="first\nsecond\n")
    oldest, newest = (log[0]["run"] for log in logs(home))
    conversation = last(home)["conversation"]
    model = script(home, "three", name="other")
    treadle(home, "chat", "--resume", conversation, "-m", model, stdin="third\n")
    assert texts(last(home)) == ["first", "one", "second", "two"]
    treadle(home, "chat", "--resume", oldest[:10], "-m", model, stdin="another second\n")
    assert texts(last(home)) == ["first", "one"], "what came after that run is left out"
    assert last(home)["conversation"] == conversation
    assert newest != oldest


def test_what_cannot_be_continued_is_said(home: Path):
    done = treadle(home, "chat", "--continue", stdin="x\n")
    assert (done.code, "no conversation to continue" in done.err) == (2, True)
    done = treadle(home, "chat", "--resume", "nothing", stdin="x\n")
    assert (done.code, "there is no run 'nothing'" in done.err) == (2, True)
    assert treadle(home, "chat", "--continue", "--resume", "x", stdin="").code == 2
