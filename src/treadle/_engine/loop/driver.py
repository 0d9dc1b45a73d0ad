"""Driving a run from its first record, or from wherever its log ends, to its last.

One driver for every kind of run: what comes next is said by a `Flow` (the loop of an agent, a plan, a document), how a
run starts, is claimed, stopped, paused and ended is said here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from treadle._engine.acting.execute import close_calls
from treadle._engine.acting.provenance import sources_before
from treadle._engine.answering.ends import cut_short, fail, out_of_budget
from treadle._engine.answering.output import recorded_output
from treadle._engine.answering.progress import progress
from treadle._engine.answering.writer import so_far
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause, concerns_loop, run_hooks
from treadle._engine.core.parking import MAX_ATTEMPTS, attempts_without_progress, parked
from treadle._engine.core.settling import settle_children, settle_with_parent
from treadle._engine.loop.turn import turn
from treadle._engine.requests.media import prepared
from treadle._engine.result import RunResult, result_of
from treadle._safety.logs import get_logger, log_handled, logs_of
from treadle._types.errors import BudgetExhaustedError, JournalError, LimitError, TreadleError
from treadle._types.events import (
    Approved,
    Forked,
    Intent,
    IntentSet,
    LoopStarted,
    Noted,
    Paused,
    ReplyConstrained,
    Resumed,
    RunFinished,
    RunStarted,
    Tainted,
    ToolsChanged,
)

logger = get_logger()


class Flow(Protocol):
    """What a run consists of."""

    async def work(self, run: Execution) -> None:
        """Bring the run to its end, from wherever its state is; returns when it is finished or paused."""
        ...

    def partial_answer(self, run: Execution) -> str:
        """Return what a run that is stopped half-way has to show."""
        ...

    def findings(self, run: Execution) -> str:
        """Return what was found outside the conversation of this run, for the model that writes its answer."""
        ...

    def metadata(self, run: Execution) -> dict[str, Any]:
        """Return what the result says about this kind of run, beside the usual counts."""
        ...


class Loop:
    """The flow of an agent: turn after turn until there is an answer."""

    async def work(self, run: Execution) -> None:
        state = run.state
        while state.finished is None and state.paused is None:
            if run.ending.exhausted is not None and not state.calls.open:
                await out_of_budget(run, run.ending.exhausted)
            else:
                if run.life.stopping:
                    await run.life.check()
                await turn(run)

    def partial_answer(self, run: Execution) -> str:
        return progress(run.state)

    def findings(self, run: Execution) -> str:
        return ""  # whatever a loop finds is said in its conversation

    def metadata(self, run: Execution) -> dict[str, Any]:
        return {}


async def drive(run: Execution, flow: Flow) -> RunResult[Any]:
    """The whole life of a run. The only exceptions that leave it: bad input at the start, `raise` settings, a failing
    journal, and the cancellation of whoever waits for it."""
    with logs_of(run.id, run.masks.masked if run.masks is not None else None):
        return await _drive(run, flow)


async def _drive(run: Execution, flow: Flow) -> RunResult[Any]:
    run.partial_answer, run.findings = flow.partial_answer, flow.findings
    _context = run.context  # kept for as long as it is driven
    journal = run.log.journal
    seconds = run.budget.seconds_left()
    alarm = None
    if seconds is not None:
        alarm = asyncio.get_running_loop().call_later(max(0.0, seconds), run.life.stop, "budget")
    try:
        await _live(run, flow)
    finally:
        await _taint_parent(run)
        run.early.discard()
        run.current.release_caches()
        if alarm is not None:
            alarm.cancel()
        if journal is not None:
            with suppress(JournalError):
                await journal.release(run.id, run.life.owner)
        await settle_with_parent(run)
        if run.life.stopping:
            with suppress(asyncio.CancelledError):  # asked for after the last moment it could be obeyed
                await asyncio.sleep(0)
    if run.ending.raises is not None:
        raise run.ending.raises
    if run.ending.error is not None and run.parent is None:
        # Nothing is raised: a program that looks at the answer alone would not know.
        reason = run.state.finished.stop_reason if run.state.finished is not None else "error"
        log_handled(run.blueprint.logger or logger, "run %s failed (%s)", run.id, reason, error=run.ending.error)
    result = result_now(run)
    metadata = flow.metadata(run)
    return msgspec.structs.replace(result, metadata={**result.metadata, **metadata}) if metadata else result


async def _taint_parent(run: Execution) -> None:
    """Whatever way a run inside another ends: what it has read, the one around it has read."""
    parent = run.parent
    if parent is None or run.life.abandoned:  # abandoned is left as by a crash: it taints when it is resumed
        return
    if parent.state.started is not None and parent.state.finished is None:
        sources = run.state.provenance.sources
        if any(source not in parent.state.provenance.sources for source in sources):
            await parent.emit(Tainted(tuple(sources), run.id))


def result_now(run: Execution) -> RunResult[Any]:
    """The result the run amounts to at this moment; what nobody read of its inbox is reported with it."""
    ending = run.ending
    typed = run.blueprint.output_type is not None
    if typed and ending.output is None and run.state.finished is not None:
        ending.output = recorded_output(run)
    result = result_of(
        run.state, run.id, system=run.current.system_prompt(), error=ending.error, output=ending.output,
        typed=typed, unread=run.inbox.unread(), exceptions=run.calls.exceptions,
    )  # fmt: skip
    if run.masks is None:
        return result
    # What is said to the user is restored; the conversation stays as it is in the log.
    said = ("answer", "brief", "pending", "artifacts", *(() if typed else ("output",)))
    return msgspec.structs.replace(result, **{name: run.masks.restored(getattr(result, name)) for name in said})


async def _live(run: Execution, flow: Flow) -> None:
    """Start, work, end. Whatever happens in between: a run that has started has its end in the log."""
    try:
        try:
            if (journal := run.log.journal) is not None:
                await journal.claim(run.id, run.life.owner)
            await _start(run)
            if run.life.stopping:  # asked for before the first step
                await run.life.check()
            if run.state.finished is None and run.state.paused is None:
                await _work(run, flow)
        except JournalError:
            raise
        except Exception as error:
            if run.state.started is None:  # bad input: there is no run yet
                raise
            await _unexpected(run, error)
    except asyncio.CancelledError:
        if run.life.abandoned:
            raise
        if task := asyncio.current_task():
            task.uncancel()
        await _wind_down(run)
        if not run.life.stopping:
            raise


async def _work(run: Execution, flow: Flow) -> None:
    try:
        await _call_start_hooks(run, whole=isinstance(flow, Loop))
        await flow.work(run)
    except Pause as pause:
        await run.life.settled()  # what works in the background is not cut off by a question to a person
        reason = str(pause)
        why = {call_id: text for call_id, text in pause.reasons().items() if text != reason}
        await run.emit(Paused(reason, pause.calls, why))


async def _start(run: Execution) -> None:
    state = run.state
    if state.finished is None and not run.life.stopping:
        await run.current.meet_model()
    if state.started is None:
        run.budget.require_prices(run.current.model.profile, run.current.model.name)
        blueprint, origin = run.blueprint, run.origin
        question = await prepared(origin.question, blueprint.models)
        system = blueprint.system if blueprint.system_of is None else await blueprint.system_of(run.context)
        await run.emit(
            RunStarted(
                question, blueprint.name, run.current.model.name, run.current.dialect.name, system,
                run.tools.at_start, origin.history, run.settings.asdict(), dict(blueprint.prompts),
                origin.conversation, origin.user, run.depth, run.current.model.profile, sources=sources_before(run),
                follows=origin.follows, preset=blueprint.preset, output_schema=origin.output_schema,
                client_tools=origin.client_tools, mark=origin.mark, acting=run.tools.acting,
                versions={} if run.log.journal is None else run.tools.versions,
            ),
            *([] if origin.constraint is None else [origin.constraint]),
            *([IntentSet(run.settings.may)] if isinstance(run.settings.may, Intent) else []),
        )  # fmt: skip
    elif state.finished is None:
        await settle_children(run)
        waiting = state.paused
        attempts = attempts_without_progress(run.log.records)
        if waiting is None and run.origin.unattended and attempts >= MAX_ATTEMPTS:
            await run.emit(parked(run.id, attempts))
            return
        changed = run.tools.changed(state.versions)
        if waiting is not None and not waiting.parked:
            await run.emit(Resumed("paused", changed=changed))
        else:
            # What is noted about a fork stands after its mark.
            last = next((one.event for one in reversed(run.log.records) if not isinstance(one.event, Noted)), None)
            forked = isinstance(last, Forked)
            reason = "forked" if forked else "restarted" if waiting is None else "unparked"
            await run.emit(Resumed(reason, attempts + 1, changed))
        if (offered := run.tools.renewed(state.tools, changed)) != state.tools:
            await run.emit(ToolsChanged(offered, "changed while the run was interrupted"))
        await run.inbox.fetch(at_once=True)
        names = {call.id: call.name for call in waiting.calls} if waiting is not None else {}
        asks = run.settings.changed_tools == "ask"
        for decision in run.inbox.decisions:
            if not isinstance(decision, ReplyConstrained):
                name = names.get(decision.call_id, "")
                if isinstance(decision, Approved) and decision.allow and name in changed and asks:
                    continue  # said of what the tool did before
                decision = msgspec.structs.replace(decision, tool=decision.tool or name)
            await run.emit(decision)
        run.inbox.decisions.clear()
        await run.drain()
        if run.current.model.name != state.model:
            await run.current.switch_model("the run was resumed with another model")


async def _call_start_hooks(run: Execution, *, whole: bool) -> None:
    """`whole`: the run thinks for itself; one that is made of other runs leaves what concerns a loop to them."""
    state, hooks = run.state, run.hooks
    resumed = state.seq > 0
    if hooks.on_start and not state.loop_started and not state.turn.iteration:
        before = state.seq
        chosen = hooks.on_start if whole else [hook for hook in hooks.on_start if not concerns_loop(hook)]
        await run_hooks(chosen, run.context)
        if state.seq != before:  # hooks that recorded nothing may run again after a crash
            await run.emit(LoopStarted())
    elif resumed and hooks.on_resume:
        await run_hooks(hooks.on_resume, run.context)
    run.tools.refuse_taken_names()  # now the plug-ins have given theirs


async def _wind_down(run: Execution) -> None:
    """Stopped from outside: answer every open call and record the end."""
    if run.state.started is None and run.life.stopping:  # while it was claimed
        if (journal := run.log.journal) is not None:
            await journal.claim(run.id, run.life.owner)
        await _start(run)
    if run.state.started is None or run.state.finished is not None:
        return
    why = run.life.stopping or "cancelled"
    await close_calls(run, why)
    if why != "budget":
        await cut_short(run, "cancelled")
        return
    seconds = run.settings.budget and run.settings.budget.seconds
    error = BudgetExhaustedError(f"the budget of {seconds} seconds is used up", cost=run.state.usage)
    await cut_short(run, "budget", error, raises=run.settings.on_budget == "raise")


async def _unexpected(run: Execution, error: Exception) -> None:
    """Nothing a model, a tool, a plug-in or a callback does may crash a run, nor keep its end out of the log."""
    try:
        await _end_with(run, error)
    except JournalError:
        raise
    except Exception as second:
        logger.exception("run %s failed once more while its end was written", run.id)
        if run.state.finished is None:
            run.ending.error = run.ending.error or second
            await run.emit(
                RunFinished("error", so_far(run), success=False, error=str(error)[:2000],
                            error_type=type(error).__name__)
            )  # fmt: skip


async def _end_with(run: Execution, error: Exception) -> None:
    if isinstance(error, BudgetExhaustedError):
        await out_of_budget(run, error)
    elif isinstance(error, LimitError):
        await close_calls(run, "limit")
        await cut_short(run, "limit", error, raises=True)
    else:
        await close_calls(run, "error")
        if isinstance(error, TreadleError):
            await fail(run, error)
            return
        logger.error("run %s failed unexpectedly", run.id, exc_info=error)
        reported = TreadleError(f"internal error: {type(error).__name__}: {error}")
        reported.__cause__ = error
        await fail(run, reported)
