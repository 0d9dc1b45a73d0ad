"""`runs explain`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.terminal import TWO, Inside, script, treadle
from kit import add, go
from treadle import Agent, ScriptedModel, open_journal
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply


def test_explain_maps_every_byte(home: Path, inside: Inside):
    inside("run", "the question", "-m", script(home, *TWO), "--system", "Be nice.")
    out = inside("runs", "explain", "last").out
    for component in ("system", "question", "loop", "tool:calculator", "tools"):
        assert component in out
    segments = [json.loads(line) for line in inside("runs", "explain", "last", "--json").out.splitlines()]
    assert [s["start"] for s in segments] == [0, *(s["end"] for s in segments[:-1])]
    assert all(s["end"] - s["start"] == len(s["text"].encode()) for s in segments)
    first = [json.loads(line) for line in inside("runs", "explain", "last", "--at", "1", "--json").out.splitlines()]
    assert len(first) < len(segments)
    assert "Be nice." in inside("runs", "explain", "last", "--text").out
    assert inside("runs", "explain", "last", "--at", "7").code == 2
    done = inside("runs", "explain", "last", "--record", "0")
    assert (done.code, "is not a model request" in done.err) == (2, True)


def test_blame_is_its_old_name(home: Path, inside: Inside):
    inside("run", "the question", "-m", script(home, *TWO))
    assert inside("runs", "blame", "last").out == inside("runs", "explain", "last").out


def test_history_stands_in_the_first_record(home: Path):
    """The state numbers messages of an earlier conversation below zero; a person is told the record they stand in."""
    treadle(home, "chat", "-m", script(home, "first", "second"), stdin="one\ntwo\n")
    segments = treadle(home, "runs", "explain", "last", "--json").records
    assert [s["records"] for s in segments if s["component"] == "history"] == [[0], [0]]
    assert all(number >= 0 for s in segments for number in s["records"])


def test_what_the_model_wanted_is_shown(home: Path, inside: Inside):
    """Its own probabilities, before any constraint, in the records and in the explanation of a request."""
    thresholds = DecisionThresholds(first=0.5, later=0.2)
    profile = Profile(grammar=True, json_schema=True, logprobs=True, decide=thresholds)
    final = '{"action": "final_answer", "final_answer": "It is 3.", "task_successful": true}'
    act = '{"action": "add", "args": {"a": 1, "b": 2}}'
    replies = [
        Reply(final, options={"multiply": 0.86, "final": 0.04}),
        Reply(act),
        Reply(final, options={"final": 0.7, "add": 0.2}),
    ]
    path = home / "runs.db"

    async def main() -> None:
        journal = open_journal(str(path))
        await Agent(ScriptedModel(replies, profile=profile), [add], dialect="direct", journal=journal).run("1 + 2?")
        await journal.aclose()

    go(main())
    shown = inside("runs", "show", "last", "--records", "--journal", str(path)).out
    assert 'wanted: answer 70 %, "add" 20 %' in shown
    assert "the model wanted a tool (answer: 4%" in shown
    last = inside("runs", "explain", "last", "--journal", str(path)).out
    assert 'before any constraint the model wanted: answer 70 %, "add" 20 %' in last
    first = inside("runs", "explain", "last", "--record", "1", "--journal", str(path)).out
    assert 'wanted: "multiply" 86 %, answer 4 %; the model wanted a tool' in first
