"""The context guard over hundreds of steps, and under random operations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kit import assert_paired, call, counted_calls, go
from plugins.long_work import QUESTION, check, look, worker
from plugins.scenes import (
    TEXT_ONLY,
    CountingModel,
    answer_in,
    count,
    counted,
    in_dialect,
    order_of,
    request_text,
)
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.guards.context_guard import ContextGuard
from treadle._types.errors import ContextOverflowError, TransientModelError
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import Request
from treadle._types.state import fold


def test_500_steps_in_a_window_of_16k():
    """Within the limit by the provider's count, paired and in order in every request, and no more work at the end."""
    calls_before: list[int] = []
    held: list[Any] = []
    steps = worker(500, lambda number: (number * 137) % 3000 + 40)

    def reply(request: Request) -> Any:
        if request.component == "loop":
            calls_before.append(calls_so_far())
            if len(calls_before) in (60, 200, 201, 350):
                held[0].send(f"INTERRUPT {len(calls_before)}: " + "and also this " * 20)
        return steps(request)

    model = CountingModel(reply, window=16_384)
    agent = Agent(model, [look], system="You are careful.", max_iterations=600, max_tokens=1_000)

    async def main() -> Any:
        held.append(agent.start(QUESTION))
        return await held[0]

    with counted_calls() as calls_so_far:
        result = go(main(), limit=100)
    assert result.answer == "the answer"
    assert result.iterations == 501
    check(model.requests, 16_384 - 1_000)
    for number in (60, 200, 201, 350):
        assert f"INTERRUPT {number}:" in request_text(model.requests[-1])
    compactions = result.metadata["components"]["compaction"]["calls"]
    assert 5 <= compactions <= 500 / 8, "in large steps, not every round"
    assert prefix_breaks(model.requests, held[0].records) == []
    again = fold(held[0].records)
    assert [entry.message for entry in again.conversation.window] == [
        entry.message for entry in held[0].state.conversation.window
    ]
    # From 100 on the window is full; each hundred has its share of compactions.
    first, last = calls_before[200] - calls_before[100], calls_before[500] - calls_before[400]
    assert last <= 1.2 * first, f"function calls in steps 100 to 200 and 400 to 500: {first}, {last}"


sizes = st.integers(0, 3_000)

rounds = st.lists(
    st.tuples(
        st.lists(sizes, min_size=1, max_size=3),
        st.sampled_from(
            ["", "", "", "interrupt", "long interrupt", "note", "unknown tool", "unreadable", "no summary", "overflow"]
        ),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=rounds,
    limit=st.integers(900, 5_000),
    trim=st.sampled_from([None, None, 7, 20]),
    dialect=st.sampled_from(["native", "native", "json", "array"]),
    history=st.integers(0, 12),
)
@example(
    script=[([0], "long interrupt")] * 3 + [([0], ""), ([0], "long interrupt")],
    limit=900,
    trim=None,
    dialect="json",
    history=0,
)
def test_random_operations_keep_every_invariant(
    script: list[Any], limit: int, trim: int | None, dialect: str, history: int
):
    """Pairing, order, pins and budget, whatever guard, trimming, interrupts and failures do to the window."""
    turn = number = 0
    refuse_summary = overflow = False
    sent: list[str] = []
    refused: set[int] = set()
    held: list[Any] = []

    def reply(request: Request) -> Any:
        nonlocal turn, number, refuse_summary, overflow
        if request.component == "compaction":
            return TransientModelError("not now", status=503) if refuse_summary else "SUMMARY " + "word " * 20
        if request.component != "loop" or turn == len(script):
            return answer_in(dialect, "the answer")
        lengths, what = script[turn]
        if what == "overflow" and not overflow:
            overflow = True
            refused.add(len(model.requests))
            return ContextOverflowError("too long", status=400)
        overflow = False
        turn += 1
        refuse_summary = what == "no summary"
        if "interrupt" in what:
            sent.append(f"INTERRUPT-{turn}:")
            held[0].send(sent[-1] + " x" * (600 if what.startswith("long") else 10))
        if what == "unreadable" and dialect != "native":
            return "]["
        if what == "unknown tool":
            return in_dialect(dialect, "nothing_like_it", number=1)
        made = []
        for size in lengths if dialect == "native" else lengths[:1]:
            number += 1
            made.append({"number": number, "size": size})
        if dialect != "native":
            return in_dialect(dialect, "look", **made[0])
        return [call("look", **args) for args in made]

    model = CountingModel(reply, abilities={} if dialect == "native" else TEXT_ONLY)
    past = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"before {n} " + "talk " * 60}
        for n in range(history)
    ]
    guard = ContextGuard()

    async def main() -> Any:
        agent = Agent(
            model, [look], dialect=dialect, system="SYSTEM", plugins=[guard], max_iterations=len(script) + 30,
            context_budget=limit, max_history_messages=trim, max_observation_chars=2_500, retry=RetryPolicy(attempts=1),
        )  # fmt: skip
        held.append(agent.start(QUESTION, history=past))
        return await held[0]

    result = go(main(), limit=60)
    assert result.stop_reason in ("answer", "limit", "stuck", "error")
    assert_paired(result.messages)
    fixed = count(
        Request(
            messages=[m for m in model.requests[0].messages if isinstance(m, SystemMessage)],
            tools=model.requests[0].tools,
        )
    )
    for index, request in enumerate(model.requests):
        assert_paired(request.messages)
        # What cannot be taken away: system prompt, tools, question, the newest interrupt (cut to an eighth).
        assert count(request) <= max(limit, fixed + limit // 2 + 400), (request.component, count(request), limit)
        if request.component != "loop":
            continue
        texts = [text_of(m.content) for m in request.messages if isinstance(m, UserMessage)]
        assert texts.count(QUESTION) == 1
        assert "SYSTEM" in request.messages[0].text
        assert order_of(request.messages) == sorted(order_of(request.messages))
        assert sum(isinstance(m, UserMessage) and m.kind == "summary" for m in request.messages) <= 1
        joined = "\n".join(texts)
        known = [name for name in sent if any(name in request_text(earlier) for earlier in model.requests[: index + 1])]
        if known:
            assert known[-1] in joined, "the newest interrupt never goes"
        found = [joined.index(name) for name in known if name in joined]
        assert found == sorted(found)
    assert prefix_breaks(model.requests, held[0].records) == []
    again = fold(held[0].records)
    assert [entry.message for entry in again.conversation.window] == [
        entry.message for entry in held[0].state.conversation.window
    ]


def test_a_model_that_reports_nothing_is_estimated():
    """Some servers send no usage: the estimate alone must do."""
    work = worker(60)
    model = ScriptedModel(lambda request: _silent(work(request), request), abilities={"window": 6_000})
    result = go(Agent(model, [look], max_iterations=80, max_tokens=500).run(QUESTION, on_error="result"))
    assert result.answer == "the answer"
    assert max(count(request) for request in model.requests) <= 5_500


def _silent(entry: Any, request: Request) -> Any:
    import msgspec

    from treadle._types.usage import Usage

    return msgspec.structs.replace(counted(entry, request), usage=Usage(requests=1))


def test_the_estimate_costs_what_is_new(monkeypatch: pytest.MonkeyPatch):
    """Each message is measured once, also when an adviser and a budget want estimates in between.

    The adviser's own conversation is bounded, and is measured anew each time.
    """
    from treadle import Budget
    from treadle._engine.requests import estimate
    from treadle.plugins import Reflection

    measured = 0
    real = estimate.size_of

    def counting(message: Any) -> int:
        nonlocal measured
        measured += 1
        return real(message)

    monkeypatch.setattr(estimate, "size_of", counting)
    for plugins, per_round in (([], 4), ([Reflection()], 80)):
        measured = 0
        model = CountingModel(worker(200), window=1_000_000)
        agent = Agent(model, [look], max_iterations=300, plugins=plugins, budget=Budget(tokens=10**9))
        result = go(agent.run(QUESTION, on_error="result"), limit=60)
        assert result.iterations == 201
        assert measured <= 201 * per_round
