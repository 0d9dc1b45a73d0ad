"""What is printed when a run has ended without an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.terminal import Inside, call, script
from models.contact.replayed import QUESTION, eight_kinds
from models.loopback import running


def test_a_paused_run_says_how_to_decide(home: Path, inside: Inside):
    model = script(home, call("erase", path="a\x1b[2J"), "gone")
    paused = inside("run", "q", "-m", model, "-t", "mytools:erase").err
    run = inside("runs", "list", "--ids").out.strip()
    assert 'waiting for approval: erase {"path":"a' in paused
    assert "(approval of erase; it has characters that look like others or like nothing: " in paused
    assert "path is 'a<U+001B>[2J'; call call_1_0)" in paused
    decide = f"to decide: treadle runs approve {run[:8]} --all   (or: treadle runs deny {run[:8]} --all)"
    assert decide in paused
    assert "\x1b" not in paused
    unrecorded = inside("run", "q", "-m", model, "-t", "mytools:erase", "--journal", "none").err
    assert "it was not recorded (--journal none)" in unrecorded
    assert "treadle runs approve" not in unrecorded


def test_a_failed_run_says_why(home: Path, inside: Inside):
    done = inside("run", "q", "-m", script(home, {"error": "no such model", "status": 404}))
    assert [line for line in done.err.splitlines() if line.startswith("treadle: ")]


# ---- first contact


def test_a_stranger_is_tried_once_with_one_line(inside: Inside, home: Path):
    kind = eight_kinds()[6]
    with running(kind) as url:
        first = inside("run", QUESTION, "-m", url, "--tools", "calculator")
        line = f"first contact with my-finetune at {url}/v1: native tool calls work (3 requests, "
        (said,) = [one for one in first.err.splitlines() if "first contact" in one]
        assert said.startswith(line)
        assert len(list((home / "state" / "profiles").iterdir())) == 1
        tried = len(kind.chats)
        again = inside("run", QUESTION, "-m", url, "--tools", "calculator")
        assert "first contact" not in again.err
        assert len(kind.chats) - tried == tried - 3


@pytest.mark.parametrize("option", ["probe=false", "budget.tokens=50000"])
def test_nobody_is_tried_who_must_not_be(inside: Inside, home: Path, option: str):
    kind = eight_kinds()[6]
    with running(kind) as url:
        ran = inside("run", QUESTION, "-m", url, "--tools", "calculator", "--set", option)
    assert "first contact" not in ran.err
    assert all("get_weather" not in str(body) for body in kind.chats)


def test_what_is_refused_is_said_in_one_line(inside: Inside):
    kind = eight_kinds()[7]
    with running(kind) as url:
        ran = inside("run", QUESTION, "-m", url, "--tools", "calculator")
    assert "no native tool calls, so calls are text (" in ran.err
    assert "switched to the dialect" not in ran.err
