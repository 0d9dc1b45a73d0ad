"""What an answer may rest on."""

from __future__ import annotations

import json

import pytest

from treadle._plugins.evidence.passages import passages_of
from treadle._types.events import Injected, MessageAdded, Record, RunStarted, ToolDone
from treadle._types.messages import AssistantMessage, UserMessage


def log(*events: object, run: str = "r", depth: int = 0) -> dict[str, list[Record]]:
    return {run: [Record(run, seq, 0.0, event, "", 0, depth) for seq, event in enumerate(events)]}


def texts(logs: dict[str, list[Record]]) -> list[tuple[int, str]]:
    return [(passage.seq, passage.text) for passage in passages_of(logs)]


def test_only_results_of_calls_that_worked_are_grounds():
    logs = log(
        RunStarted(
            "Rain in May?",
            history=(
                UserMessage("I live in Oslo.", origin="person"),
                UserMessage("A model's report.", origin="model"),
                AssistantMessage("It is wet."),
            ),
        ),
        ToolDone("c1", "weather", 1, "Twelve days. It was wet."),
        ToolDone("c2", "weather", 1, "No such tool.", "unknown_tool", executed=False),
        ToolDone("c3", "ask", 1, "the answer of an agent"),
        Injected(("i",), ("In 2024, please.",)),
        MessageAdded(UserMessage("Hurry.", kind="interrupt", origin="person")),
        MessageAdded(UserMessage("Our own note.", kind="note")),
    )
    logs |= log(
        RunStarted("asked by a model"), ToolDone("c1", "weather", 1, "cut", full="All of it."), run="r.c3", depth=1
    )
    assert texts(logs) == [
        (1, "Twelve days."),
        (1, "It was wet."),
        (1, "All of it."),
    ]


def test_what_stands_together_in_json_stays_together():
    value = {"city": "Oslo", "days": [{"day": "Mo", "rain": 3}, {"day": "Tu", "rain": 0}], "tags": ["wet", "cold"]}
    chunks = {"chunks": [{"id": 7, "document": "d", "position": 0, "text": "In May. It rained."}]}
    found = texts(
        log(ToolDone("a", "t", 1, json.dumps(value)), ToolDone("b", "t", 1, "[1, 2]"), ToolDone("c", "t", 1, "{"))
    )
    assert [text for _, text in found] == [
        "city: Oslo",
        "day: Mo, rain: 3",
        "day: Tu, rain: 0",
        "tags: wet, cold",
        "1",
        "2",
        "{",
    ]
    cited = passages_of(log(ToolDone("a", "t", 1, json.dumps(chunks)), ToolDone("b", "t", 1, '"text"')))
    assert [(passage.text, passage.cited_as) for passage in cited][:2] == [("In May.", "7"), ("It rained.", "7")]


def test_there_is_an_end(monkeypatch: pytest.MonkeyPatch):
    deep = "[" * 60 + "1" + "]" * 60
    assert passages_of(log(ToolDone("a", "t", 1, deep))) == []
    monkeypatch.setattr("treadle._plugins.evidence.passages.MAX_PASSAGES", 50)
    assert len(passages_of(log(ToolDone("a", "t", 1, "x.\n" * 55)))) == 50
