"""Writing the answer the user gets: from the trace, from the conversation, or because a limit forces it."""

from __future__ import annotations

import logging

from treadle._engine.answering.progress import trace
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import PASSED_ON, plugin_name, report_failure
from treadle._engine.requests.model_calls import ask
from treadle._types.errors import BudgetExhaustedError, ModelError
from treadle._types.events import AnswerDelta, AnswerDone, AnswerStarted, Reset
from treadle._types.messages import Message, SystemMessage, UserMessage
from treadle._types.state_values import Step

logger = logging.getLogger("treadle")

SYNTHESIS = (
    "You write the reply a user reads. You are given the question and the record of the tools that were run for it. "
    "Answer the question from that record, first things first, in the language of the question, "
    "in markdown where it helps. "
    "Do not mention tools, records or how the answer came about, and do not invent what the record does not hold."
)
COMPLETE = (
    "The work is done. Write the full answer for the user now, from everything above, in the language of the question. "
    "Plain prose or markdown, no JSON, no tool call, nothing about how the work went."
)
FORCED = {
    "limit": "There is no room for another tool call. "
    "Answer the question now from what is known; say plainly what is missing.",
    "budget": "The budget is nearly used up. "
    "Answer the question now, briefly, from what is known; say plainly what is missing.",
}
SALVAGE = (
    "The task could not be finished. Summarise for the user what was tried, what was found, and what is still open. "
    "Do not claim success."
)


def trace_chars(run: Execution) -> int | None:
    """The characters a trace may have so that a request with it fits, the question and a draft answer beside it."""
    limit = run.token_limit
    return None if limit is None else int(limit * run.estimator.ratio / 2)


def synthesis_messages(
    prompt: str,
    question: str,
    steps: list[Step],
    brief: str,
    limit: int,
    max_chars: int | None = None,
    findings: str = "",
) -> list[Message]:
    """`findings` of runs inside this one take the place of their tool calls, which they rest on."""
    record = findings or trace(steps, limit, max_chars)
    facts = f"Question:\n{question}\n\nRecord of the work:\n{record}\n\nDraft answer:\n{brief}"
    return [SystemMessage(prompt), UserMessage(facts)]


def known(run: Execution) -> list[Message]:
    """Everything an answer may rest on: the conversation, and what runs inside this one have found."""
    messages = [*run.renderer.prepare(run.state)]
    if found := run.findings(run):
        messages.append(UserMessage(f"What the work on this has found:\n\n{found}", kind="note"))
    return messages


async def write_answer(run: Execution, brief: str) -> str:
    """The second phase: a streamed call that turns the work into an answer. If it fails, the brief answer stands in."""
    settings, state = run.settings, run.state
    if settings.answer == "synthesize":
        source = "synthesis"
        prompt = run.prompts.get("synthesis", SYNTHESIS)
        messages = synthesis_messages(
            prompt, state.question, state.steps, brief, settings.synthesis_chars, trace_chars(run), run.findings(run)
        )
    else:
        source = "complete"
        messages = [*known(run), UserMessage(run.prompts.get("complete", COMPLETE), kind="note")]
    await run.emit(AnswerStarted(source))
    try:
        reply = await ask(run, source, messages, stream=run.log.watched)
        text = reply.text.strip()
    except (ModelError, BudgetExhaustedError):
        logger.warning(
            "the answer could not be written in a call of its own; the loop's own answer stands in", exc_info=True
        )
        text = ""
    if not text:
        source, text = "fallback", brief
        run.show(Reset(source, 1))
        run.show(AnswerDelta(text))
    better = await polished(run, text)
    if better != text:
        text = better
        run.show(Reset(source, 1))
        run.show(AnswerDelta(text))
    await run.emit(AnswerDone(text, source))
    return text


async def polished(run: Execution, answer: str) -> str:
    """The answer after every plug-in's `on_answer`."""
    for hook in run.hooks.on_answer:
        try:
            answer = await hook(run.context, answer)
        except BudgetExhaustedError:
            logger.warning("the budget does not cover what %s does with the answer", plugin_name(hook), exc_info=True)
        except PASSED_ON:
            raise
        except Exception:
            report_failure(hook)
    return answer


async def force_answer(run: Execution, why: str) -> str:
    """One last call that may only answer."""
    prompt = run.prompts.get(f"forced_{why}", FORCED[why])
    messages = [*known(run), UserMessage(prompt, kind="note")]
    encoding = run.renderer.encoding(run.state, must_answer=True)
    reply = await ask(
        run, "final", messages, tools=encoding.tools, tool_choice=encoding.tool_choice, format=encoding.format
    )
    decision = run.dialect.decode(reply, ())
    return (decision.answer or ("" if decision.calls else reply.text) or decision.thought).strip()


async def salvage(run: Execution) -> str:
    steps = run.findings(run) or trace(run.state.steps, run.settings.synthesis_chars, trace_chars(run))
    facts = f"Task:\n{run.state.question}\n\nSteps so far:\n{steps}"
    reply = await ask(run, "salvage", [SystemMessage(run.prompts.get("salvage", SALVAGE)), UserMessage(facts)])
    return reply.text.strip()
