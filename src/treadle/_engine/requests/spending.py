"""What a request may cost and what it did cost: reserved before it is made, settled whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from treadle._engine.core.budget import Reservation, price
from treadle._engine.core.execution import Execution
from treadle._engine.requests.estimate import size_of, size_of_tools
from treadle._types.errors import BadReplyError, ContentFilteredError, ModelError
from treadle._types.events import ReplyCapped
from treadle._types.messages import Message
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request
from treadle._types.state import ANSWERING
from treadle._types.usage import NO_USAGE, Usage

_ASSUMED_OUTPUT = 4096
_MIN_REPLY = 16
"""Tokens; a budget with less room than this does not cover another request."""
_ANSWER_TOKENS = 512
"""What is held back for the reply of a last answer; it may be longer when more is left."""


async def reserve(run: Execution, request: Request, iteration: int) -> tuple[Request, Reservation | None]:
    """The request as it may be sent, and what is set aside for it. A budget that does not cover the longest reply caps
    the reply; one that does not even cover a short one raises `BudgetExhaustedError`."""
    if not run.budget.bounded:
        return request, None
    profile = run.current.model.profile
    wanted = request.max_tokens or profile.max_output or _ASSUMED_OUTPUT
    sent = run.current.estimator.tokens(request)

    def worst() -> Usage:
        hold_answer(run, answering=request.component in ANSWERING)
        room = run.budget.room(priced(Usage(sent, requests=1), profile), profile)
        return priced(Usage(sent, wanted if room is None else min(wanted, max(room, _MIN_REPLY)), requests=1), profile)

    reservation = await set_aside(run, worst)
    output = reservation.amount.output_tokens
    if output < wanted:
        await run.emit(ReplyCapped(request.component, iteration, output))
    return (request if request.max_tokens == output else request.replace(max_tokens=output)), reservation


async def set_aside(run: Execution, worst: Callable[[], Usage]) -> Reservation:
    """Reserve the worst case in the budgets of the run, and in those that it shares. It is worked out again when others
    have taken what was left there; each time that happens, somebody could go on."""
    while True:
        if run.shared is not None:
            await run.shared.refresh()
        reservation = run.budget.reserve(worst())
        if run.shared is None:
            return reservation
        if (taken := await run.shared.take(reservation.amount)) is not None:
            reservation.shared = taken
            return reservation
        reservation.settle(NO_USAGE)


async def settle(run: Execution, reservation: Reservation, used: Usage) -> None:
    """Replace what was set aside by what was used."""
    amount = reservation.amount
    reservation.settle(used)
    if run.shared is not None and reservation.shared:
        await asyncio.shield(run.shared.settle(reservation.shared, amount, used))


def hold_answer(run: Execution, *, answering: bool = False) -> None:
    """Where the budget forces an answer: keep what a request for it needs away from all that comes before it."""
    state = run.state
    if run.settings.on_budget != "force_answer" or answering or state.answer.pending or state.answer.done:
        run.budget.held = NO_USAGE
        return
    size = sum(size_of(entry.message) for entry in state.conversation.window)
    size += len(run.current.system_prompt().encode())
    output = min(run.settings.max_tokens or _ANSWER_TOKENS, _ANSWER_TOKENS)
    tokens = run.current.estimator.of_size(size + size_of_tools(state.tools))
    run.budget.held = priced(Usage(tokens, output, requests=1), run.current.model.profile)


def covers_answer(run: Execution, messages: Sequence[Message]) -> bool:
    """Return whether the budget covers an answer to these messages."""
    hold_answer(run, answering=True)
    request = Request(messages=messages, component=ANSWERING[0])
    usage = Usage(run.current.estimator.tokens(request), _MIN_REPLY, requests=1)
    return run.budget.covers(priced(usage, run.current.model.profile))


def spent_by_reply(run: Execution, request: Request, reply: Reply) -> Usage:
    """Return what a reply has cost. What its provider does not report is estimated where a budget counts it."""
    usage = reply.usage.bounded()
    if run.budget.bounded:
        calls = sum(len(call.name) + len(call.arguments) for call in reply.calls)
        written = len(reply.text.encode("utf-8", "replace")) + len(reply.reasoning.encode("utf-8", "replace")) + calls
        usage = _completed(run, request, usage, written)
    elif not usage.requests:
        usage = msgspec.structs.replace(usage, requests=1)
    total = priced(usage, run.current.model.profile)
    if reply.used and usage.cost is None:  # a provider that names the cost has counted them
        total = _with_fees(total, reply, run.current.model.profile)
    return total


def spent_by_failure(run: Execution, request: Request, error: BaseException, received: int) -> Usage:
    """Return what an attempt has cost that failed or was cut off after `received` bytes of its reply."""
    usage = error.usage.bounded() if isinstance(error, ModelError) else NO_USAGE
    if not run.budget.bounded and not received:
        return priced(usage, run.current.model.profile)
    refused = isinstance(error, ModelError) and not isinstance(error, BadReplyError | ContentFilteredError)
    if refused and not received:  # the provider has not worked on it
        usage = msgspec.structs.replace(usage, requests=max(1, usage.requests))
    else:
        usage = _completed(run, request, usage, received)
    return priced(usage, run.current.model.profile)


def _with_fees(usage: Usage, reply: Reply, profile: Profile) -> Usage:
    """With what the provider takes for its own searches, where the list of prices knows it."""
    fee = profile.prices.search if profile.prices is not None else None
    searches = sum(call.tool == "web_search" and not call.error for call in reply.used)
    if not fee or not searches or usage.cost is None:
        return usage
    return msgspec.structs.replace(usage, cost=usage.cost + fee * searches)


def priced(usage: Usage, profile: Profile) -> Usage:
    if usage.cost is None and (cost := price(usage, profile)) is not None:
        return msgspec.structs.replace(usage, cost=cost)
    return usage


def _completed(run: Execution, request: Request, usage: Usage, written: int) -> Usage:
    """The usage with an estimate for what was sent or written and is not in it."""
    sent = 0 if usage.input_tokens else run.current.estimator.tokens(request)
    wrote = 0 if usage.output_tokens or not written else run.current.estimator.of_size(written)
    return msgspec.structs.replace(
        usage,
        input_tokens=usage.input_tokens + sent,
        output_tokens=usage.output_tokens + wrote,
        requests=max(1, usage.requests),
        estimated_tokens=usage.estimated_tokens + sent + wrote,
    )
