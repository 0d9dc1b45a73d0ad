"""Points that an intent leaves open are asked about in one question: calls of such acts are held, and the model told,
until it makes all of them in one reply. Nothing is loosened: what is held was not made, and is asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle._engine.core.decisions import decisions_about
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import PASSED_ON, Pause, plugin_name
from treadle._safety.logs import get_logger, log_handled
from treadle._tools.base import Tool, ToolOutcome
from treadle._types.acts import HELD
from treadle._types.events import Approved, MessageAdded, ToolDone
from treadle._types.messages import ToolCall, UserMessage

logger = get_logger()
_WAIT = (
    "Tool '{tool}' was not run: a person was not asked yet, who is asked once about all that is open in this task. "
    "Do first whatever needs no question. Then make this call again, exactly so, in one reply together with "
    "every other call that is left. If nothing else can be done before it, make it again now."
)
_LEFT = (
    "These calls wait until a person is asked about them: {tools}. Make them again now, all in one reply; or give the "
    "answer, if they are not wanted any more."
)


class Admitted(Struct, frozen=True):
    """A call that policy and approval let through. Without a tool it is answered with the names there are."""

    call: ToolCall
    tool: Tool | None


Settle = Callable[[], Awaitable[Admitted | ToolOutcome]]


class Undecided(Pause):
    """A person has to decide about a call, and nobody was asked yet; `settle` asks."""

    def __init__(self, reason: str, call: ToolCall, tool: Tool, settle: Settle) -> None:
        super().__init__(reason, (call,))
        self.call, self.tool, self.settle = call, tool, settle


def held(run: Execution, waiting: Sequence[Undecided]) -> dict[str, ToolOutcome]:
    """Return the outcome of each call that is held, by its id: of what the intent leaves open, until the model makes
    one of them again."""
    open_acts = [permit for one in run.around() if (intent := one.state.provenance.intent)
                 for permit in intent.act if permit.ask]  # fmt: skip
    names = {permit.tool for permit in open_acts}
    settings, turn = run.settings, run.state.turn
    several = "*" in names or sum(permit.times for permit in open_acts) > 1
    if not several or turn.iteration + 1 >= settings.max_iterations + turn.extra_iterations:
        return {}
    told = [(step.tool, step.args) for step in run.state.steps if step.error == HELD]
    if any((one.call.name, one.call.args) in told for one in run.state.calls.open.values()):
        return {}
    return {
        one.call.id: ToolOutcome(_WAIT.replace("{tool}", one.call.name), HELD, executed=False)
        for one in waiting
        if "*" in names or not names.isdisjoint(run.tools.names_of(one.tool))
    }


def left_to_ask(run: Execution) -> MessageAdded | None:
    """What a model is told that gives its answer while calls are held; once, whatever it makes of it."""
    steps = run.state.steps
    if not any(step.error == HELD for step in steps) or not isinstance(next(_told(run), None), ToolDone):
        return None
    names = [
        step.tool
        for index, step in enumerate(steps)
        if step.error == HELD and not any((step.tool, step.args) == (one.tool, one.args) for one in steps[index + 1 :])
    ]
    text = _LEFT.replace("{tools}", ", ".join(names))
    return MessageAdded(UserMessage(text, kind="note"), "intent") if names else None


def _told(run: Execution) -> Iterator[MessageAdded | ToolDone]:
    """Yield what the model was told about held calls, the last first."""
    for record in reversed(run.log.records):
        event = record.event
        if (isinstance(event, ToolDone) and event.error == HELD) or (
            isinstance(event, MessageAdded) and event.component == "intent"
        ):
            yield event


async def ask_together(run: Execution, calls: Sequence[ToolCall]) -> None:
    """Ask about several calls in one question, where somebody can put it so, in this run or in those around it. What
    it leaves open is asked about one by one."""
    await run.flush()
    for around in run.around():
        for hook in around.hooks.on_approvals:
            answer: bool | Mapping[str, Any] | None
            try:
                answer = await hook(run.context, calls)
                decisions = [] if answer is None else decisions_about(calls, answer)
            except PASSED_ON:
                raise
            except Exception:
                log_handled(logger, "asking by %s failed, and the calls are refused", plugin_name(hook))
                answer, decisions = False, decisions_about(calls, False)
            for decision in decisions:
                await record_decision(run, around, decision)
            if answer is not None:
                return


async def record_decision(run: Execution, asker: Execution, decision: Approved) -> None:
    await run.emit(decision)
    if decision.allow and decision.always and asker is not run:
        # "Always" is said to whoever asked: it holds in that run and in all that are inside it.
        await asker.emit(msgspec.structs.replace(decision, call_id=f"{run.id}:{decision.call_id}"))
