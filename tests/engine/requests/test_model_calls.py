"""Model calls: reserved before they are made, tried again where that can help, recorded whatever happens."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from engine.executions import execution, recorded, started
from kit import add, counted_turns, go
from treadle import Agent, Budget, RetryPolicy, ScriptedModel
from treadle._engine.requests.model_calls import ask, call_model
from treadle._types import events as ev
from treadle._types.errors import (
    BadReplyError,
    BudgetExhaustedError,
    ContextOverflowError,
    ModelError,
    RequestRefusedError,
    TransientModelError,
)
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.profile import Prices, Profile
from treadle._types.request import (
    CallDelta,
    ProviderCall,
    RawCall,
    ReasoningDelta,
    Reply,
    Request,
    StreamPart,
    TextDelta,
)
from treadle._types.usage import NO_USAGE, Usage
from virtual_time import go_virtual, in_virtual_time

CUT_OFF = object()
"""In a stream: whoever reads it is cancelled."""
QUESTION = [UserMessage("q")]
REQUEST = Request(QUESTION, max_tokens=50)
BUSY = TransientModelError("busy", status=503, retry_after=3.0, usage=Usage(input_tokens=7, requests=1))
AT_ONCE = RetryPolicy(attempts=3, base=0.0)
PRICED = Profile(tool_call=True, prices=Prices(input=1.0, output=10.0))


class Streaming(ScriptedModel):
    """Streams these parts; an exception among them is raised."""

    def __init__(self, *replies: list[Any]) -> None:
        super().__init__([])
        self.replies, self.closed = list(replies), 0

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        self.requests.append(request)
        try:
            for part in self.replies.pop(0):
                if part is CUT_OFF and (task := asyncio.current_task()) is not None:
                    task.cancel()
                    await asyncio.sleep(0)
                if isinstance(part, BaseException):
                    raise part
                yield part
        finally:
            self.closed += 1


# ---- attempts


def test_a_transient_failure_is_tried_again_after_the_pause_the_server_wishes():
    async def main() -> None:
        run = await started(ScriptedModel([BUSY, "fine"]), retry=AT_ONCE)
        reply, _ = await call_model(run, REQUEST, 1)
        assert reply.text == "fine"
        (failed,) = recorded(run, ev.ThinkFailed)
        assert (failed.attempt, failed.wait, failed.error, failed.usage.input_tokens) == (1, 3.0, "busy", 7)

    assert go_virtual(main())[1] == pytest.approx(3.0)


class Status(Exception):
    """What the client libraries of providers raise."""

    def __init__(self, status: int, *, inside: bool = False) -> None:
        super().__init__(f"status {status}")
        if inside:
            self.response = SimpleNamespace(status_code=status)
        else:
            self.status_code = status


class Odd(Exception):
    """Of the adapter's own program."""


def raised(error: Exception, *, after: Exception) -> Exception:
    error.__cause__ = after
    return error


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (TimeoutError(), 3),
        (ConnectionResetError("reset by peer"), 3),
        (asyncio.IncompleteReadError(b"", 3), 3),
        (aiohttp.ServerDisconnectedError(), 3),
        (ExceptionGroup("of a scope inside", [ConnectionResetError("reset by peer")]), 3),
        (raised(Odd("no answer"), after=ConnectionResetError("reset by peer")), 3),
        (KeyError("choices"), 1),
        (Odd("not understood"), 1),
        (raised(Odd("not understood"), after=KeyError("choices")), 1),
        (Exception("plain"), 1),
        (FileNotFoundError("prompt.txt"), 1),
        (OSError(errno.ENOSPC, "no space left"), 1),
        (json.JSONDecodeError("not JSON", "", 0), 1),
        (BudgetExhaustedError("of the adapter's own"), 1),
        (asyncio.CancelledError("a scope inside the adapter"), 3),
        (Status(503), 3),
        (Status(401), 1),
        (Status(503, inside=True), 3),
        (Status(401, inside=True), 1),
        (RuntimeError("maximum context length is 100 tokens"), 1),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_whatever_an_adapter_raises_is_a_failure_of_the_model(error: BaseException, requests: int):
    model = Streaming(*[[TextDelta("par"), error] for _ in range(3)])
    run = await started(model, retry=AT_ONCE)
    with pytest.raises(ModelError) as failure:
        await call_model(run, REQUEST, 1)
    assert (len(model.requests), model.closed) == (requests, requests)
    assert failure.value.__cause__ is error
    assert str(failure.value).startswith(f"{model.name}: {type(error).__name__}")
    assert len(recorded(run, ev.ThinkFailed)) == requests


async def test_the_failure_of_an_adapter_before_its_stream_and_of_its_clean_up_counts_too():
    class Odd(ScriptedModel):
        def stream(self, request: Request) -> Any:
            self.requests.append(request)
            if len(self.requests) == 1:
                raise OSError("no route")
            return self.pieces()

        async def pieces(self) -> AsyncIterator[StreamPart]:
            try:
                yield TextDelta("a")
                if len(self.requests) == 2:
                    raise OSError("gone")
                yield Reply("fine")
            finally:
                if len(self.requests) == 2:
                    raise OSError("in the clean-up")

    model = Odd([])
    reply, _ = await call_model(await started(model, retry=AT_ONCE), REQUEST, 1)
    assert (reply.text, len(model.requests)) == ("fine", 3)


def test_a_run_goes_to_the_next_model_or_ends_when_an_adapter_raises_anything():
    broken = ScriptedModel([OSError("no route")], name="broken", repeat_last=True)
    agent = Agent(broken, None, fallbacks=[ScriptedModel(["from the other"], name="other")], retry=AT_ONCE)
    assert agent.run_sync("q").answer == "from the other"
    alone = Agent(broken, None, retry=AT_ONCE, on_error="result").run_sync("q")
    assert (alone.stop_reason, type(alone.error)) == ("error", TransientModelError)


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (TransientModelError("busy"), 3),
        (RequestRefusedError("no", status=400), 1),
        (ContextOverflowError("too long", status=400), 1),
        (TransientModelError("come back tomorrow", retry_after=86_400.0), 1),
    ],
    ids=["transient", "refused", "too long", "a day"],
)
async def test_what_cannot_help_is_not_tried_again(error: ModelError, requests: int):
    model = ScriptedModel([error], repeat_last=True)
    run = await started(model, retry=AT_ONCE)
    with pytest.raises(type(error)):
        await call_model(run, REQUEST, 1)
    assert len(model.requests) == requests
    failures = recorded(run, ev.ThinkFailed)
    assert [failed.wait is None for failed in failures] == [False] * (requests - 1) + [True]


@in_virtual_time
async def test_what_was_shown_of_a_failed_attempt_is_void():
    model = Streaming([TextDelta("half"), BUSY], [TextDelta("all"), Reply("all")])
    run = await started(model, retry=AT_ONCE)
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    await call_model(run, REQUEST, 1)
    shown = [event for event in seen if not isinstance(event, ev.ThinkFailed)]
    assert shown == [ev.AnswerDelta("half", True), ev.Reset("loop", 2), ev.AnswerDelta("all", True)]


@in_virtual_time
async def test_an_attempt_of_which_nothing_was_shown_needs_no_reset():
    run = await started(Streaming([BUSY], [Reply("all")]), retry=AT_ONCE)
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    await call_model(run, REQUEST, 1)
    assert not any(isinstance(event, ev.Reset) for event in seen)


# ---- streams


async def test_a_stream_without_a_reply_is_a_bad_reply():
    with pytest.raises(BadReplyError, match="without a reply"):
        await call_model(await started(Streaming([TextDelta("x")])), REQUEST, 1)


async def test_a_stream_is_closed_when_it_breaks_or_the_run_is_stopped():
    broken = Streaming([TextDelta("x"), RequestRefusedError("no")])
    with pytest.raises(RequestRefusedError):
        await call_model(await started(broken), REQUEST, 1)
    assert broken.closed == 1
    endless = Streaming([TextDelta("x")] * 1_000)
    run = await started(endless)
    run.life.stop("cancelled")
    with pytest.raises(asyncio.CancelledError):
        await call_model(run, REQUEST, 1)
    assert endless.closed == 1


async def test_text_and_reasoning_are_shown_only_to_those_who_watch():
    parts = [ReasoningDelta("hm"), TextDelta(""), TextDelta("x"), Reply("x")]
    run = await started(Streaming(parts, parts), stream_thoughts=True)
    await call_model(run, REQUEST, 1)
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    await call_model(run, REQUEST, 1)
    assert seen == [ev.TextStreamed("loop", 1, "hm", reasoning=True), ev.AnswerDelta("x", provisional=True)]


def test_half_of_a_surrogate_pair_of_an_adapter_is_replaced():
    parts = [ReasoningDelta("\udfff"), TextDelta("a\ud800"), Reply("a\ud800", reasoning="\udfff")]

    async def main() -> list[ev.Event]:
        return [event async for event in Agent(Streaming(parts)).stream("q", stream_thoughts=True)]

    seen = go(main())
    texts = [event.text for event in seen if isinstance(event, (ev.TextStreamed, ev.AnswerDelta))]
    assert texts == ["\ufffd", "a\ufffd"]
    assert isinstance(seen[-1], ev.RunFinished)
    assert (seen[-1].answer, seen[-1].stop_reason) == ("a\ufffd", "answer")


async def test_what_writes_the_answer_streams_the_answer():
    run = await started(Streaming([TextDelta("4"), ReasoningDelta("hm"), Reply("4")]))
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    await call_model(run, REQUEST.replace(component="synthesis"), 1)
    assert seen == [ev.AnswerDelta("4"), ev.TextStreamed("synthesis", 1, "hm", reasoning=True)]


@pytest.mark.parametrize(("component", "early"), [("loop", True), ("repair", True), ("planner", False)])
async def test_only_calls_of_the_conversation_may_start_early(component: str, early: bool):
    parts = [CallDelta(0, "c", "add"), CallDelta(0, arguments='{"a": 1, "b": 2}', done=True), Reply("x")]
    run = await started(Streaming(parts), [add])
    await call_model(run, REQUEST.replace(component=component), 1)
    task = run.early.take(ToolCall("c", "add", {"a": 1, "b": 2}))
    assert (task is not None) is early
    if task is not None:
        assert (await task).content == "3"


# ---- money


async def test_a_reply_is_priced_and_counted_as_a_request():
    reply = Reply("x", usage=Usage(1_000_000, 100_000))
    run = await started(Streaming([reply]))
    priced, _ = await call_model(run, REQUEST, 1)
    assert (priced.usage.requests, priced.usage.cost) == (1, None)
    model = ScriptedModel([reply], profile=PRICED)
    priced, _ = await call_model(await started(model), REQUEST, 1)
    assert priced.usage.requests == 1
    assert priced.usage.cost is not None


async def test_a_cost_the_provider_states_is_believed():
    model = ScriptedModel([Reply("x", usage=Usage(10, 10, requests=1, cost=0.5))], profile=PRICED)
    assert (await call_model(await started(model), REQUEST, 1))[0].usage.cost == 0.5


@pytest.mark.parametrize(
    ("entry", "spent"),
    [
        (Reply("x", usage=Usage(5, 6, requests=1)), Usage(5, 6, requests=1)),
        (RequestRefusedError("no", usage=Usage(input_tokens=3)), Usage(input_tokens=3, requests=1)),
        (CUT_OFF, Usage(12, requests=1, estimated_tokens=12)),
    ],
    ids=["reply", "failure", "cut off"],
)
async def test_whatever_ends_a_call_its_reservation_is_settled(entry: Any, spent: Usage):
    run = await started(Streaming([entry]), budget=Budget(requests=5))
    with suppress(ModelError, asyncio.CancelledError):
        await call_model(run, REQUEST, 1)
    assert run.budget.reserved == NO_USAGE
    assert run.budget.spent == spent


async def test_a_budget_that_forces_an_answer_keeps_its_share():
    run = await started(ScriptedModel(["x"], repeat_last=True), budget=Budget(requests=2), on_budget="force_answer")
    await call_model(run, REQUEST, 1)
    with pytest.raises(BudgetExhaustedError):
        await call_model(run, REQUEST, 2)
    with pytest.raises(BudgetExhaustedError):
        await call_model(run, REQUEST.replace(component="planner"), 2)
    await call_model(run, REQUEST.replace(component="final"), 2)


# ---- calls beside the conversation


async def test_advice_is_recorded_with_what_was_sent():
    run = await started(ScriptedModel(["fine"]), temperature=0.7, max_tokens=99)
    own = run.state.conversation.window[0].message
    other = UserMessage("is it going well?")
    reply = await ask(run, "observer", [own, other], max_tokens=5)
    begun, done = recorded(run, ev.ThinkStarted, ev.ThinkDone)
    assert begun.messages == (ev.Sent(seq=0), ev.Sent(message=other))
    assert (done.component, done.message.text, done.digest) == ("observer", "fine", begun.digest)
    assert reply.text == "fine"
    (request,) = run.current.model.requests  # type: ignore[attr-defined]
    assert (request.component, request.temperature, request.max_tokens) == ("observer", 0.7, 5)


async def test_advice_that_is_in_the_log_is_not_asked_for_again():
    call = Reply(calls=(RawCall("c", "choose", '{"tools": ["add"]}'),), reasoning="hm")
    first = await started(ScriptedModel([call]))
    await ask(first, "selection", QUESTION)
    silent = ScriptedModel([])
    again = execution(silent, records=first.log.records)
    reply = await ask(again, "selection", QUESTION)
    assert (reply.calls[0].arguments, reply.reasoning) == ('{"tools": ["add"]}', "hm")
    assert reply.usage == NO_USAGE
    with pytest.raises(ModelError):
        await ask(again, "selection", QUESTION)
    with pytest.raises(ModelError):
        await ask(execution(silent, records=first.log.records), "selection", [UserMessage("something else")])


def test_the_fee_of_the_providers_searches_is_in_the_cost_where_it_is_known():
    used = (ProviderCall("web_search"), ProviderCall("web_search", error="failed"), ProviderCall("web_fetch"))

    async def cost(search: float | None, told: float | None = None) -> float | None:
        reply = Reply("x", usage=Usage(1_000_000, 0, requests=1, cost=told), used=used)
        model = ScriptedModel([reply], profile=Profile(prices=Prices(1.0, 1.0, search=search)))
        priced, _ = await call_model(await started(model), REQUEST, 1)
        return priced.usage.cost

    assert go(cost(0.01)) == pytest.approx(1.01)
    assert go(cost(None)) == 1.0
    assert go(cost(0.01, told=3.0)) == 3.0


@pytest.mark.parametrize("of", [TextDelta, ReasoningDelta])
@pytest.mark.parametrize("size", [20, 40_000])
async def test_the_event_loop_goes_on_while_much_is_shown_at_once(of: Any, size: int):
    text = "Word after word. " * 2_000
    parts = [of(text[at : at + size]) for at in range(0, len(text), size)]
    shown: list[tuple[int, str]] = []
    model = Streaming([*parts, Reply("Done." if of is ReasoningDelta else text)])
    run = await started(model, stream_thoughts=True)
    async with counted_turns() as turns:
        run.log.subscribe(lambda record: shown.append((turns[0], getattr(record.event, "text", ""))))
        await call_model(run, REQUEST, 1)
    assert "".join(piece for _, piece in shown).strip() == text.strip()
    assert len({turn for turn, _ in shown}) > 10
