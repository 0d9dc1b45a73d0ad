"""How a run ends: with an answer, at a limit, out of budget, or with an error; always with a reason."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from treadle._engine.acting.calls import close_calls
from treadle._engine.answering.answer import force_answer, polished, progress, salvage, write_answer
from treadle._engine.answering.output import typed_answer
from treadle._engine.core.hooks import PASSED_ON, plugin_name, run_hooks
from treadle._engine.result import metadata_of, result_of
from treadle._types.errors import (
    BudgetExhaustedError,
    LimitError,
    MaxIterationsError,
    ModelError,
    StructuredCallError,
    TreadleError,
)
from treadle._types.events import AnswerDelta, AnswerDone, AnswerStarted, MessageAdded, RunFinished, StopReason

if TYPE_CHECKING:
    from treadle._engine.run import Run

logger = logging.getLogger("treadle")


async def conclude(run: Run, answer: str, reason: StopReason) -> None:
    """An answer is proposed. Plug-ins may send the loop on; a message that arrived meanwhile does."""
    may_go_on = run.state.iteration < run.settings.max_iterations + run.state.extra_iterations
    for hook in run.hooks.before_finish:
        try:
            verdict = await hook(run, answer)
        except BudgetExhaustedError:
            logger.warning("the budget does not cover what %s does before the answer", plugin_name(hook), exc_info=True)
            continue
        except PASSED_ON:
            raise
        except Exception:
            logger.warning("a plug-in failed before the answer and is ignored", exc_info=True)
            continue
        if isinstance(verdict, str):
            answer = verdict
        elif may_go_on:
            await run.emit(MessageAdded(verdict, plugin_name(hook)))
            return
    if await run.drain(at_once=True):
        return
    stopped = run.state.answer_only
    if stopped and reason == "answer":
        reason = "stuck"
    await finish(run, answer, reason, success=not stopped)


async def finish(
    run: Run, brief: str, reason: StopReason, *, success: bool = True, error: BaseException | None = None
) -> None:
    """Write the answer the user gets, and record the end."""
    state = run.state
    failing = reason == "error" or run.raises is not None
    answer, source, plain = brief, "tool" if reason == "final_tool" else "error" if failing else "loop", None
    if run.blueprint.output_type is not None and reason in ("answer", "final_tool", "limit", "budget", "stuck"):
        try:
            run.output, plain = await typed_answer(run, brief)
        except (StructuredCallError, ModelError, BudgetExhaustedError) as failure:
            success, error = False, failure
    if state.answered is not None:
        answer = state.answered.text
    elif reason == "answer" and success and run.settings.answer != "direct":
        answer = await write_answer(run, brief)
    else:
        if reason != "error":
            answer = await polished(run, answer)
        await run.emit(AnswerStarted(source))
        if answer:
            run.show(AnswerDelta(answer))
        await run.emit(AnswerDone(answer, source))
    task_successful = state.task_successful
    finished = RunFinished(
        reason, answer, brief if brief != answer else "", success and task_successful is not False, str(error or "")[:2000],
        type(error).__name__ if error else "", task_successful, plain,
    )  # fmt: skip
    run.error = error
    await end(run, finished)


async def end(run: Run, finished: RunFinished) -> None:
    if run.hooks.on_end:
        preview = result_of(run.state, run.id, error=run.error, output=run.output, finished=finished)
        try:
            await run_hooks(run, "on_end", preview)
        except LimitError:
            logger.warning("a limit does not allow what plug-ins do at the end: the answer stands", exc_info=True)
    await run.emit(finished)


async def limit_reached(run: Run) -> None:
    """The iterations are used up: what happens is a setting."""
    state, settings = run.state, run.settings
    text = f"no answer after {state.iteration} iterations (max_iterations={settings.max_iterations})"
    error = MaxIterationsError(text, cost=state.usage, metadata=metadata_of(state))
    match settings.on_limit:
        case "raise":
            run.raises = error
            await finish(run, "", "limit", success=False, error=error)
        case "force_answer":
            answer = await _guarded(run, force_answer(run, "limit"))
            await finish(run, answer or progress(state), "limit", success=False, error=error)
        case "salvage":
            answer = await _guarded(run, salvage(run)) if settings.summarize_progress else ""
            await finish(run, answer or progress(state), "limit", success=False, error=error)
        case "fallback":
            await finish(run, progress(state), "limit", success=False, error=error)


async def out_of_budget(run: Run, error: BudgetExhaustedError) -> None:
    state = run.state
    error.cost, error.metadata = state.usage, metadata_of(state)
    await close_calls(run, "budget")
    answer = ""
    if run.settings.on_budget == "raise":
        run.raises = error
    else:
        answer = await _guarded(run, force_answer(run, "budget"))
    await finish(run, answer or progress(state), "budget", success=False, error=error)


async def fail(run: Run, error: TreadleError) -> None:
    """The model failed for good: say so, with what was found so far."""
    if run.settings.raise_errors:
        run.raises = error
    found = progress(run.state)
    await finish(
        run,
        f"The model could not be used any further ({type(error).__name__}). {found}",
        "error",
        success=False,
        error=error,
    )


async def _guarded(run: Run, answering: Any) -> str:
    """A last answer is welcome, not required: if it cannot be had the summary of the steps stands in."""
    try:
        return await answering
    except (ModelError, BudgetExhaustedError):
        logger.warning("the last answer could not be had", exc_info=True)
        return ""
