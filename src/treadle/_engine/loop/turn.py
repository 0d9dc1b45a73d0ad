"""The loop. While the run is not finished: run the calls that wait, or conclude, or think again.

Each turn looks only at the state, so a resumed run continues exactly where its log ends.
"""

from __future__ import annotations

import asyncio
import re

import msgspec

from treadle._dialects.base import Decision
from treadle._dialects.registry import choose_dialect, reader_for
from treadle._engine.acting.round import run_tools
from treadle._engine.answering.ends import conclude, fail, finish, limit_reached, no_answer, out_of_budget
from treadle._engine.answering.writer import EMPTY, last_reply, last_words, said
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import run_hooks
from treadle._engine.reply_policy import AskAgain, Refuse
from treadle._engine.requests.model_calls import call_model, checked_call
from treadle._models.base import refused_tools
from treadle._safety.beside import read_beside
from treadle._safety.logs import get_logger, log_handled
from treadle._types.errors import BudgetExhaustedError, ContextOverflowError, ModelError, RequestRefusedError
from treadle._types.events import UNREADABLE, Event, MessageAdded, ThinkDone, ThinkStarted
from treadle._types.messages import AssistantMessage, ToolCall, UserMessage, text_of
from treadle._types.request import Reply

logger = get_logger()
NO_ACTION = "it holds neither an action nor a marked answer"
NOT_REPAIRED = (
    "No tool was run: your last reply could not be read, also after it was written again ({problem}). "
    "Go on with another step, or give the answer."
)
CALL_WANTED = "\n\nWhoever asked wants a call now, not an answer in words: call {tools}."


async def turn(run: Execution) -> None:
    state = run.state
    if state.calls.open:
        await run_tools(run)
        if run.inbox.open:
            await run.drain()
    elif state.answer.final_call is not None:
        await conclude(run, state.answer.final_call.full or text_of(state.answer.final_call.content), "final_tool")
    elif state.answer.candidate is not None:
        await conclude(run, state.answer.candidate, "answer")
    elif state.turn.problem:
        await unreadable(run)
    else:
        if state.turn.round_due and run.rounds_reviewed != len(state.steps):
            run.rounds_reviewed = len(state.steps)
            await run_hooks(run.hooks.after_round, run.context)
        if await repair_failed_calls(run):
            return
        if state.turn.iteration >= run.settings.max_iterations + state.turn.extra_iterations:
            await limit_reached(run)
        else:
            await think(run)


async def think(run: Execution, component: str = "loop", *, counted: bool = True) -> None:
    """Ask the model what to do, read its reply, and record both."""
    state = run.state
    if run.tools.swap is not None:
        await run.apply_swap()
    if component == "loop" and not state.turn.thinking and run.hooks.before_round:
        await run_hooks(run.hooks.before_round, run.context)
    run.tools.refuse_taken_names()
    if run.current.dialect.native and state.tools and state.started is not None and not state.started.tools:
        await run.current.meet_tools()
    iteration = state.turn.iteration + 1 if counted else max(1, state.turn.iteration)
    # Its words may be the answer: whoever watches sees them as they are written.
    stream = run.settings.stream_thoughts or (run.settings.answer == "direct" and run.log.watched)
    rendered = run.current.renderer.render(
        state, component=component, must_answer=bool(state.constraints.answer_only), stream=stream
    )
    request, policy = rendered.request, run.current.policy
    if policy is not None and request.decision_after and (bounds := policy.bounds(run.context)) is not None:
        request = request.replace(answer_from=bounds.answer_from, no_call_from=bounds.no_call_from)
    await run.emit(ThinkStarted(component, iteration, rendered.digest, rendered.parts, rendered.system))
    run.recovered.clear()
    try:
        if run.hooks.beside_first_request and not state.turn.iteration and component == "loop":
            reply, elapsed = await checked_call(run, request, iteration)
        else:
            reply, elapsed = await call_model(run, request, iteration)
    except BudgetExhaustedError as error:
        await out_of_budget(run, error)
        return
    except ModelError as error:
        await recover(run, error)
        return
    run.overflows = 0
    if run.current.counts_tokens:
        run.current.estimator.learn(request, reply.usage)
    decision = None if reply.broken_off else await read_beside(len(reply.text), read, run, reply, iteration)
    if policy is not None:
        verdict = await policy.review(run.context, reply, decision, request.decision_names)
        if isinstance(verdict, AskAgain):
            await _drop(run, *verdict.events(policy.name, component, iteration, reply))
            return
        if isinstance(verdict, Refuse):
            decision = Decision(problem=verdict.why)
    decision = decision or await read_beside(len(reply.text), read, run, reply, iteration)
    if not decision.calls or reply.finish == "length":
        run.early.discard()
    if decision.calls or decision.problem:
        run.answer.retract()
    await run.defer(
        ThinkDone(
            component, iteration, _message(run, reply, decision), decision.thought, decision.answer,
            decision.problem, decision.repaired, decision.task_successful, reply.finish, reply.usage, elapsed,
            rendered.digest, reply.options,
            decision.completes and bool(decision.answer or run.settings.answer != "direct"),
        )
    )  # fmt: skip
    if run.hooks.after_decision:
        await run_hooks(run.hooks.after_decision, run.context, decision)
    if run.current.model.profile.constrained and decision.calls and all(call.from_text for call in decision.calls):
        # Elsewhere they are read from its text for as long as they come: a free text would not be written better.
        await demote(run, "the model writes its calls as text")
    if run.inbox.open and not (run.current.dialect.native and decision.calls):
        await run.drain()


def _message(run: Execution, reply: Reply, decision: Decision) -> AssistantMessage:
    """The reply as a message of the conversation."""
    return AssistantMessage(
        # A call that was read from plain text becomes a real one; its text would only repeat it.
        text=decision.thought if run.current.dialect.native and decision.calls and not reply.calls else reply.text,
        calls=decision.calls,
        reasoning=reply.reasoning,
        # A native call has no text in which a text dialect could show it again.
        dialect="native" if reply.calls else run.current.dialect.name,
        opaque=reply.opaque,
        origin="model",
    )


async def _drop(run: Execution, *events: Event) -> None:
    """Take back what the reply started and showed, and record why it does not count."""
    run.early.discard()
    run.answer.retract()
    await run.emit(*events)


def _is_typed_answer(run: Execution, decision: Decision) -> bool:
    """Return whether what looks like a call of a tool that is not there is the data that the agent is to give."""
    if run.blueprint.output_type is None or not decision.calls:
        return False
    names = {tool.name for tool in run.state.tools}
    return all(call.from_text and call.name not in names for call in decision.calls)


def read(run: Execution, reply: Reply, iteration: int) -> Decision:
    """The reply's meaning. Calls get ids that are unique in the run; nothing readable at all is a problem."""
    known = run.state.turn.native_calls or run.current.model.profile.calls_natively
    decision = reader_for(run.current.dialect, reply, known).decode(reply, run.state.tools)
    if _is_typed_answer(run, decision):
        decision = Decision(decision.thought, answer=reply.text)
    two_phase = run.settings.answer != "direct"
    done = two_phase and bool(run.state.steps)
    if done and not decision.calls and not said(reply.text):  # with a second phase, nothing more to say is an end
        return Decision(thought=decision.thought, answer="")
    if decision.problem:
        return msgspec.structs.replace(decision, thought=decision.thought or UNREADABLE, calls=(), answer=None)
    if refusal := run.state.constraints.refusal([call.name for call in decision.calls]):
        return Decision(thought=decision.thought or decision.answer or UNREADABLE, problem=refusal)
    if decision.calls and run.state.constraints.answer_only:  # what is said beside a call is a thought
        answer = decision.answer or ("" if done else None)
        problem = "an answer was wanted, not a tool call" if answer is None else ""
        return Decision(thought=decision.thought, answer=answer, problem=problem)
    if not decision.calls:
        # With a second phase the loop may end without words of its own.
        complete = decision.answer == "" and (two_phase or decision.own_words)
        if not complete and (decision.answer or "").strip() in ("", "null"):
            return Decision(thought=decision.thought or UNREADABLE, problem=EMPTY)
        repair = run.settings.repair
        more = repair.missing == "strict" or run.state.turn.parse_failures < repair.max_parse
        if decision.unmarked and repair.missing and more and run.state.tools and not run.state.constraints.answer_only:
            return Decision(thought=decision.answer or "", problem=NO_ACTION)
        return decision
    used = run.calls.used_ids
    calls: list[ToolCall] = []
    renamed = False
    for index, call in enumerate(decision.calls):
        call_id = call.id
        if not call_id or call_id in used or not reply.calls:
            call_id = f"call_{iteration}_{index}"
            while call_id in used:
                call_id += "x"
        used.add(call_id)
        if call_id != call.id:
            renamed = True
            call = msgspec.structs.replace(call, id=call_id)
        calls.append(call)
    return msgspec.structs.replace(decision, calls=tuple(calls)) if renamed else decision


async def unreadable(run: Execution) -> None:
    """The last reply could not be read: ask again, a bounded number of times; then its text is the answer, or an
    observation says so and the loop goes on. A reply without words has none: the run ends as `empty`, and nothing of
    ours stands in."""
    state, policy = run.state, run.settings.repair
    failures = state.turn.parse_failures
    if failures > policy.max_parse:
        if state.constraints.answer_only:  # what it says instead of an answer is one more call
            await finish(run, "", "stuck", success=False)
        elif policy.exhausted == "observation" and last_reply(run):
            told = NOT_REPAIRED.replace("{problem}", state.turn.problem)
            await run.emit(MessageAdded(UserMessage(told, kind="observation"), "repair"))
        elif text := await last_words(run):
            await finish(run, text, "answer", success=False)
        else:
            await no_answer(run)
        return
    counted = policy.counts_as_iteration and not policy.separate_call
    if counted and state.turn.iteration >= run.settings.max_iterations + state.turn.extra_iterations:
        await (limit_reached(run) if state.steps or last_reply(run) else no_answer(run))
        return
    if failures >= 2:
        await demote(run, f"{failures} unreadable replies in a row")
    request = run.current.dialect.reformat(state.turn.problem, run.prompts)
    if state.constraints.lasting.must_act:
        request += CALL_WANTED.replace("{tools}", state.constraints.wanted)
    await run.emit(MessageAdded(UserMessage(request, kind="reformat"), "repair"))
    if policy.backoff:
        await asyncio.sleep(policy.backoff * failures)
    if policy.separate_call:
        await think(run, "repair", counted=False)
    elif not policy.counts_as_iteration:
        await think(run, counted=False)


async def repair_failed_calls(run: Execution) -> bool:
    """With a repair policy for tools: have the model fix the call that failed, in a request of its own."""
    state, policy = run.state, run.settings.repair
    if (
        not policy.max_tool
        or not 0 < state.calls.tool_failures <= policy.max_tool
        or not state.steps
        or not state.calls.round_failed
    ):
        return False
    step = state.steps[-1]
    text = run.prompts.get(
        "repair_call",
        "The call of `{tool}` failed. Read the error above, correct the tool or its arguments, and make one corrected "
        "call; or, if it cannot succeed, say what you will do instead.",
    )
    await run.emit(MessageAdded(UserMessage(text.replace("{tool}", step.tool), kind="reformat"), "repair"))
    if policy.backoff:
        await asyncio.sleep(policy.backoff * state.calls.tool_failures)
    await think(run, "repair", counted=False)
    return True


async def recover(run: Execution, error: ModelError) -> None:
    """A model call failed for good: shrink the request, speak another dialect, take the next model, or give up."""
    if await _another_way(run, error):
        if run.log.shown_answer:
            run.answer.void(run.state.turn.thinking or "loop")
    else:
        await fail(run, error)


async def _another_way(run: Execution, error: ModelError) -> bool:
    """Prepare the next attempt, if there is a way that has not been tried."""
    if isinstance(error, ContextOverflowError):
        if run.overflows < 1 and await _shrink(run, error):
            run.overflows += 1
            return True
    elif _may_refuse_tools(error) and await demote(run, f"the provider refuses native tools: {str(error)[:200]}"):
        if _speaks_of_tools(error) and not _ABOUT_ONE_TOOL.search(str(error)):
            refused_tools(run.current.model, store=run.settings.probe)
        return True
    if run.current.has_fallback:
        await run.current.use_fallback(str(error)[:300])
        return True
    return False


async def _shrink(run: Execution, error: ContextOverflowError) -> bool:
    for hook in run.hooks.on_overflow:
        try:
            if await hook(run.context, error):
                return True
        except ModelError:
            log_handled(logger, "making the context smaller failed")
    return False


_ABOUT_ONE_TOOL = re.compile(r"(?i)schema|parameter|propert|tools?[\[.]\d|function name|too many")
"""What one agent's tools are refused for says nothing about those of another."""


def _may_refuse_tools(error: ModelError) -> bool:
    if not isinstance(error, RequestRefusedError):
        return False
    # Whoever has not implemented something rarely says what it is.
    return error.status == 501 or (error.status in (400, 404, 422, 500) and _speaks_of_tools(error))


def _speaks_of_tools(error: ModelError) -> bool:
    text = str(error).lower()
    return "tool" in text or "function" in text


async def demote(run: Execution, reason: str) -> bool:
    """Go on in a dialect that asks less of the model, when the choice was left to us."""
    if not run.settings.dialect.startswith("auto") or not run.current.dialect.native:
        return False
    profile = run.current.model.profile.with_abilities({"tool_call": False, "dialect": None})
    dialect = choose_dialect(run.settings.dialect, profile).name
    if dialect == run.current.dialect.name:
        return False
    await run.current.demote_dialect(dialect, reason)
    return True
