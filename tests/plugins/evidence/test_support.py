"""Which sentences of an answer have grounds. The planted ones have none, and are found."""

from __future__ import annotations

import json

import pytest

from treadle._plugins.evidence.support import Claim, claims_of, passages_of
from treadle._plugins.evidence.words import MAX_SENTENCE
from treadle._types.acts import act_of
from treadle._types.events import Injected, MessageAdded, Record, RunStarted, ToolDone
from treadle._types.messages import AssistantMessage, UserMessage


def log(*events: object, run: str = "r", depth: int = 0) -> dict[str, list[Record]]:
    return {run: [Record(run, seq, 0.0, event, "", 0, depth) for seq, event in enumerate(events)]}


NOTES = (
    "The lighthouse of Lindesnes was built in 1655. It stands at the southern tip of Norway and is 16 metres high. "
    "Its light can be seen from 18 nautical miles away. The keeper did not live there in winter.\n"
    "May: 12 days of rain\nJune: 3 days of rain\n"
)
LOGS = log(RunStarted("Tell me about the lighthouse of Lindesnes and its rain."), ToolDone("c", "notes", 1, NOTES))
TRUE = [
    "Lindesnes lighthouse was built in 1655.",
    "The lighthouse, at Norway's southern tip, is 16 metres high.",
    "Its light is seen from 18 nautical miles.",
    "The keeper did not live there in winter.",
    "In May there were 12 days of rain.",
    "In May it rained on twelve days.",
    "May and June together had 15 days of rain.",
]
PLANTED = [
    ("Lindesnes lighthouse was built in 1665.", "1665"),
    ("The lighthouse of Lindesnes was painted red by the architect Olav Hansen.", "Olav"),
    ("It stands at the southern tip of Denmark.", "Denmark"),
    ("The keeper lived there in winter.", "a record says otherwise: The keeper did not live there"),
    ("The light can not be seen from 18 nautical miles away.", "a record says otherwise"),
    ("In May there were 3 days of rain.", "3"),
    ("Visitors enjoy excellent coffee beside a warm fireplace.", "no record has the words"),
    ("May and June together had 17 days of rain.", "17"),
]


def judged(answer: str) -> Claim:
    (claim,) = claims_of(answer, LOGS)
    return claim


@pytest.mark.parametrize("answer", TRUE)
def test_what_the_records_say_is_looked_up(answer: str):
    claim = judged(answer)
    assert claim.status in ("supported", "words")
    assert not claim.why
    assert all(ground.seq == 1 for ground in claim.grounds)
    assert claim.grounds


@pytest.mark.parametrize(("answer", "why"), [pair for pair in PLANTED if pair[1] != "3"])
def test_what_was_made_up_is_found(answer: str, why: str):
    claim = judged(answer)
    assert claim.status in ("unsupported", "contradicted")
    assert why in claim.why


def test_numbers_have_their_records_or_how_they_follow():
    (claim,) = claims_of("May and June together had 15 days of rain.", LOGS)
    assert claim.numbers[0].worked_out == "12 + 3"
    (claim,) = claims_of("Built in 1655.", LOGS)
    assert (claim.numbers[0].run, claim.numbers[0].seq) == ("r", 1)


@pytest.mark.parametrize(
    "records",
    [
        (),
        (ToolDone("c", "refund", 1, "Tool 'refund' failed: the card of order 4711 has expired", "exception"),),
        (ToolDone("c", "refund", 1, "Tool 'refund' was not run.", "denied", executed=False),),
    ],
)
def test_a_request_and_a_failed_call_are_no_grounds(records: tuple[ToolDone, ...]):
    logs = log(RunStarted("Please refund order 4711: I want my 30 euros back."), *records)
    (claim,) = claims_of("Order 4711 was refunded.", logs)
    assert claim.status == "unsupported"


def test_what_claims_nothing_is_empty():
    assert [claim.status for claim in claims_of("Shall I go on? So it is.", LOGS)] == ["empty", "empty"]


def test_a_line_of_the_ledger_is_no_claim_of_the_model():
    failed = ToolDone("c", "refund", 1, "Error: card expired. Try again.", act=act_of({"order": 4711}, declared=True))
    line = "[not done: refund (order 4711): Error: card expired. Try again]"
    claims = claims_of(f"Order 4711 was refunded.\n\n{line}", log(RunStarted("Refund it."), failed))
    assert [claim.status for claim in claims] == ["contradicted", *["empty"] * (len(claims) - 1)]


def test_a_citation_must_say_it_itself():
    first = {"id": 1, "document": "a", "text": "Roses bloom in May."}
    second = {"id": 2, "document": "b", "text": "It snowed."}
    logs = log(RunStarted("q"), ToolDone("c", "retrieval", 1, json.dumps({"chunks": [first, second]})))
    good, wrong, none = claims_of("Roses bloom in May [ID:1]. Roses bloom in May [ID:2]. Snow [ID:9].", logs)
    assert good.status == "supported"
    assert wrong.why.startswith("by the passage it cites")
    assert none.why == "it cites a passage that no record has"


def test_what_has_no_end_is_cut_and_a_huge_log_is_bounded(monkeypatch: pytest.MonkeyPatch):
    logs = log(
        RunStarted("?"), ToolDone("c", "notes", 1, "red fox " * 15_000), ToolDone("d", "notes", 1, "Blue whale.")
    )
    (fox, whale) = claims_of("The red fox. The blue whale.", logs)
    assert fox.status == whale.status == "supported"
    assert all(len(ground.quote) <= MAX_SENTENCE for ground in fox.grounds)
    assert len(claims_of("x" * 5_000, logs)) == 3
    monkeypatch.setattr("treadle._plugins.evidence.support._MAX_VOTES", 1)
    first, second = claims_of("The red fox. The blue whale.", logs)
    assert first.status == "supported"
    assert "not looked up" in second.why
    monkeypatch.setattr("treadle._plugins.evidence.support.MAX_CHARACTERS", 100)
    assert claims_of("The blue whale.", logs)[0].status == "unsupported"


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
    monkeypatch.setattr("treadle._plugins.evidence.support.MAX_PASSAGES", 50)
    assert len(passages_of(log(ToolDone("a", "t", 1, "x.\n" * 55)))) == 50
