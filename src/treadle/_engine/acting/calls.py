"""Acting: run the calls of one reply. Every call gets exactly one result, whatever happens to it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from treadle._engine.acting.call_context import CallContext
from treadle._engine.core.hooks import PASSED_ON
from treadle._engine.plugin import Pause
from treadle._tools.base import Tool, ToolOutcome
from treadle._tools.runner import run_call
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import BudgetExhaustedError
from treadle._types.events import Paused, ToolDone, ToolStarted
from treadle._types.messages import ToolCall
from treadle._types.state_values import OpenCall
from treadle._types.usage import Usage

if TYPE_CHECKING:
    from treadle._engine.run import Run

logger = logging.getLogger("treadle")

LOST_EXTRAS = (
    "the objects an earlier tool left for this call are gone (the process was restarted): run that tool again first"
)


async def run_tools(run: Run) -> None:
    """Gate the calls that wait, then run them: side by side where allowed, results in call order."""
    waiting = run.state.pending_calls()
    lost = run.state.extras_pending and not run.extras
    extras, run.extras = run.extras, {}
    try:
        places = {call_id: place for place, call_id in enumerate(run.state.open)}
        gated = [
            (
                open_call,
                _refusal(run, open_call, places[open_call.call.id], lost) or await before_tool(run, open_call.call),
            )
            for open_call in waiting
        ]
        collected: dict[str, ToolOutcome] = {}
        for batch in _batches(run, gated):
            if len(batch) == 1:
                await _act(run, *batch[0], extras, collected)
            else:
                await _side_by_side(run, batch, extras, collected)
    except Pause as pause:
        run.extras = extras
        await run.emit(Paused(str(pause), _waiting_calls(run)))
        return
    run.eager.discard()
    if not any(isinstance(item, ToolCall) for _, item in gated):
        run.extras = extras  # no call was made: they still wait for the next one
    for open_call, _ in gated:
        outcome = collected.get(open_call.call.id)
        if outcome is not None:
            run.extras.update(outcome.extras)


def _waiting_calls(run: Run) -> tuple[ToolCall, ...]:
    """What a person is asked about: our own calls, or those of the agent we wait for (their ids say whose they are)."""
    inner, run.paused_calls = run.paused_calls, ()
    if inner:
        return inner
    child, run.paused_child = run.paused_child, None
    if child is None or child.state.paused is None:
        return tuple(open_call.call for open_call in run.state.pending_calls())
    return tuple(msgspec.structs.replace(call, id=f"{child.id}:{call.id}") for call in child.state.paused.calls)


def _refusal(run: Run, open_call: OpenCall, place: int, lost_extras: bool) -> ToolOutcome | None:
    """The outcome of a call that is not made."""
    call = open_call.call
    if open_call.started and open_call.effect == "unsafe":
        text = (
            f"The outcome of this call of '{call.name}' is unknown: the process stopped while it ran, and it is not safe to run it again. "
            "It may or may not have taken effect; check before you repeat it."
        )
        return ToolOutcome(text, "unknown_outcome")
    one = run.settings.one_tool_per_step
    if place and (one is True or (one == "text" and not run.dialect.native)):
        return ToolOutcome(
            "Not run: only one tool call is allowed per step. Call it again if it is still needed.",
            "rejected",
            executed=False,
        )
    if lost_extras:
        return ToolOutcome(f"Tool '{call.name}' was not run: {LOST_EXTRAS}.", "lost_extras", executed=False)
    return None


async def before_tool(run: Run, call: ToolCall) -> ToolCall | ToolOutcome:
    """What the plug-ins make of a call."""
    for hook in run.hooks.before_tool:
        try:
            answer = await hook(run, call)
        except PASSED_ON:
            raise
        except Exception:
            logger.warning("a plug-in failed before a tool call and is ignored", exc_info=True)
            continue
        if isinstance(answer, ToolOutcome):
            return answer
        call = msgspec.structs.replace(answer, id=call.id) if answer.id != call.id else answer
    return call


def offered_tool(run: Run, name: str) -> Tool | None:
    """Only what is offered at this moment may run: a deselected or withdrawn tool is unknown."""
    return run.tool(name) if name in run.state.tool_names() else None


def offered(run: Run) -> Toolkit:
    """What the model can choose from: the names near a wrong one must not be those of withdrawn tools."""
    return Toolkit(tool for schema in run.state.tools if (tool := run.tool(schema.name)) is not None)


def _batches(
    run: Run, gated: list[tuple[OpenCall, ToolCall | ToolOutcome]]
) -> list[list[tuple[OpenCall, ToolCall | ToolOutcome]]]:
    """Runs of calls that may go side by side; a tool that is not concurrency-safe stands alone."""
    if len(gated) == 1 or run.settings.max_parallel == 1:
        return [[item] for item in gated]
    batches: list[list[tuple[OpenCall, ToolCall | ToolOutcome]]] = []
    joinable = False
    for item in gated:
        tool = offered_tool(run, item[1].name) if isinstance(item[1], ToolCall) else None
        alone = tool is not None and not tool.concurrent
        if joinable and not alone:
            batches[-1].append(item)
        else:
            batches.append([item])
        joinable = not alone
    return batches


async def _side_by_side(
    run: Run,
    batch: list[tuple[OpenCall, ToolCall | ToolOutcome]],
    extras: dict[str, Any],
    collected: dict[str, ToolOutcome],
) -> None:
    room = asyncio.Semaphore(run.settings.max_parallel)

    async def one(open_call: OpenCall, gated: ToolCall | ToolOutcome) -> None:
        async with room:
            await _act(run, open_call, gated, extras, collected)

    tasks = [asyncio.ensure_future(one(*item)) for item in batch]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for task in tasks:
        task.result()


async def _act(
    run: Run,
    open_call: OpenCall,
    gated: ToolCall | ToolOutcome,
    extras: dict[str, Any],
    collected: dict[str, ToolOutcome],
) -> None:
    """One call from start to recorded result."""
    if run.stopping:
        await run.check()
    asked = open_call.call
    iteration = run.state.iteration
    reservation = None
    outcome = gated if isinstance(gated, ToolOutcome) else None
    if outcome is None and run.purse.bounded:
        try:
            reservation = run.purse.reserve(Usage(tool_calls=1))
        except BudgetExhaustedError as error:
            run.exhausted = error
            outcome = ToolOutcome(f"Not run: {error}.", "rejected", executed=False)
    if outcome is None:
        assert isinstance(gated, ToolCall)
        tool = offered_tool(run, gated.name)
        context = CallContext(run, asked.id, gated.name)
        effect = tool.effect if tool is not None else "pure"
        await run.emit(ToolStarted(gated, iteration, context.idempotency_key, effect))
        early = run.eager.take(gated) if not extras else None
        if early is not None:
            outcome = await early
        else:
            known = run.toolkit if tool is not None else offered(run)
            outcome = await run_call(tool, gated, limits=run.limits, toolkit=known, extras=extras, context=context)
        if run.paused_child is not None or run.paused_calls:
            raise Pause(f"{gated.name} waits for a person")
        if run.hooks.after_tool:
            outcome = await after_tool(run, gated, outcome)
    if reservation is not None:
        reservation.settle(Usage(tool_calls=int(outcome.executed)))
    collected[asked.id] = outcome
    last = len(run.state.open) == 1 or len(run.state.pending_calls()) == 1
    await (run.defer if last else run.emit)(
        ToolDone(
            asked.id, gated.name if isinstance(gated, ToolCall) else asked.name, iteration, outcome.content, outcome.error, outcome.elapsed,
            outcome.full, outcome.artifacts, outcome.final, bool(outcome.extras), outcome.usage, outcome.executed,
        )
    )  # fmt: skip


async def after_tool(run: Run, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
    for hook in run.hooks.after_tool:
        try:
            outcome = await hook(run, call, outcome)
        except PASSED_ON:
            raise
        except asyncio.CancelledError:
            # The effect has happened: its record must not be lost with the plug-in.
            await run.emit(
                ToolDone(call.id, call.name, run.state.iteration, outcome.content, outcome.error, outcome.elapsed)
            )
            raise
        except Exception:
            logger.warning("a plug-in failed after a tool call and is ignored", exc_info=True)
    return outcome


async def close_calls(run: Run, why: str) -> None:
    """Answer every open call of a run that stops, so that its log stays a whole conversation."""
    for open_call in run.state.pending_calls():
        call = open_call.call
        if open_call.started:
            text, error = (
                f"The call was under way when the run stopped ({why}); its outcome is unknown.",
                "unknown_outcome",
            )
        else:
            text, error = f"Not run: the run stopped ({why}).", "cancelled"
        await run.emit(ToolDone(call.id, call.name, run.state.iteration, text, error, executed=open_call.started))
