"""`runs approve`, `runs deny` and `runs answer`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Inside, call, script

ERASE_TWO = (call("erase", path="a"), call("erase", path="b"), "gone")


def paused(home: Path, inside: Inside, *replies: Any) -> str:
    assert inside("run", "q", "-m", script(home, *(replies or ERASE_TWO)), "-t", "mytools:erase").code == 4
    return inside("runs", "list", "--ids").out.strip()


def erased(home: Path) -> str:
    return (home / "erased.txt").read_text() if (home / "erased.txt").exists() else ""


def decisions(inside: Inside) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in inside("runs", "show", "last", "--json").out.splitlines()]
    return [record["event"] for record in records if record["event"]["type"] == "approved"]


def test_the_one_call_that_waits_is_decided_about_and_the_run_goes_on(home: Path, inside: Inside):
    run = paused(home, inside)
    assert inside("runs", "approve", run[:8]).code == 4, "the next call waits"
    assert erased(home) == "a\n"
    done = inside("runs", "deny", "last", "--note", "not that one")
    assert (done.code, done.out) == (0, "gone\n")
    assert erased(home) == "a\n"
    assert [(event["allow"], event.get("note", "")) for event in decisions(inside)] == [
        (True, ""),
        (False, "not that one"),
    ]


def test_with_other_arguments_and_for_the_whole_run(home: Path, inside: Inside):
    run = paused(home, inside)
    done = inside("runs", "approve", run, "call_1_0", "--args", '{"path": "c"}', "--always")
    assert (done.code, done.out) == (0, "gone\n"), done.err
    assert erased(home) == "c\nb\n"
    assert [(event["args"], event["always"]) for event in decisions(inside)] == [({"path": "c"}, True)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--args", '{"file": "c"}'], "unknown argument 'file'; it takes: path"),
        (["--args", '{"path": 5}'], "argument 'path': expected string"),
        (["--args", "c"], "--args: it must be a JSON object"),
        (["--args", "[]"], "--args: it must be a JSON object"),
        (["call_9"], "no call 'call_9' waits for a decision; waiting: call_1_0 (erase)"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_an_error_and_nothing_runs(home: Path, inside: Inside, options: list[str], words: str):
    run = paused(home, inside)
    done = inside("runs", "approve", run, *options)
    assert (done.code, words in done.err) == (2, True), done.err
    assert inside("runs", "resume", run).code == 4, "nothing was decided"
    assert erased(home) == ""


def test_several_calls_are_named_or_all(home: Path, inside: Inside):
    run = paused(home, inside, [call("erase", path="a"), call("erase", path="b")], "gone")
    done = inside("runs", "approve", run)
    assert (done.code, "call_1_0 (erase), call_1_1 (erase)" in done.err) == (2, True)
    done = inside("runs", "approve", run, "--all", "--args", "{}")
    assert (done.code, "--args are those of one call" in done.err) == (2, True)
    assert inside("runs", "approve", run, "call_1_1").code == 4
    assert erased(home) == "", "nothing runs before all are decided"
    assert inside("runs", "approve", run, "--all").out == "gone\n"
    assert sorted(erased(home).split()) == ["a", "b"]


def test_a_decision_can_be_left_for_whoever_resumes_the_run(home: Path, inside: Inside):
    run = paused(home, inside, call("erase", path="a"), "gone")
    done = inside("runs", "approve", run, "--leave")
    assert (done.code, "treadle runs resume" in done.err) == (0, True)
    assert erased(home) == ""
    assert inside("runs", "resume", run).out == "gone\n"
    assert erased(home) == "a\n"


def test_a_run_that_does_not_wait(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, "hello"))
    done = inside("runs", "approve", "last")
    assert (done.code, "waits for approval" in done.err) == (2, True)


LOOK_UP = """
agent:
  tools:
    - component_name: External
      params:
        name: look
        description: Looks something up.
        parameters: {type: object, properties: {what: {type: string}}, required: [what]}
"""


def test_a_result_is_given_from_the_terminal_for_a_tool_of_a_document(home: Path, inside: Inside):
    document = home / "agent.yaml"
    document.write_text(LOOK_UP)
    started = inside("run", "q", "-f", str(document), "-m", script(home, call("look", what="it"), "found"))
    assert started.code == 4, started.err
    assert "waiting for its result: look" in started.err
    assert re.search(r"to answer: treadle runs answer \w{8} call_1_0 --result TEXT", started.err)
    assert "runs approve" not in started.err
    assert "waits for its result: call_1_0  look" in inside("runs", "show", "last").out
    refused = inside("runs", "approve", "last")
    assert (refused.code != 0, "waits for approval" in refused.err) == (True, True)
    refused = inside("runs", "answer", "last")
    assert "say what came of the call" in refused.err
    done = inside("runs", "answer", "last", "--result", "a cat")
    assert (done.code, done.out) == (0, "found\n"), done.err
    assert "look has its result" in done.err
    shown = inside("runs", "show", "last", "--json").out
    assert '"tool_answered"' in shown
    assert "waits for a result" in inside("runs", "answer", "last", "--error", "x").err
