"""Driving a run from its first record, or from wherever its log ends, to its last."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from treadle._engine.acting.calls import close_calls
from treadle._engine.answering.answer import progress
from treadle._engine.answering.ends import end, fail, out_of_budget
from treadle._engine.core.hooks import run_hooks
from treadle._engine.loop.turn import turn
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._types.errors import BudgetExhaustedError, ConfigError, JournalError, LimitError, TreadleError
from treadle._types.events import Approved, LoopStarted, Resumed, RunFinished, RunStarted

logger = logging.getLogger("treadle")


async def drive(run: Run) -> RunResult:
    """The whole life of a run. The only exceptions that leave it: bad input at the start, `raise` settings, a failing
    journal, and the cancellation of whoever waits for it."""
    state = run.state
    journal = run.log.journal
    left = run.purse.seconds_left()
    alarm = asyncio.get_running_loop().call_later(max(0.0, left), run.stop, "budget") if left is not None else None
    if journal is not None:
        await journal.claim(run.id, run.owner)
    try:
        await _start(run)
        while state.finished is None and state.paused is None:
            if run.exhausted is not None and not state.open:
                await out_of_budget(run, run.exhausted)
            else:
                if run.stopping:
                    await run.check()
                await turn(run)
    except asyncio.CancelledError:
        if run.abandoned:
            raise
        if task := asyncio.current_task():
            task.uncancel()
        await _wind_down(run)
        if not run.stopping:
            raise
    except (ConfigError, JournalError):
        raise
    except Exception as error:
        await _unexpected(run, error)
    finally:
        run.eager.discard()
        run.release_caches()
        if alarm is not None:
            alarm.cancel()
        if journal is not None:
            with suppress(JournalError):
                await journal.release(run.id, run.owner)
        if run.stopping:
            with suppress(asyncio.CancelledError):  # asked for after the last moment it could be obeyed
                await asyncio.sleep(0)
    if run.raises is not None:
        raise run.raises
    return run.result()


async def _start(run: Run) -> None:
    state = run.state
    resumed = state.started is not None
    if not resumed:
        run.purse.require_prices(run.model.profile, run.model.name)
        blueprint = run.blueprint
        await run.emit(
            RunStarted(
                run.question, blueprint.name, run.model.name, run.dialect.name, blueprint.system, tuple(run.toolkit.schemas), run.history,
                run.settings.asdict(), dict(blueprint.prompts), run.conversation, run.user, run.depth,
                run.model.profile,
            )
        )  # fmt: skip
    elif state.finished is None:
        await run.emit(Resumed("paused" if state.paused else "restarted"))
        await run.inbox.fetch(at_once=True)
        for call_id, allow, by, note in run.inbox.approvals:
            await run.emit(Approved(call_id, allow, by, note))
        run.inbox.approvals.clear()
    if run.hooks.on_start and not state.loop_started and state.finished is None and not state.iteration:
        before = state.seq
        await run_hooks(run, "on_start")
        if state.seq != before:  # hooks that recorded nothing may run again after a crash
            await run.emit(LoopStarted())
    elif resumed and state.finished is None and run.hooks.on_resume:
        await run_hooks(run, "on_resume")


async def _wind_down(run: Run) -> None:
    """Stopped from outside: answer every open call and record the end."""
    if run.state.started is None or run.state.finished is not None:
        return
    why = run.stopping or "cancelled"
    await close_calls(run, why)
    if why == "budget":
        error = BudgetExhaustedError(
            f"the budget of {run.settings.budget and run.settings.budget.seconds} seconds is used up",
            cost=run.state.usage,
        )
        run.error = error
        if run.settings.on_budget == "raise":
            run.raises = error
        await end(
            run,
            RunFinished(
                "budget", progress(run.state), success=False, error=str(error), error_type=type(error).__name__
            ),
        )
    else:
        await end(run, RunFinished("cancelled", progress(run.state), success=False))


async def _unexpected(run: Run, error: Exception) -> None:
    """Nothing a model or a tool does may crash a run; a fault of our own ends it with a clear record as well."""
    if isinstance(error, BudgetExhaustedError):
        await out_of_budget(run, error)
    elif isinstance(error, LimitError):
        run.raises = error
        await close_calls(run, "limit")
        await end(
            run,
            RunFinished("limit", progress(run.state), success=False, error=str(error), error_type=type(error).__name__),
        )
    else:
        logger.exception("run %s failed unexpectedly", run.id)
        await close_calls(run, "error")
        known = (
            error
            if isinstance(error, TreadleError)
            else TreadleError(f"internal error: {type(error).__name__}: {error}")
        )
        known.__cause__ = error if known is not error else error.__cause__
        await fail(run, known)
