"""How a run ends: with an answer, at a limit, out of budget, or with an error; always with a reason."""

from __future__ import annotations

import logging
from typing import Any

from treadle._engine.acting.execute import close_calls
from treadle._engine.answering.answer import force_answer, polished, salvage, write_answer
from treadle._engine.answering.output import typed_answer
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import PASSED_ON, plugin_name, report_failure, run_hooks
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

logger = logging.getLogger("treadle")


async def conclude(run: Execution, answer: str, reason: StopReason) -> None:
    """An answer is proposed. Plug-ins may send the loop on; a message that arrived meanwhile does."""
    may_go_on = run.state.iteration < run.settings.max_iterations + run.state.extra_iterations
    for hook in run.hooks.before_finish:
        try:
            verdict = await hook(run.context, answer)
        except BudgetExhaustedError:
            logger.warning("the budget does not cover what %s does before the answer", plugin_name(hook), exc_info=True)
            continue
        except PASSED_ON:
            raise
        except Exception:
            report_failure(hook)
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
    run: Execution,
    brief: str,
    reason: StopReason,
    *,
    success: bool = True,
    error: BaseException | None = None,
    written: bool = False,
) -> None:
    """Write the answer the user gets, unless it is `written` already, and record the end."""
    state = run.state
    failing = reason == "error" or run.ending.raises is not None
    answer, source, plain = brief, "tool" if reason == "final_tool" else "error" if failing else "loop", None
    if run.blueprint.output_type is not None and reason in ("answer", "final_tool", "limit", "budget", "stuck"):
        try:
            run.ending.output, plain = await typed_answer(run, brief)
        except (StructuredCallError, ModelError, BudgetExhaustedError) as failure:
            success, error = False, failure
    if state.answered is not None:
        answer = state.answered.text
    elif reason == "answer" and success and run.settings.answer != "direct" and not written:
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
        reason, answer, brief if brief != answer else "", success and task_successful is not False,
        str(error or "")[:2000], type(error).__name__ if error else "", task_successful, plain,
    )  # fmt: skip
    run.ending.error = error
    await end(run, finished)


async def end(run: Execution, finished: RunFinished) -> None:
    if run.hooks.on_end:
        preview = result_of(run.state, run.id, error=run.ending.error, output=run.ending.output, finished=finished)
        try:
            await run_hooks(run.hooks.on_end, run.context, preview)
        except LimitError:
            logger.warning("a limit does not allow what plug-ins do at the end: the answer stands", exc_info=True)
    await run.emit(finished)


async def limit_reached(run: Execution) -> None:
    """The iterations are used up: what happens is a setting."""
    state, settings = run.state, run.settings
    text = f"no answer after {state.iteration} iterations (max_iterations={settings.max_iterations})"
    error = MaxIterationsError(text, cost=state.usage, metadata=metadata_of(state))
    match settings.on_limit:
        case "raise":
            run.ending.raises = error
            await finish(run, "", "limit", success=False, error=error)
        case "force_answer":
            answer = await _guarded(run, force_answer(run, "limit"))
            await finish(run, answer or run.partial_answer(run), "limit", success=False, error=error)
        case "salvage":
            answer = await _guarded(run, salvage(run)) if settings.summarize_progress else ""
            await finish(run, answer or run.partial_answer(run), "limit", success=False, error=error)
        case "fallback":
            await finish(run, run.partial_answer(run), "limit", success=False, error=error)


async def out_of_budget(run: Execution, error: BudgetExhaustedError) -> None:
    state = run.state
    error.cost, error.metadata = state.usage, metadata_of(state)
    await close_calls(run, "budget")
    answer = ""
    if run.settings.on_budget == "raise":
        run.ending.raises = error
    else:
        answer = await _guarded(run, force_answer(run, "budget"))
    await finish(run, answer or run.partial_answer(run), "budget", success=False, error=error)


async def fail(run: Execution, error: TreadleError) -> None:
    """The run cannot go on: say why, with what was found so far."""
    if run.settings.raise_errors:
        run.ending.raises = error
    what = "The model could not be used any further" if isinstance(error, ModelError) else "The run could not go on"
    await finish(
        run,
        f"{what} ({type(error).__name__}). {run.partial_answer(run)}",
        "error",
        success=False,
        error=error,
    )


async def _guarded(run: Execution, answering: Any) -> str:
    """A last answer is welcome, not required: without one the summary of the steps stands in."""
    try:
        return await answering
    except (ModelError, BudgetExhaustedError):
        logger.warning("could not get a final answer", exc_info=True)
        return ""
