"""Runs as pairs of request and reply to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kit import add, call, fail, go, row
from treadle import Agent, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle._local.dialects.compact import CompactDialect
from treadle._local.training_pairs import TrainingPair, is_good, training_pairs
from treadle._types.events import Record
from treadle._types.profile import Profile
from treadle._types.request import Reply

NEVER_ALONE = {"role": "user", "content": "add says: 3"}
NO_TOOL = '{"action":"no_tool"}'


@tool(effect="pure")
def document(name: str) -> str:
    """The text of a document."""
    return "Kite renames photos. " * 80


def recorded(*script: object, dialect: str = "auto") -> Sequence[Record]:
    async def main() -> Sequence[Record]:
        journal = MemoryJournal()
        profile = Profile(grammar=True) if dialect == "compact" else None
        model = ScriptedModel(script, profile=profile)  # pyright: ignore[reportArgumentType]
        agent = Agent(model, [add, fail, document], journal=journal, dialect=dialect)
        result = await agent.run("What is 1 + 2?")
        return await journal.load(result.run_id)

    return go(main())


def pairs_of(*script: object, dialect: str = "auto") -> list[TrainingPair]:
    return list(training_pairs(recorded(*script, dialect=dialect)))


def test_the_pairs_are_the_same_whichever_dialect_the_run_had():
    for dialect, script in [
        ("native", [call("add", a=1, b=2), "It is 3."]),
        (
            "schema",
            [
                '{"thought": "sum", "action": "add", "args": {"a": 1, "b": 2}}',
                '{"action": "final_answer", "final_answer": "It is 3.", "task_successful": true}',
            ],
        ),
    ]:
        with row(dialect, script):
            first, last = pairs_of(*script, dialect=dialect)
            assert msgspec.json.decode(first.reply) == {"action": "add", "args": {"a": 1, "b": 2}}
            assert [message["role"] for message in first.messages] == ["system", "user"]
            assert first.messages[1]["content"] == "What is 1 + 2?"
            assert msgspec.json.decode(last.reply)["final_answer"] == "It is 3."
            assert [message["role"] for message in last.messages] == ["system", "user", "assistant", "user"]
            assert msgspec.json.decode(last.messages[2]["content"]) == msgspec.json.decode(first.reply)
            assert last.messages[3] == NEVER_ALONE


def test_what_is_learnt_is_what_the_dialect_reads():
    for pair in pairs_of(call("add", a=1, b=2), "It is 3."):
        decision = CompactDialect().decode(Reply(pair.reply), ())
        assert not decision.problem


def test_what_needed_no_tool_teaches_that_none_was_needed():
    (pair,) = pairs_of("Three.")
    assert pair.reply == '{"action":"no_tool"}'


def test_a_refusal_without_a_call_does_not_teach_that_no_tool_is_needed():
    """A model that says so marks it; of any other nobody knows whether a tool could have done it."""
    said = {"action": "final_answer", "final_answer": "No tool tells that.", "task_successful": False}
    records = recorded(msgspec.json.encode(said).decode(), dialect="direct")
    assert [msgspec.json.decode(pair.reply) for pair in training_pairs(records)] == [said]
    assert not is_good(records)
    for text in (
        "I cannot tell that, sorry.",
        "I don\u2019t have a tool for orders.",
        "Das kann ich leider nicht sagen.",
    ):
        assert pairs_of(text) == []


def test_an_answer_about_a_long_text_teaches_to_leave_the_words():
    """The product permits nothing else there but a call."""
    for dialect, script in [
        ("native", [call("document", name="a"), "Kite renames photos by day."]),
        ("compact", ['{"action": "document", "args": {"name": "a"}}', NO_TOOL, "Kite renames photos by day."]),
    ]:
        with row(dialect, script):
            read, left = pairs_of(*script, dialect=dialect)
            assert msgspec.json.decode(read.reply) == {"action": "document", "args": {"name": "a"}}
            assert left.reply == NO_TOOL
            assert left.messages[-1]["content"].startswith("document says: Kite")


def test_a_call_after_a_long_text_is_learnt():
    pairs = pairs_of(call("document", name="a"), call("add", a=1, b=2), "It is 3.")
    assert [msgspec.json.decode(pair.reply)["action"] for pair in pairs] == ["document", "add", "final_answer"]


def test_a_call_that_failed_is_seen_and_not_learnt():
    answer = pairs_of(call("fail", text="no"), call("add", a=1, b=2), "It is 3.")
    assert [msgspec.json.decode(pair.reply)["action"] for pair in answer] == ["add", "final_answer"]
    assert "fail failed" in answer[0].messages[-1]["content"]


def test_only_runs_that_ended_with_an_answer_are_good():
    assert is_good(recorded("Three."))
    assert not is_good(recorded("", "", ""))
    assert not is_good(recorded("Three.")[:-1])
