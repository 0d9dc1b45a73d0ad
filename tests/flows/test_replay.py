"""Replay, fork and blame of recorded runs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import add, call, echo, go
from scripts import BOUND, TEXT, TOOLS, dialects, reply
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._dialects.json_object import JsonDialect
from treadle._flows.replay import blame, fork, replay
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError
from treadle._types.events import ThinkStarted, decode_event, encode_event


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    model = ScriptedModel(
        ['{"type": "tool_call", "reasoning": "r", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}',
         '{"type": "final_answer", "reasoning": "r", "answer": "3"}'], abilities=TEXT,
    )  # fmt: skip

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
    assert abs(sum(s.tokens for s in segments) - 40) < 1e-6  # 4 messages, 10 tokens each by the scripted count
    with pytest.raises(ConfigError, match="not a model request"):
        blame(run.records, 0)


def test_fork_goes_another_way_from_a_step():
    async def main() -> None:
        journal = MemoryJournal()
        first = Agent(
            ScriptedModel([call("echo", text="a"), call("echo", text="b"), "first end"]), [echo], journal=journal
        )
        result = await first.run("q")
        forked = await fork(journal, result.run_id, 2)
        second_model = ScriptedModel([call("echo", text="c"), "second end"])
        second = await Agent(second_model, [echo], journal=journal).resume(forked)
        assert [step.args["text"] for step in second.steps] == ["a", "c"]
        assert second.answer == "second end"
        assert (await first.resume(result.run_id)).answer == "first end"
        with pytest.raises(ConfigError, match="no step 9"):
            await fork(journal, result.run_id, 9)

    go(main())
