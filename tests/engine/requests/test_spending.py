"""What a request may cost and what it did cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.executions import recorded, started
from kit import call, echo, go
from treadle import Agent, Budget, ScriptedModel, tool
from treadle._engine.requests.model_calls import call_model
from treadle._types import events as ev
from treadle._types.errors import BadReplyError, BudgetExhaustedError, ModelError, TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.profile import Prices, Profile
from treadle._types.request import RawCall, Reply, Request, StreamPart, TextDelta
from treadle._types.usage import NO_USAGE, Usage

REQUEST = Request([UserMessage("q")], max_tokens=50)
PRICED = Profile(tool_call=True, prices=Prices(input=1.0, output=10.0))


class Silent(ScriptedModel):
    """A provider that never says what a request has cost."""

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        async for part in super().stream(request):
            yield Reply(part.text, part.calls, usage=NO_USAGE, finish=part.finish) if isinstance(part, Reply) else part


# ---- the cap


@pytest.mark.parametrize(
    "budget", [Budget(tokens=2_000), Budget(output_tokens=300), Budget(cost=0.01)], ids=["tokens", "output", "cost"]
)
def test_a_budget_below_the_longest_reply_caps_the_reply(budget: Budget):
    model = ScriptedModel(["fine"], profile=PRICED)
    result = go(Agent(model, None, budget=budget).run("q"))
    assert result.answer == "fine"
    (request,) = model.requests
    assert request.max_tokens is not None
    assert 250 < request.max_tokens < 2_000


async def test_the_cap_is_on_record():
    run = await started(ScriptedModel(["x"]), budget=Budget(output_tokens=30))
    await call_model(run, REQUEST, 3)
    assert recorded(run, ev.ReplyCapped) == [ev.ReplyCapped("loop", 3, 30)]
    assert run.current.model.requests[0].max_tokens == 30  # type: ignore[attr-defined]


@pytest.mark.parametrize(("left", "made"), [(15, 0), (16, 1)])
def test_only_a_budget_without_room_for_a_short_reply_refuses(left: int, made: int):
    model = ScriptedModel(["x"])
    agent = Agent(model, None, budget=Budget(output_tokens=left))
    if made:
        go(agent.run("q"))
    else:
        with pytest.raises(BudgetExhaustedError):
            go(agent.run("q"))
    assert len(model.requests) == made


def test_where_a_budget_counts_every_request_says_how_long_its_reply_may_be():
    child = Agent(ScriptedModel(["fine"]), None, name="child")
    order = {"user_prompt": "x", "reasoning": "", "context": ""}
    go(Agent(ScriptedModel([call("child", **order), "done"]), [child], budget=Budget(tokens=100_000)).run("q"))
    assert child.model.requests[0].max_tokens == 4096  # type: ignore[attr-defined]
    free = ScriptedModel(["fine"])
    go(Agent(free, None).run("q"))
    assert free.requests[0].max_tokens is None


# ---- what nobody reports


def test_a_provider_that_reports_no_usage_is_settled_with_an_estimate():
    model = Silent(lambda request: call("echo", text=f"{len(model.requests)} " * 1_000), profile=PRICED)
    agent = Agent(model, [echo], budget=Budget(cost=1.0), max_iterations=500, max_tokens=4096)

    async def main() -> ev.ThinkDone:
        run = agent.start("q")
        with pytest.raises(BudgetExhaustedError):
            await run
        assert run.state.usage.cost == pytest.approx(1.0, rel=0.1)
        assert run.state.usage.estimated_tokens == run.state.usage.total_tokens
        return next(record.event for record in run.records if isinstance(record.event, ev.ThinkDone))

    done = go(main())
    assert done.usage.estimated_tokens > 500
    assert done.usage.cost


async def test_only_the_part_that_is_not_reported_is_estimated():
    run = await started(budget=Budget(tokens=10_000))
    run.current.model = ScriptedModel([Reply("x" * 320, usage=Usage(70, requests=1))])
    reply, _ = await call_model(run, REQUEST, 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (70, 101)
    assert reply.usage.estimated_tokens == 101
    run.current.model = ScriptedModel([Reply(calls=(RawCall("c", "f", "{}"),), usage=Usage(0, 9, requests=1))])
    reply, _ = await call_model(run, REQUEST, 1)
    assert reply.usage.input_tokens == reply.usage.estimated_tokens > 0
    assert reply.usage.output_tokens == 9


def test_without_a_budget_nothing_is_estimated():
    result = go(Agent(Silent(["fine"]), None).run("q"))
    assert result.usage == Usage(requests=1)


class Breaking(ScriptedModel):
    """Streams a part of its reply and breaks off, or waits for ever."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__([])
        self.error = error

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        self.requests.append(request)
        if not isinstance(self.error, TransientModelError):
            yield TextDelta("x" * 320)
        if self.error is not None:
            raise self.error
        await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("error", "output"),
    [(BadReplyError("broken off"), 101), (ModelError("gone"), 101), (TransientModelError("busy"), None)],
    ids=["not a reply", "broken off", "refused"],
)
async def test_an_attempt_that_fails_half_way_is_settled_with_what_arrived(error: ModelError, output: int | None):
    run = await started(Breaking(error), budget=Budget(tokens=10_000), retry={"attempts": 1})
    with pytest.raises(type(error)):
        await call_model(run, REQUEST, 1)
    (failed,) = recorded(run, ev.ThinkFailed)
    assert run.budget.reserved == NO_USAGE
    assert run.budget.spent == failed.usage == run.state.usage
    expected = Usage(requests=1) if output is None else Usage(12, output, requests=1, estimated_tokens=12 + output)
    assert failed.usage == expected


async def test_a_request_that_is_cut_off_is_in_the_log_with_what_it_is_held_to_have_cost():
    run = await started(Breaking(None), budget=Budget(tokens=10_000))
    task = asyncio.ensure_future(call_model(run, REQUEST, 1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (failed,) = recorded(run, ev.ThinkFailed)
    assert failed.wait is None
    assert failed.usage.estimated_tokens == failed.usage.total_tokens == run.state.usage.total_tokens > 100
    assert run.budget.spent == run.state.usage


async def test_an_abandoned_request_leaves_no_record():
    run = await started(Breaking(None), budget=Budget(tokens=10_000))
    task = asyncio.ensure_future(call_model(run, REQUEST, 1))
    await asyncio.sleep(0)
    run.life.abandoned = True
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorded(run, ev.ThinkFailed) == []


# ---- the share of the last answer


@tool(effect="pure")
async def page(n: int) -> str:
    """A long page."""
    return "word " * 2_000


@pytest.mark.parametrize("tokens", [2_000, 4_000, 9_000])
def test_a_forced_answer_is_given_also_when_results_have_eaten_what_was_held_for_it(tokens: int):
    def script(request: Request) -> Any:
        return "in short: yes" if request.component == "final" else call("page", n=len(request.messages))

    model = ScriptedModel(script)
    result = go(Agent(model, [page], budget=Budget(tokens=tokens), on_budget="force_answer").run("q"))
    assert (result.answer, result.stop_reason) == ("in short: yes", "budget")


@pytest.mark.parametrize(
    "budget", [Budget(tokens=6_000), Budget(requests=6), Budget(cost=0.03)], ids=["tokens", "requests", "cost"]
)
def test_a_forced_answer_is_given_also_when_a_child_would_have_eaten_all(budget: Budget):
    greedy = Agent(
        Silent(lambda request: call("echo", text="x" * 1_500), profile=PRICED), [echo], name="child", max_iterations=100
    )
    order = {"user_prompt": "x", "reasoning": "", "context": ""}

    def script(request: Request) -> Any:
        return "in short: yes" if request.component == "final" else call("child", **order)

    model = Silent(script, profile=PRICED)
    result = go(Agent(model, [greedy], budget=budget, on_budget="force_answer").run("q"))
    assert (result.answer, result.stop_reason) == ("in short: yes", "budget")
    assert result.usage.total_tokens <= (budget.tokens or 10**9)
    assert result.usage.requests <= (budget.requests or 10**9)
    assert (result.usage.cost or 0.0) <= (budget.cost or 10**9) * 1.001


# ---- the window


def test_a_proxy_that_leaves_out_what_was_cached_does_not_make_the_window_overflow():
    window = 8_000

    class Proxy(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
            async for part in super().stream(request):
                if isinstance(part, Reply):
                    part = Reply(part.text, part.calls, usage=Usage(60, 10, requests=1), finish=part.finish)
                yield part

    def script(request: Request) -> Any:
        count = len(model.requests)
        return call("page", n=count) if count < 40 else "done"

    model = Proxy(script, profile=Profile(tool_call=True, window=window, max_output=500))
    go(Agent(model, [page], max_iterations=60).run("q"))
    from treadle._engine.requests.estimate import size_of

    sizes = [sum(map(size_of, request.messages)) / 4.5 for request in model.requests]
    assert max(sizes) < window


def test_a_model_that_reports_less_than_nothing_does_not_fill_a_budget_up():
    replies = [
        Reply(calls=(RawCall(str(n), "echo", '{"text": "x"}'),), usage=Usage(-10_000, -10_000)) for n in range(9)
    ]
    with pytest.raises(BudgetExhaustedError):
        go(Agent(ScriptedModel(replies), [echo], budget=Budget(tokens=300), max_tokens=50).run("q"))
