"""How a run ends: with an answer, at a limit, out of budget, or with an error; always with a reason."""

from __future__ import annotations

import msgspec

from treadle._engine.acting.execute import close_calls
from treadle._engine.acting.together import left_to_ask
from treadle._engine.answering.output import typed_answer
from treadle._engine.answering.writer import (
    EMPTY,
    SECOND_PHASE,
    as_written,
    component_for,
    last_words,
    polished,
    so_far,
    write_answer,
)
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import PASSED_ON, plugin_name, report_failure, run_hooks
from treadle._engine.receipts.enforce import sent_back, settled
from treadle._engine.result import metadata_of, result_of
from treadle._safety.logs import get_logger, log_handled
from treadle._types.errors import (
    BadReplyError,
    BudgetExhaustedError,
    GuardrailError,
    LimitError,
    MaxIterationsError,
    ModelError,
    StructuredCallError,
    TreadleError,
)
from treadle._types.events import (
    AnswerDone,
    AnswerStarted,
    MessageAdded,
    RunFinished,
    StopReason,
    ThinkDone,
    ThinkFailed,
)

logger = get_logger()


async def conclude(run: Execution, answer: str, reason: StopReason) -> None:
    """An answer is proposed. Plug-ins may send the loop on; a message that arrived meanwhile does."""
    may_go_on = run.state.turn.iteration < run.settings.max_iterations + run.state.turn.extra_iterations
    for hook in run.hooks.before_finish:
        try:
            verdict = await hook(run.context, answer)
        except BudgetExhaustedError:
            log_handled(logger, "the budget does not cover what %s does before the answer", plugin_name(hook))
            continue
        except PASSED_ON:
            raise
        except Exception:
            report_failure(hook)
            continue
        if isinstance(verdict, str):
            answer = verdict
        elif may_go_on:
            run.answer.retract()
            await run.emit(MessageAdded(verdict, plugin_name(hook)))
            return
    left = left_to_ask(run) if may_go_on and reason == "answer" else None
    if may_go_on and reason == "answer" and (events := (left,) if left else await sent_back(run, answer)):
        run.answer.retract()
        await run.emit(*events)
        return
    stopped = run.state.constraints.answer_only
    if reason == "answer":
        answer, reason = answer.strip(), "stuck" if stopped else reason
    if await (run.drain(at_once=True) if _takes_time(run) else run.last_drain()):
        return
    await finish(run, answer, reason, success=not stopped, may_go_on=True)


def _takes_time(run: Execution) -> bool:
    """Return whether something may be said between the proposed answer and the end: it is looked for once more then."""
    written_anew = component_for(run, "answer", "-") != ""
    return written_anew or run.blueprint.output_type is not None or bool(run.hooks.on_answer)


async def finish(
    run: Execution,
    brief: str,
    reason: StopReason,
    *,
    success: bool = True,
    error: BaseException | None = None,
    may_go_on: bool = False,
    written: bool = False,
) -> None:
    """Write the answer the user gets, unless it is `written` already, and record the end.

    With `may_go_on`, what the user says while the answer is written is answered first: then the run does not end here.
    """
    state, plain = run.state, None
    if state.answer.done is not None:
        answer, source = state.answer.done.text, state.answer.done.source
    elif written or (reason == "answer" and not success):
        answer, source = await as_written(run, reason, brief)
    else:
        answer, source = await write_answer(run, reason, brief)
    if run.blueprint.output_type is not None and reason in ("answer", "final_tool", "limit", "budget", "stuck"):
        try:
            draft = brief if brief.strip() else answer
            run.ending.output, plain, text = await typed_answer(run, draft)
            run.answer.typed(plain)
            if text != draft and state.answer.done is None:
                answer = await polished(run, text)
        except (StructuredCallError, ModelError, BudgetExhaustedError) as failure:
            success, error = False, failure
            if reason in ("answer", "final_tool"):  # what was wanted is not there: the text is what was found before
                reason, source = "error", "error"
    answer, success, error = await settled(run, answer, reason, success, error)
    if may_go_on:
        if _takes_time(run) and await run.last_drain():
            return
        if run.life.stopping:  # a stop that came meanwhile is not overtaken by the answer
            await run.life.check()
    if reason == "answer" and (source == "error" or not answer.strip()):  # the model, or a plug-in, left nothing of it
        reason, success, error = "empty", False, error or _nothing_said(run)
        source = "error" if source == "loop" else source
    if state.answer.done is None:
        if source not in (*SECOND_PHASE, "fallback"):
            await run.emit(AnswerStarted(source))
        await run.answer.settle(answer, source)
        await run.emit(AnswerDone(answer, source))
    task_successful = state.answer.task_successful
    finished = RunFinished(
        reason, answer, brief if brief != answer else "", success and task_successful is not False,
        str(error or "")[:2000], type(error).__name__ if error else "", task_successful, plain,
    )  # fmt: skip
    run.ending.error = error
    await end(run, finished)


async def cut_short(
    run: Execution, reason: StopReason, error: BaseException | None = None, *, raises: bool = False
) -> None:
    """The run is stopped: nobody is asked anything any more, and what was shown of the answer is what there is."""
    run.ending.error = error
    if raises:
        run.ending.raises = error
    text, shown = so_far(run), run.log.shown_answer
    if shown and run.state.answer.done is None:
        await run.emit(AnswerDone(shown, "partial"))
    name = type(error).__name__ if error is not None else ""
    await end(run, RunFinished(reason, text, success=False, error=str(error or "")[:2000], error_type=name))


async def end(run: Execution, finished: RunFinished) -> None:
    if run.hooks.on_end:
        preview = result_of(
            run.state, run.id, error=run.ending.error, output=run.ending.output, finished=finished,
            typed=run.blueprint.output_type is not None, exceptions=run.calls.exceptions,
        )  # fmt: skip
        try:
            await run_hooks(run.hooks.on_end, run.context, preview)
        except LimitError:
            log_handled(logger, "a limit does not allow what plug-ins do at the end: the answer stands")
    await run.close_inbox()
    if unread := tuple(text for _, text in run.inbox.drain()):
        finished = msgspec.structs.replace(finished, unread=unread)
    run.life.sealed = True
    await run.emit(finished)


def _nothing_said(run: Execution) -> ModelError:
    ends = (one.event for one in reversed(run.log.records) if isinstance(one.event, ThinkDone | ThinkFailed))
    if isinstance(last := next(ends, None), ThinkFailed):  # it left the words to a request, and that failed
        return BadReplyError(f"the model {run.state.model} gave no answer: {last.error}")
    turn = run.state.turn
    replies = "its last reply was" if turn.parse_failures < 2 else f"its last {turn.parse_failures} replies were"
    how = "empty" if turn.problem in ("", EMPTY) else f"not usable: {turn.problem}"
    return BadReplyError(f"the model {run.state.model} gave no answer: {replies} {how}")


async def no_answer(run: Execution) -> None:
    """The model said nothing, however often it was asked. No words of ours stand in for an answer."""
    error = _nothing_said(run)
    if run.settings.raise_errors:
        run.ending.raises = error
    await finish(run, "", "empty", success=False, error=error)


async def limit_reached(run: Execution) -> None:
    """The iterations are used up: what happens is a setting."""
    state, settings = run.state, run.settings
    text = f"no answer after {state.turn.iteration} iterations (max_iterations={settings.max_iterations})"
    error = MaxIterationsError(text, cost=state.usage, metadata=metadata_of(state))
    raises = settings.on_limit == "raise"
    if raises:
        run.ending.raises = error
    draft = await last_words(run) if settings.on_limit in ("fallback", "salvage") else ""
    await finish(run, draft, "limit", success=False, error=error, written=raises)


async def out_of_budget(run: Execution, error: BudgetExhaustedError) -> None:
    state = run.state
    error.cost, error.metadata = state.usage, metadata_of(state)
    await close_calls(run, "budget")
    if run.settings.on_budget == "raise":
        run.ending.raises = error
    await finish(run, "", "budget", success=False, error=error)


async def fail(run: Execution, error: TreadleError) -> None:
    """The run cannot go on: the error says why, and the answer is what was found so far."""
    if run.settings.raise_errors:
        run.ending.raises = error
    if isinstance(error, GuardrailError):
        run.ending.output = None  # what was refused is not given as a value either
        await finish(run, error.message, "error", success=False, error=error)
        return
    await finish(run, "", "error", success=False, error=error)
