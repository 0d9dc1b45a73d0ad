"""Replay, fork and blame of recorded runs."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import add, call, echo, go
from scripts import BOUND, TEXT, TOOLS, dialects, reply
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._dialects.json_object import JsonDialect
from treadle._inspect.replay import Difference, Replay, blame, fork, fork_at_record, replay
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError
from treadle._types.events import (
    Noted,
    Record,
    Resumed,
    Sent,
    ThinkDone,
    ThinkStarted,
    ToolDone,
    decode_event,
    encode_event,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(reply, max_size=8),
    dialect=dialects,
    trim=st.sampled_from([None, 4]),
    answer=st.sampled_from(["direct", "synthesize"]),
)
def test_random_runs_render_the_same_requests_again(script: list[Any], dialect: str, trim: int | None, answer: str):
    abilities = {} if dialect in ("auto", "native") else TEXT
    model = ScriptedModel([*script, "the end"], repeat_last=True, abilities=abilities)
    agent = Agent(
        model, TOOLS, dialect=dialect, max_iterations=BOUND, max_history_messages=trim, answer=answer,
        system="Be kind.", retry=RetryPolicy(attempts=2, base=0.0),
    )  # fmt: skip

    async def main() -> None:
        run = agent.start("question", history=[{"role": "user", "content": "before"}])
        await run
        # through the wire format and back, as a journal would have it
        records = [type(r)(r.run, r.seq, r.time, decode_event(encode_event(r.event)), r.parent) for r in run.records]
        result = replay(records)
        assert result.same, str(result.difference)
        assert result.requests == sum(isinstance(r.event, ThinkStarted) for r in run.records)

    go(main())


def recorded(dialect: str = "json") -> Any:
    """A run of two requests and one call."""
    written = [
        '{"type": "tool_call", "reasoning": "r", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}',
        '{"type": "final_answer", "reasoning": "r", "answer": "3"}',
    ]
    native = ScriptedModel([call("add", a=1, b=2), "3"])
    model = native if dialect == "native" else ScriptedModel(written, abilities=TEXT)

    async def main() -> Any:
        run = Agent(model, [add], dialect=dialect, system="Be brief.").start("What is 1+2?")
        await run
        return run

    return go(main())


def test_a_changed_prompt_is_caught_and_named(monkeypatch: pytest.MonkeyPatch):
    run = recorded()
    assert replay(run.records).same
    monkeypatch.setattr(JsonDialect, "prompt", JsonDialect.prompt.replace("You work in steps.", "You work in leaps."))
    result = replay(run.records)
    assert not result.same
    assert result.difference.component == "system"
    assert result.difference.message == 0
    assert "leaps" in str(result.difference)
    assert "steps" in str(result.difference)


def test_blame_covers_every_byte():
    run = recorded()
    asked = [r.seq for r in run.records if isinstance(r.event, ThinkStarted)]
    segments = blame(run.records, asked[1])
    assert segments[0].start == 0
    for one, two in itertools.pairwise(segments):
        assert one.end == two.start
    assert {"system", "dialect", "question", "loop", "tool:add"} <= {segment.component for segment in segments}
    assert next(s for s in segments if s.component == "system").text == "Be brief."
    replies = [r.event for r in run.records if isinstance(r.event, ThinkDone)]
    assert sum(s.tokens for s in segments) == pytest.approx(replies[1].usage.input_tokens)  # what the model counted
    with pytest.raises(ConfigError, match="not a model request"):
        blame(run.records, 0)


@pytest.mark.parametrize("noted", [False, True])
async def test_a_fork_says_that_it_is_one_and_a_restart_that_it_is_that(noted: bool):
    """Whatever the one who made it has noted about it."""
    journal = MemoryJournal()
    result = await Agent(ScriptedModel([call("echo", text="a"), "end"]), [echo], journal=journal).run("q")
    forked = await fork(journal, result.run_id, 2)
    if noted:
        last = (await journal.load(forked))[-1]
        await journal.append([Record(forked, last.seq + 1, last.time, Noted("me", {"why": "to see"}))])
    await Agent(ScriptedModel(["other end"]), [echo], journal=journal).resume(forked)
    reasons = [r.event.reason for r in await journal.load(forked) if isinstance(r.event, Resumed)]
    assert reasons == ["forked"]


# ---- differences: each is named with the place where it was found


def changed(records: list[Record], kind: type[Any], **changes: Any) -> list[Record]:
    """The log with the last event of this kind changed."""
    index = max(n for n, record in enumerate(records) if isinstance(record.event, kind))
    event = msgspec.structs.replace(records[index].event, **changes)
    return [*records[:index], msgspec.structs.replace(records[index], event=event), *records[index + 1 :]]


def difference(records: list[Record]) -> Difference:
    found = replay(records).difference
    assert found is not None
    return found


def test_what_was_changed_in_a_log_is_found_and_named():
    run = recorded("native")
    tampered = changed(run.records, ToolDone, content="4")
    found = difference(tampered)
    assert found.component == "tool:add"
    assert found.message == 3
    assert str(found).startswith(f"the request of record {found.seq} differs in its message 3 (from: tool:add)")
    sent = [record.event.parts for record in run.records if isinstance(record.event, ThinkStarted)][-1]
    longer = changed(run.records, ThinkStarted, digest="x", parts=(*sent, "00000000"))
    assert (difference(longer).component, difference(longer).message) == ("window", 4)
    shorter = changed(run.records, ThinkStarted, digest="x", parts=sent[:-1])
    assert difference(shorter).message == 3
    found = difference(changed(run.records, ThinkStarted, digest="x"))
    assert (found.component, found.message) == ("dialect", -1)
    assert str(found).endswith("differs in its tools, format or parameters (from: dialect)")


async def test_an_advisers_request_is_named_by_its_component():
    run = Agent(ScriptedModel([call("add", a=1, b=2), "3", "It is three."]), [add], answer="synthesize").start("q")
    await run
    records = run.records
    assert replay(records) == Replay(3)
    assert difference(changed(records, ThinkStarted, digest="x")).component == "synthesis"


async def test_a_message_an_adviser_was_sent_and_that_is_gone_is_a_difference():
    run = Agent(ScriptedModel(["3", "It is three."]), [add], answer="complete").start("q")
    await run
    records = run.records
    gone = changed(records, ThinkStarted, messages=(Sent(seq=999),))
    assert not replay(gone).same


def test_a_log_that_does_not_begin_at_its_beginning_is_refused():
    with pytest.raises(ConfigError, match="does not begin with the start of a run"):
        replay(recorded().records[1:])


# ---- blame


def test_the_tools_of_a_native_request_have_their_share_and_one_without_a_reply_no_tokens():
    run = recorded("native")
    asked = [record.seq for record in run.records if isinstance(record.event, ThinkStarted)]
    assert {segment.tokens for segment in blame(run.records[: asked[-1] + 1], asked[-1])} == {0.0}
    segments = blame(run.records, asked[0])
    assert segments[-1].component == "tools"
    assert '"add"' in segments[-1].text


async def test_without_a_system_prompt_of_the_users_all_of_it_is_the_dialects():
    run = Agent(ScriptedModel(["3"], abilities=TEXT), [add], dialect="json").start("q")
    await run
    records = run.records
    asked = next(record.seq for record in records if isinstance(record.event, ThinkStarted))
    assert [segment.component for segment in blame(records, asked)] == ["dialect", "question"]


# ---- forks


async def test_a_fork_needs_a_beginning_and_keeps_no_end():
    journal = MemoryJournal()
    result = await Agent(ScriptedModel(["42"]), [add], journal=journal).run("q")
    records = await journal.load(result.run_id)
    with pytest.raises(ConfigError, match="at least the first record"):
        await fork_at_record(journal, records, 0)
    name = await fork_at_record(journal, records, len(records), new_id="copy")
    assert name == "copy"
    assert [type(record.event).__name__ for record in await journal.load("copy")][-1] != "RunFinished"
    with pytest.raises(ConfigError, match="its steps are 1"):
        await fork(journal, result.run_id, 2)
