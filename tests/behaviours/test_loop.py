"""The loop: limits, streaming, interrupts, cancellation, budgets, results, failing models."""

from __future__ import annotations

import asyncio
import time

import pytest

from kit import add, assert_paired, call, echo, fail, go
from treadle import (
    Agent,
    Budget,
    BudgetExhaustedError,
    MaxIterationsError,
    RetryPolicy,
    ScriptedModel,
    Usage,
    react_loop,
    tool,
)
from treadle._agent import presets
from treadle._types.errors import ConfigError, RequestRefusedError, RunEndedError, TransientModelError
from treadle._types.events import AnswerDelta, Injected, TextStreamed, ThinkDone, ToolDone
from treadle._types.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from treadle._types.profile import Prices, Profile
from virtual_time import go_virtual, in_virtual_time

TEXT_MODEL = {"tool_call": False, "json_schema": False, "json_mode": False}


def test_default_iterations_by_preset():
    limits = {name: presets.get(name).settings.max_iterations for name in presets.names()}
    assert limits["default"] == limits["two_phase"] == limits["streaming"] == 50
    assert (limits["strict"], limits["reflective"], limits["planned"]) == (8, 6, 20)


def endless() -> ScriptedModel:
    count = iter(range(1000))
    return ScriptedModel(
        lambda request: call("echo", text=str(next(count))) if request.component == "loop" else "from what I have: 7"
    )


@pytest.mark.parametrize("on_limit", ["fallback", "raise", "force_answer", "salvage"])
def test_limit_reached(on_limit: str):
    model = endless()
    agent = Agent(model, [echo, fail], max_iterations=3, on_limit=on_limit, summarize_progress=True)
    if on_limit == "raise":
        with pytest.raises(MaxIterationsError) as caught:
            go(agent.run("q"))
        assert caught.value.cost.requests == 3
        assert caught.value.metadata["tool_calls_made"] == 3
        return
    result = go(agent.run("q"))
    assert result.stop_reason == "limit"
    assert not result.success
    assert isinstance(result.error, MaxIterationsError)
    if on_limit == "fallback":
        assert "echo: succeeded" in result.answer
        assert len(model.requests) == 3
    else:
        assert result.answer == "from what I have: 7"
        assert [request.component for request in model.requests] == ["loop"] * 3 + [
            "final" if on_limit == "force_answer" else "salvage"
        ]
    if on_limit == "force_answer":
        assert model.requests[-1].tool_choice == "none"


def test_thoughts_stream_only_when_asked():
    async def main(stream: bool) -> list[str]:
        model = ScriptedModel(["some words that are long enough to come in pieces", "the answer"])
        texts = [
            e.text
            async for e in Agent(model, [echo]).stream("q", stream_thoughts=stream, answer="complete")
            if isinstance(e, TextStreamed)
        ]
        assert model.requests[0].stream is stream
        return texts

    assert go(main(False)) == []
    pieces = go(main(True))
    assert len(pieces) > 1
    assert "".join(pieces) == "some words that are long enough to come in pieces"


@pytest.mark.parametrize("native", [True, False])
async def test_interrupts_are_one_pinned_message_after_the_results(native: bool):
    run = None

    def first(request):
        run.send("one")
        run.send("two")
        unread = run.send("three")
        assert run.recall(unread)
        assert not run.recall(unread)
        return call("echo", text="x") if native else '{"tool_name": "echo", "tool_args": {"text": "x"}}'

    last = "done" if native else '{"type": "final_answer", "answer": "done"}'
    model = ScriptedModel([first, last], abilities={} if native else TEXT_MODEL)
    run = Agent(model, [echo], dialect="auto:json").start("q")
    events = []
    run.subscribe(lambda record: events.append(record.event))
    result = await run
    assert result.answer == "done"
    interrupts = [m for m in result.messages if isinstance(m, UserMessage) and m.kind == "interrupt"]
    assert len(interrupts) == 1
    assert interrupts[0].pinned
    assert interrupts[0].content == "[USER INTERRUPT]\none\n\ntwo"
    place = result.messages.index(interrupts[0])
    assert isinstance(result.messages[place - 1], ToolMessage)
    assert_paired(result.messages)
    kinds = [type(e) for e in events if isinstance(e, Injected | ToolDone)]
    # text dialects read their mail right after the assistant message, native after the results
    assert kinds == ([ToolDone, Injected] if native else [Injected, ToolDone])


async def test_a_pending_answer_is_suppressed_and_whoever_comes_too_late_is_told():
    run = None

    def first(request):
        run.send("also this")
        return "too early"

    model = ScriptedModel([first, "both answered"])
    run = Agent(model, [echo]).start("q")
    result = await run
    assert result.answer == "both answered"
    with pytest.raises(RunEndedError):
        run.send("too late")
    stopped = Agent(ScriptedModel(["never asked"]), [echo]).start("q")
    stopped.send("never read")
    stopped.cancel()
    assert (await stopped).unread == ("never read",)


@in_virtual_time
async def test_cancel_stops_model_and_tools_and_leaves_the_log_whole():
    released = []

    @tool
    async def hold() -> str:
        """Hold something."""
        try:
            await asyncio.sleep(60)
        finally:
            released.append(True)
        return "x"

    run = Agent(ScriptedModel([call("hold")]), [hold]).start("q")
    await asyncio.sleep(1)  # of the virtual clock: until the tool waits
    run.cancel()
    result = await run
    assert asyncio.get_running_loop().time() == pytest.approx(1)
    assert result.stop_reason == "cancelled"
    assert released == [True]
    assert_paired(result.messages)


async def test_cancel_reaches_a_stream_and_works_from_another_thread():
    streaming = asyncio.Event()

    class Slow(ScriptedModel):
        closed = False

        async def stream(self, request):
            streaming.set()
            try:
                await asyncio.sleep(60)
                yield None
            finally:
                self.closed = True

    model = Slow()
    run = Agent(model, [echo]).start("q")
    await streaming.wait()
    await asyncio.to_thread(run.cancel)
    assert (await run).stop_reason == "cancelled"
    assert model.closed


PRICED = Profile(tool_call=True, prices=Prices(1.0, 2.0))


@pytest.mark.parametrize(
    "budget",
    [
        Budget(tokens=1000),
        Budget(requests=3),
        Budget(tool_calls=2),
        Budget(seconds=0.2),
        Budget(cost=0.001),
        Budget(output_tokens=100),
    ],
)
def test_budgets_are_never_overshot(budget: Budget):
    async def slow_echo(text: str) -> str:
        """Say it."""
        await asyncio.sleep(0.05)
        return text

    count = iter(range(1000))
    model = ScriptedModel(lambda request: call("slow_echo", text=f"{next(count)}"), profile=PRICED)
    agent = Agent(model, [slow_echo], budget=budget, max_tokens=50)
    with pytest.raises(BudgetExhaustedError) as caught:
        go(agent.run("q"))
    used = caught.value.cost
    assert used.total_tokens <= (budget.tokens or 10**9)
    assert used.requests <= (budget.requests or 10**9)
    assert used.tool_calls <= (budget.tool_calls or 10**9)
    assert (used.cost or 0) <= (budget.cost or 10**9)


def test_budget_by_forced_answer_keeps_a_share_and_money_needs_prices():
    count = iter(range(1000))
    model = ScriptedModel(
        lambda r: call("echo", text=f"{next(count)}") if r.component == "loop" else "best effort", profile=PRICED
    )
    result = go(Agent(model, [echo], budget=Budget(requests=4), on_budget="force_answer", max_tokens=50).run("q"))
    assert result.stop_reason == "budget"
    assert result.answer == "best effort"
    assert result.usage.requests <= 4
    with pytest.raises(ConfigError, match="prices"):
        go(Agent(ScriptedModel(["x"]), [echo], budget=Budget(cost=1.0)).run("q"))


def test_react_loop():
    @tool(timeout=30)
    async def nap() -> str:
        """Sleep."""
        await asyncio.sleep(5)
        return "x"

    model = ScriptedModel([[call("echo", text="y" * 200), call("nap")], "value"])
    result, _ = go_virtual(react_loop(model, "q", [echo, nap], tool_timeout=0.05, max_observation_chars=100))
    assert result.value == "value"
    assert result.cost.requests == 2
    assert result.metadata["rounds"] == 2
    assert result.metadata["tool_calls_made"] == 2
    assert result.metadata["truncated_observations"] == 1
    assert result.metadata["truncated_responses"] == 0
    assert result.metadata["messages_trimmed"] == 0
    assert result.metadata["components"]["loop"]["calls"] == 2
    assert model.requests[0].temperature == 0.3
    assert model.requests[0].max_tokens == 4096
    assert len(result.result.steps[0].observation) == 100
    assert result.result.steps[1].error == "timeout"
    with pytest.raises(TypeError):
        go(react_loop(ScriptedModel(["x"], abilities={"tool_call": False}), "q", [echo]))
    with pytest.raises(MaxIterationsError):
        go(react_loop(endless(), "q", [echo], max_rounds=2))
    with pytest.raises(BudgetExhaustedError):
        go(react_loop(endless(), "q", [echo], max_cost=Usage(requests=1)))
    assert go(react_loop(ScriptedModel(["x"]), "q", [])).value == "x"


def test_trimming_counts_rounds():
    model = ScriptedModel([call("echo", text=str(i)) for i in range(6)] + ["done"])
    result = go(react_loop(model, "THE PROMPT", [echo], max_history_messages=5))
    assert result.metadata["messages_trimmed"] == 4
    assert all(any(getattr(m, "content", "") == "THE PROMPT" for m in r.messages) for r in model.requests)


def test_outputs_view_and_delta_stream():
    began = time.time()
    result = go(Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add]).run("q"))
    view = result.outputs()
    assert view["content"] == "3"
    assert view["use_tools"] == [{"name": "add", "arguments": {"a": 1, "b": 2}, "results": "3"}]
    assert view["_elapsed_time"] >= 0
    assert began <= view["_created_time"] <= time.time()

    async def deltas():
        return [pair async for pair in Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add]).deltas("q")]

    pairs = go(deltas())
    assert "".join(text for text, _ in pairs) == "3"
    assert pairs[-1][1] == result.usage.total_tokens


def test_the_result_holds_the_whole_conversation():
    model = ScriptedModel([call("add", a=1, b=2), "3"])
    result = go(
        Agent(model, [add], system="SYS").run(
            "q", history=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        )
    )
    kinds = [type(m) for m in result.messages]
    assert kinds == [
        SystemMessage,
        UserMessage,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert result.iterations == 2
    assert result.steps[0].observation == "3"
    assert result.usage.requests == 2


def test_a_model_that_fails_for_good_ends_the_run_with_what_was_found():
    script = [call("echo", text="found this"), RequestRefusedError("bad key", status=401)]
    result = go(Agent(ScriptedModel(script), [echo]).run("q"))
    assert result.stop_reason == "error"
    assert isinstance(result.error, RequestRefusedError)
    assert "found this" in result.answer
    assert not result.success
    with pytest.raises(RequestRefusedError):
        go(Agent(ScriptedModel(script), [echo], preset="strict").run("q"))


def test_transient_failures_are_retried_and_counted():
    model = ScriptedModel([TransientModelError("busy", status=503, usage=Usage(input_tokens=5, requests=1)), "ok"])
    result = go(Agent(model, [echo], retry=RetryPolicy(base=0.0)).run("q"))
    assert result.answer == "ok"
    assert result.metadata["attempts_failed"] == 1
    assert result.usage.requests == 2
    broken = ScriptedModel([TransientModelError("busy", status=503)], repeat_last=True)
    result = go(Agent(broken, [echo], retry=RetryPolicy(attempts=3, base=0.0), on_error="result").run("q"))
    assert len(broken.requests) == 3
    assert result.stop_reason == "error"
    refused = ScriptedModel([RequestRefusedError("no", status=400)], repeat_last=True)
    go(Agent(refused, [echo], retry=RetryPolicy(attempts=3, base=0.0), on_error="result").run("q"))
    assert len(refused.requests) == 1


def test_a_fallback_model_takes_over_and_the_log_says_so():
    first = ScriptedModel([call("echo", text="x"), RequestRefusedError("quota", status=402)], name="first")
    second = ScriptedModel(["from the second"], name="second")
    agent = Agent(first, [echo], fallbacks=[second])
    result = go(agent.run("q"))
    assert result.answer == "from the second"
    assert result.metadata["model"] == "second"
    assert any("model switched" in why for why in result.metadata["breaks"])


def test_one_bound_model_serves_loop_and_synthesis():
    model = ScriptedModel([call("echo", text="x"), "brief", "long"])
    result = go(Agent(model, [echo], answer="synthesize").run("q"))
    assert [r.component for r in model.requests] == ["loop", "loop", "synthesis"]
    assert result.answer == "long"


def test_settings_can_be_overridden_per_run():
    model = ScriptedModel(["a", "b"])
    agent = Agent(model, [echo], temperature=0.9)
    go(agent.run("q", temperature=0.1, max_tokens=77))
    go(agent.run("q"))
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.1, 77)
    assert (model.requests[1].temperature, model.requests[1].max_tokens) == (0.9, None)
    with pytest.raises(ConfigError, match="temperature"):
        go(agent.run("q", temprature=0.1))


async def test_events_stream_in_order():
    events = [event async for event in Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add]).stream("q")]
    names = [type(event).__name__ for event in events]
    assert names == [
        "RunStarted", "ThinkStarted", "ThinkDone", "ToolStarted", "ToolDone", "ThinkStarted", "AnswerDelta",
        "ThinkDone", "AnswerStarted", "AnswerDone", "RunFinished",
    ]  # fmt: skip
    assert isinstance(events[2], ThinkDone)
    assert events[6] == AnswerDelta("3", provisional=True)
