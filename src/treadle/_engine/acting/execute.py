"""The one way a tool runs, whoever asks: the model, an early start, code, a plan, a document, an MCP client.

A call is admitted first: arguments that are partly a guess go to `pure` tools only; then the plug-ins' policy, then
provenance (what the run has read from outside), then a person's approval where one of them or the tool asks for it: one
yes to exactly this call answers both. What cannot decide refuses: a hook that raises has refused the call. An admitted
call is reserved in the budget, recorded as started, run (if its arguments fit the tool), and recorded as done; whatever
ends it, its reservation is settled.

Where nothing could refuse it (no policy, approval or budget), a call without effects may start while its reply is still
being written; it is recorded when the reply is complete and asks for it, and leaves no trace otherwise.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from treadle._engine.acting.call_context import CallContext
from treadle._engine.acting.provenance import objection, sends, source_of
from treadle._engine.acting.together import Admitted, Settle, Undecided, record_decision
from treadle._engine.core.decisions import decision_of
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import PASSED_ON, Pause, plugin_name, report_failure
from treadle._engine.requests.media import prepared
from treadle._engine.requests.spending import hold_answer, set_aside, settle
from treadle._models.transport.redirects import MOST
from treadle._safety.beside import read_beside
from treadle._safety.hidden import unseen_in
from treadle._safety.logs import get_logger, log_handled
from treadle._safety.tree import size_of
from treadle._tools.base import Approval, Tool, ToolOutcome
from treadle._tools.external import outcome_of_answer
from treadle._tools.runner import run_call, wrong_arguments
from treadle._types.errors import BudgetExhaustedError, GuardrailError, ToolError
from treadle._types.events import Act, Approved, ToolDone, ToolStarted
from treadle._types.messages import ToolCall
from treadle._types.usage import NO_USAGE, Usage

logger = get_logger()

NOT_IN_EXPERIMENT = (
    "The result of this call is not known: it was not made in the recorded run, and it is not made in an experiment, "
    "because it could have an effect. Go on without it."
)
_REDIRECT = ".redirect-"
_ONE_CALL = Usage(tool_calls=1)
_NO_EXTRAS: Mapping[str, Any] = {}


async def admit(
    run: Execution,
    call: ToolCall,
    tool: Tool | None = None,
    extras: Mapping[str, Any] = _NO_EXTRAS,
    *,
    ask: bool = True,
) -> Admitted | ToolOutcome:
    """Let a call through, or say why not. Raises `Pause` when a person has to decide first; without `ask`, `Undecided`
    before anybody is asked.

    `tool` is given where the call is not one the model chose from its offer (a component of a document).
    """
    if call.repaired and (guess := _guess(run, call, tool or run.tools.callable_tool(run.state, call.name))):
        return guess
    for hook in run.hooks.before_tool:
        try:
            verdict = await hook(run.context, call)
        except Pause as pause:
            pause.calls = pause.calls or (call,)
            raise
        except PASSED_ON:
            raise
        except Exception as error:
            log_handled(logger, "plug-in %s failed before a call of %s, which is refused", plugin_name(hook), call.name)
            return _refused(call, f"the check by {plugin_name(hook)} failed ({type(error).__name__})")
        if isinstance(verdict, ToolOutcome):
            return verdict
        call = verdict if verdict.id == call.id else msgspec.structs.replace(verdict, id=call.id)
    tool = tool or run.tools.callable_tool(run.state, call.name)
    if call.repaired and (guess := _guess(run, call, tool)):  # a plug-in may have sent it to another tool
        return guess
    chosen, tool = tool, for_call(run, call, tool)
    if run.in_experiment and not may_run_again(tool):
        return ToolOutcome(NOT_IN_EXPERIMENT, "unknown_outcome", executed=False)
    if tool is not None and tool.name in run.state.changed_tools and run.settings.changed_tools == "refuse":
        return _refused(call, "it is not as it was when the run started")
    policy = _policy(run, tool)
    if policy == "deny":
        return _refused(call, "it is not allowed here")
    if run.settings.may == "derive" and tool is not None and tool.untrusted:
        from treadle._engine.acting.deriving import settle_intent  # few runs derive what they may do

        await settle_intent(run, _ask_person)
    why = ""
    if tool is not None and run.settings.provenance != "off":
        why = await objection(run, tool, call, execute_call)
    if why and run.settings.provenance == "deny":
        return _refused(call, f"{why}, it would have to be what the user asked for, in the user's own words")

    if tool is None or (policy == "allow" and not why):
        return _let_through(run, call, tool)
    asking = functools.partial(_settled, run, call, tool, chosen, why, extras)
    return await asking(None if ask else asking)


async def _settled(
    run: Execution,
    call: ToolCall,
    tool: Tool,
    chosen: Tool | None,
    why: str,
    extras: Mapping[str, Any],
    later: Settle | None = None,
) -> Admitted | ToolOutcome:
    """The call as a person has allowed it, with the policy for what it has become."""
    verdict = await _approved(run, call, tool, why, extras, later)
    if isinstance(verdict, ToolOutcome):
        return verdict
    return _let_through(run, verdict, tool if verdict is call else for_call(run, verdict, chosen) or tool)


def _let_through(run: Execution, call: ToolCall, tool: Tool | None) -> Admitted | ToolOutcome:
    return Admitted(call, tool) if tool is None or not tool.external else _answered(run, call, tool)


def _answered(run: Execution, call: ToolCall, tool: Tool) -> Admitted | ToolOutcome:
    """A call of a tool without a body: let through once whoever called has given its result. Wrong arguments are the
    model's to correct; nobody out there is bothered with them."""
    if call.id in run.state.calls.results:
        return Admitted(call, tool)
    if (wrong := wrong_arguments(tool, call, run.limits, _NO_EXTRAS)) is not None:
        return wrong
    decision = run.state.calls.approvals.get(call.id)
    if decision is not None and not decision.allow:
        return _refused(call, f"the user refused{f': {decision.note}' if decision.note else ''}")
    raise Pause(f"result of {call.name}", (msgspec.structs.replace(call, external=True),))


def may_run_again(tool: Tool | None) -> bool:
    """Return what may run in an experiment: only what its author has called `pure`, and what does not get hold of the
    run (an agent as a tool starts runs of its own). A name without a tool does nothing."""
    if tool is None:
        return True
    return tool.effect == "pure" and not tool.context_param and not tool.external and tool.approval == "allow"


def for_call(run: Execution, call: ToolCall, tool: Tool | None) -> Tool | None:
    """Return the tool with its policy for exactly this call; where that cannot be worked out, its own holds."""
    if tool is None or tool.for_call is None or call.problem:
        return tool
    try:
        return tool.for_call(run.context, {**tool.defaults, **call.args})
    except Exception:
        log_handled(logger, "the policy of %s for one call could not be worked out: its own holds", tool.name)
        return tool


def _policy(run: Execution, tool: Tool | None) -> Approval:
    """Return what the tool says itself, unless this run or one around it asks about it. A name without a tool does
    nothing."""
    if tool is None:
        return "allow"
    asked = run.calls.asks and not run.calls.asks.isdisjoint((*tool.all_names, "all"))
    return "ask" if tool.approval == "allow" and (asked or _note(run, tool)) else tool.approval


def _note(run: Execution, tool: Tool) -> str:
    """Return why a person is asked about a tool that has changed under the run."""
    asks = tool.name in run.state.changed_tools and run.settings.changed_tools == "ask"
    return f"{tool.name} is not as it was when the run started" if asks else ""


async def _approved(
    run: Execution, call: ToolCall, tool: Tool, why: str, extras: Mapping[str, Any], later: Settle | None
) -> ToolCall | ToolOutcome:
    """The call as a person has allowed it; the refusal when the answer is no, or when asking failed. With `later`
    nobody is asked yet."""
    decision = run.state.calls.approvals.get(call.id)
    if decision is None and allowed_for_run(run, call, why, tool.scope):
        return call
    if decision is None:
        if (wrong := _not_to_be_asked_about(run, call, tool, extras)) is not None:
            return wrong
        asked = "; ".join(filter(None, (why, _note(run, tool), unseen_in(call.args))))
        run.calls.asked[call.id] = asked
        if later is not None:
            raise Undecided(asked or f"approval of {call.name}", call, tool, later)
        await run.flush()
        try:
            decision = await _ask_person(run, call, tool.scope or call.name)
        except PASSED_ON:
            raise
        except Exception as error:
            log_handled(logger, "asking for the approval of %s failed, and the call is refused", call.name)
            return _refused(call, f"asking for approval failed ({type(error).__name__})")
    if decision is None:
        about = (why or _note(run, tool) or f"approval of {call.name}", unseen_in(call.args))
        raise Pause("; ".join(filter(None, about)), (call,))
    if decision.allow:
        if decision.always and tool.scope and decision.tool != tool.scope:  # said elsewhere, about the name
            await run.emit(msgspec.structs.replace(decision, tool=tool.scope))
        return call if decision.args is None else msgspec.structs.replace(call, args=decision.args, raw="")
    return _refused(call, f"the user refused{f': {decision.note}' if decision.note else ''}")


def _not_to_be_asked_about(run: Execution, call: ToolCall, tool: Tool, extras: Mapping[str, Any]) -> ToolOutcome | None:
    """Return what is wrong with a call that could not be made whatever a person says: that is the model's to
    correct."""
    if run.masks is None:
        return wrong_arguments(tool, call, run.limits, extras)
    wrong = wrong_arguments(tool, run.masks.for_tool(call), run.limits, extras)
    return None if wrong is None else run.masks.outcome(wrong, run.limits.max_chars)


def allowed_for_run(run: Execution, call: ToolCall, why: str, scope: str = "") -> bool:
    """Return whether a person has allowed every call of this tool, or of its `scope`, in this run or one around it.
    What was allowed before anything was read from outside does not hold for what comes of it (`why`)."""
    name = scope or call.name
    states = (around.state for around in run.around())
    return any(name in (state.provenance.always if why else state.calls.always_allowed) for state in states)


async def _ask_person(run: Execution, call: ToolCall, scope: str) -> Approved | None:
    """Whoever can ask a person does: first in this run, then in those around it."""
    for around in run.around():
        for hook in around.hooks.on_approval:
            answer = await hook(run.context, call)
            if answer is not None:
                decision = msgspec.structs.replace(decision_of(call.id, answer), tool=scope)
                await record_decision(run, around, decision)
                return decision
    return None


def _guess(run: Execution, call: ToolCall, tool: Tool | None) -> ToolOutcome | None:
    """The refusal of a call whose arguments are partly a guess. Only a tool declared `pure` may run on a guess, unless
    `repaired_args` says otherwise: a wrong one costs nothing there. The model is told what was read and what is wrong,
    as after any call that failed."""
    if tool is None or tool.effect == "pure" or call.problem or run.settings.repaired_args == "all":
        return None
    read = msgspec.json.encode(call.args).decode(errors="replace")
    text = (
        f"Tool '{call.name}' was not run, because its arguments would be a guess: {call.repaired}. "
        f"They were read as {read if len(read) <= 400 else read[:400] + ' ...'}. "
        "If you want this call, make it again, written correctly; otherwise go on without it."
    )
    return ToolOutcome(text, "invalid_args", executed=False)


def _refused(call: ToolCall, why: str) -> ToolOutcome:
    return ToolOutcome(f"Tool '{call.name}' was not run: {why}.", "denied", executed=False)


async def execute_call(
    run: Execution,
    call: ToolCall,
    *,
    verdict: Admitted | ToolOutcome | None = None,
    tool: Tool | None = None,
    extras: Mapping[str, Any] = _NO_EXTRAS,
) -> ToolOutcome:
    """One call from its admission (unless it has its `verdict` already) to its recorded result.

    Raises `Pause` when a person has to decide.
    """
    if run.life.stopping:
        await run.life.check()
    if verdict is None:
        verdict = await admit(run, call, tool, extras)
    iteration = run.state.turn.iteration
    if isinstance(verdict, ToolOutcome):
        name, outcome = call.name, verdict
    else:
        name = verdict.call.name
        execute = _run_within_budget if run.budget.bounded else _run
        outcome = await execute(run, verdict, iteration, extras)
        if not isinstance(outcome.content, str):
            content = await prepared(outcome.content, run.blueprint.models, refuse=False)
            outcome = msgspec.structs.replace(outcome, content=content)
    # The record of a round's last result may wait for the request that follows it.
    last = call.id in run.state.calls.open and (len(run.state.calls.open) == 1 or len(run.state.calls.pending()) == 1)
    done = _done(call.id, name, iteration, outcome, _act(run, verdict, call, tool))
    await (run.defer if last else run.emit)(done)
    return outcome


async def _run_within_budget(
    run: Execution, admitted: Admitted, iteration: int, extras: Mapping[str, Any]
) -> ToolOutcome:
    """Run it, if the budget has a call left. A call that is cut off half-way counts: it may have taken effect."""

    def worst() -> Usage:
        hold_answer(run)
        return _ONE_CALL

    try:
        reservation = await set_aside(run, worst)
    except BudgetExhaustedError as error:
        run.ending.exhausted = error
        return ToolOutcome(f"Not run: {error}.", "rejected", executed=False)
    used = _ONE_CALL
    try:
        outcome = await _run(run, admitted, iteration, extras)
        used = _ONE_CALL if outcome.executed else NO_USAGE
        return outcome
    finally:
        await settle(run, reservation, used)


async def _run(run: Execution, admitted: Admitted, iteration: int, extras: Mapping[str, Any]) -> ToolOutcome:
    call, tool = admitted.call, admitted.tool
    if run.in_experiment and not may_run_again(tool):  # admitted before, or elsewhere: here it would run
        return ToolOutcome(NOT_IN_EXPERIMENT, "unknown_outcome", executed=False)
    context = CallContext(run, call.id, call.name)
    external = tool is not None and tool.external
    # A result that is in the log can be taken from there again, whatever its tool does out there.
    effect = "pure" if tool is None or external else tool.effect
    await run.emit(ToolStarted(call, iteration, context.idempotency_key, effect))
    early = run.early.take(call) if not extras and not external else None
    if tool is not None and external:
        outcome = outcome_of_answer(tool, run.state.calls.results[call.id], run.limits)
    elif early is not None:
        outcome = await early
    else:
        toolkit = run.tools.toolkit if tool is not None else run.tools.offered(run.state)
        given = call if run.masks is None else run.masks.for_tool(call)
        outcome = await run_call(tool, given, limits=run.limits, toolkit=toolkit, extras=extras, context=context)
    if run.masks is not None:
        try:
            outcome = await read_beside(size_of(outcome), run.masks.outcome, outcome, run.limits.max_chars)
        except asyncio.CancelledError:  # the effect has happened, as below
            outcome = run.masks.outcome(outcome, run.limits.max_chars)
            await run.emit(_done(call.id, call.name, iteration, outcome, _act(run, admitted, call, tool)))
            raise
    if isinstance(outcome.exception, GuardrailError):  # of the agent that has the conversation now: it stops the run
        raise outcome.exception
    if outcome.exception is not None:
        _report(run, call, outcome.exception)
    if context.answered and not outcome.final:  # it failed half-way
        run.answer.retract()
    if outcome.waiting:
        raise Pause(f"{call.name} waits for a person", outcome.waiting, outcome.why)
    source = source_of(tool, call, outcome)
    if outcome.instead:
        outcome = await _made_instead(run, call, outcome.instead)
        return msgspec.structs.replace(outcome, executed=True, source=source)
    if source != outcome.source:
        outcome = msgspec.structs.replace(outcome, source=source)
    for hook in run.hooks.after_tool:
        try:
            outcome = await hook(run.context, call, outcome)
        except PASSED_ON:
            raise
        except asyncio.CancelledError:
            # The effect has happened: its record must not be lost with the plug-in.
            await run.emit(_done(call.id, call.name, iteration, outcome, _act(run, admitted, call, tool)))
            raise
        except Exception:
            report_failure(hook)
    # A plug-in may write the result anew; what it is made of still comes from there.
    return outcome if outcome.source or not source else msgspec.structs.replace(outcome, source=source)


async def _made_instead(run: Execution, call: ToolCall, instead: Mapping[str, Any]) -> ToolOutcome:
    """The outcome of the call that a redirect makes of one: a call of its own, for the gate and in the log. Its id
    tells where it leads, so that a yes is for that alone."""
    args: dict[str, Any] = {**call.args, **(instead if run.masks is None else run.masks.masked(dict(instead)))}
    if call.id.count(_REDIRECT) >= MOST:
        return ToolOutcome(f"Tool '{call.name}': redirected more than {MOST} times.", "exception")
    mark = sha256(msgspec.json.encode(args, order="deterministic")).hexdigest()[:16]
    following = ToolCall(f"{call.id}{_REDIRECT}{mark}", call.name, args)
    run.calls.redirects.add(following.id)
    try:
        return await execute_call(run, following)
    finally:  # nothing that a model names like it is taken for it
        run.calls.redirects.discard(following.id)


def _report(run: Execution, call: ToolCall, error: BaseException) -> None:
    """The model is told the class of an exception; the developer gets all of it, in the log and in the result."""
    run.calls.exceptions[call.id] = error
    if isinstance(error, ToolError):  # its text was meant for the model
        logger.debug("tool %r of run %s refused: %s", call.name, run.id, error)
    else:
        log_handled(logger, "tool %r failed in run %s", call.name, run.id, error=error)


def start_early(run: Execution, tool: Tool, call: ToolCall) -> tuple[asyncio.Task[ToolOutcome], CallContext]:
    """Begin a call before its reply is complete. Only for what `may_start_early` allows; `_run` adopts it."""
    context = CallContext(run, "", call.name)
    given = call if run.masks is None else run.masks.for_tool(call)
    work = run_call(tool, given, limits=run.limits, toolkit=run.tools.toolkit, extras={}, context=context)
    return asyncio.ensure_future(work), context


def may_start_early(run: Execution, tool: Tool | None) -> bool:
    """Nothing may stand between the call and its execution: no effect, policy, approval, budget or extras."""
    return (
        tool is not None
        and tool.effect == "pure"
        and not tool.external
        and _policy(run, tool) == "allow"
        and (run.settings.provenance == "off" or not sends(tool))
        and tool.concurrent
        and not run.hooks.has_policy
        and not run.calls.extras
        and not run.budget.bounded
        and not run.in_experiment
    )


def _act(run: Execution, verdict: Admitted | ToolOutcome | None, call: ToolCall, tool: Tool | None) -> Act | None:
    """Return the entry for the ledger of a call, run or not."""
    if isinstance(verdict, Admitted):
        call, tool = verdict.call, verdict.tool
    tool = tool or run.tools.callable_tool(run.state, call.name)
    return None if tool is None else tool.act(call.args)


def _done(call_id: str, name: str, iteration: int, outcome: ToolOutcome, act: Act | None) -> ToolDone:
    return ToolDone(
        call_id, name, iteration, outcome.content, outcome.error, outcome.elapsed, outcome.full, outcome.artifacts,
        outcome.final, bool(outcome.extras), outcome.usage, outcome.executed, outcome.source,
        outcome.task_successful, act, outcome.ledger,
    )  # fmt: skip


async def close_calls(run: Execution, why: str) -> None:
    """Answer every open call of a run that stops, so that its log stays a whole conversation."""
    number = run.state.turn.iteration
    unknown = f"The call was under way when the run stopped ({why}); its outcome is unknown."
    for open_call in run.state.calls.pending():
        call = open_call.call
        if not open_call.started:
            text = f"Not run: the run stopped ({why})."
            act = _act(run, None, call, None)
            await run.emit(ToolDone(call.id, call.name, number, text, "cancelled", executed=False, act=act))
            continue
        begun, done = calls_inside(run, call.id)
        for one in (*(inside.call for inside in begun.values() if inside.call_id not in done), call):
            act = _act(run, None, one, None)
            await run.emit(ToolDone(one.id, one.name, number, unknown, "unknown_outcome", act=act))


def calls_inside(run: Execution, outer: str) -> tuple[dict[str, ToolStarted], dict[str, ToolDone]]:
    """Return what the log has of the calls inside this one."""
    started: dict[str, ToolStarted] = {}
    done: dict[str, ToolDone] = {}
    for record in run.log.records:
        event = record.event
        if isinstance(event, ToolStarted) and event.call.id.startswith(f"{outer}."):
            started[event.call.id] = event
        elif isinstance(event, ToolDone) and event.call_id.startswith(f"{outer}."):
            done[event.call_id] = event
    return started, done
