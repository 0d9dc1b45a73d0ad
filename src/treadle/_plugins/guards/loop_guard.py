"""LoopGuard: notices a run that repeats itself, without a model call; tells the model, and ends it in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.reply_policy import Repetition
from treadle._plugins.state_queries import last_note, last_round, out_of_sight, same_calls
from treadle._safety.bounds import Count, bounded
from treadle._tools.base import ToolOutcome
from treadle._tools.results import cut
from treadle._types.events import AnswerOnly, Event, MessageAdded, Noted, ReplyConstrained, ToolsChanged
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.state_values import Step

NUDGE = (
    "You have made this call before, and it brings nothing new: {calls}. "
    "Use that result: answer with it if it is what the task asks for, else do something different."
)
AT_ONCE = "You have made this call before and have its result. Use it, or do something else."
WITHDRAWN = (
    "The same calls came again with nothing new, so these tools are taken away: {tools}. "
    "Go on without them, or give the answer."
)
ANSWER = (
    "The work is going round in circles. No more tools: answer now from what is known, and say plainly what is missing."
)

_USUAL = Repetition()
_LOOK_BACK = 60
"""Steps. A loop longer than that is left to the iteration limit."""
_OTHER_TRIES = 3
"""How many more times a tool may fail in the same way when its arguments differ."""


class LoopGuard(Plugin):
    """Such a round has nothing new: every call, with its result, had been there before.

    After `nudge` of them (2) the model is told, after `withdraw` (4) the repeated tools are taken away, after
    `stop` (6) it must answer. Tools with `polling=True`, and those in `allow`, may be repeated.
    """

    name = "loop_guard"
    harmless = True
    advisory = True

    @bounded
    def __init__(
        self,
        *,
        nudge: Count | None = None,
        withdraw: Count | None = None,
        stop: Count | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        self._limits = (nudge, withdraw, stop)
        self.allow = frozenset(allow)

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        """Where the policy says so, a call whose result the model has is not made; its next reply cannot call that
        tool."""
        policy = run.reply_policy
        if policy is None or self._limits[0] is not None or call.name in self.allow or _polls(run, call.name):
            return call
        if not policy.repetition(run).refuse_repeats:
            return call
        earlier = same_calls(run, call)
        if len(earlier) != 1 or earlier[0].error:
            return call
        must_act = run.state.constraints.last.must_act and len(run.state.tools) > 1  # it had to act, and still has to
        await run.emit(ReplyConstrained(self.name, must_act, (call.name,)))
        return ToolOutcome(run.prompts.get("loop_at_once", AT_ONCE), executed=False)

    async def after_round(self, run: RunContext) -> None:
        state = run.state
        if state.constraints.answer_only or last_note(state, self.name, "steps") == len(state.steps):
            return
        repeated = stale_rounds(state.steps, self.allow)
        if repeated:
            polling = {step.tool for steps in repeated for step in steps if _polls(run, step.tool)}
            repeated = stale_rounds(state.steps, self.allow | polling, out_of_sight(run))
        count = max(len(repeated), same_failures(state.steps) - _OTHER_TRIES)
        rules = _USUAL if run.reply_policy is None else run.reply_policy.repetition(run)
        if count < 1:
            if rules.one_result:
                await self._require_answer(run)
            return
        nudge, withdraw, stop = (
            default if own is None else own for own, default in zip(self._limits, rules.limits, strict=True)
        )
        if count < nudge:
            return
        steps = [step for steps in repeated for step in steps] or [state.steps[-1]]
        tools = list(dict.fromkeys(step.tool for step in steps if step.tool in state.tool_names()))
        events: list[Event] = [Noted(self.name, {"steps": len(state.steps), "rounds": count})]
        if count >= stop:
            events += [
                AnswerOnly("the same calls over and over"),
                self._note(run, "stop", rules.answer_note or ANSWER),
            ]
        elif count >= withdraw and tools:
            left = tuple(tool for tool in state.tools if tool.name not in tools)
            text = WITHDRAWN.replace("{tools}", ", ".join(tools))
            events += [ToolsChanged(left, "repeated without anything new"), self._note(run, "withdraw", text)]
        else:
            calls = "; ".join(
                dict.fromkeys(f"{step.tool}({_short(step)}) gave {cut(step.observation, 200)!r}" for step in steps)
            )
            events += [
                ReplyConstrained(self.name, barred=tuple(tools)),
                self._note(run, "nudge", NUDGE.replace("{calls}", calls)),
            ]
        await run.emit(*events)

    async def _require_answer(self, run: RunContext) -> None:
        """The next reply is the answer, unless a call has just failed."""
        if not any(step.error for step in last_round(run.state)):
            await run.emit(ReplyConstrained(self.name, barred=tuple(sorted(run.state.tool_names() - self.allow))))

    def _note(self, run: RunContext, what: str, text: str) -> MessageAdded:
        return MessageAdded(UserMessage(run.prompts.get(f"loop_{what}", text), kind="note"), self.name)


def stale_rounds(
    steps: Sequence[Step], allow: frozenset[str] = frozenset(), hidden: frozenset[str] = frozenset()
) -> list[list[Step]]:
    """The latest rounds in a row in which every call was a repetition, newest first. A call
    whose earlier result is `hidden` from the model does not repeat it."""
    recent = steps[-_LOOK_BACK:]
    stale: list[list[Step]] = []
    if not recent or not _repeats(recent[-1], recent[:-1], hidden):  # nearly always: the latest call is a new one
        return stale
    start = len(recent)
    for _, group in groupby(reversed(recent), key=lambda step: step.iteration):
        one_round = list(group)
        start -= len(one_round)
        if any(step.tool in allow or not _repeats(step, recent[:start], hidden) for step in one_round):
            break
        stale.append(one_round)
    return stale


def same_failures(steps: Sequence[Step]) -> int:
    """How many of the latest steps in a row are one and the same failure, whatever their arguments."""
    last = steps[-1]
    count = 0
    while last.error and count < len(steps):
        step = steps[-1 - count]
        if (step.tool, step.error, step.observation) != (last.tool, last.error, last.observation):
            break
        count += 1
    return count


def _repeats(step: Step, earlier: Sequence[Step], hidden: frozenset[str]) -> bool:
    if step.error == "unknown_tool":  # never a step forward, under whatever name
        return True
    observation = step.observation
    for other in reversed(earlier):  # the observation first: it tells most steps apart
        if (
            other.observation == observation
            and other.tool == step.tool
            and other.error == step.error
            and other.wanted == step.wanted
            and other.call_id not in hidden
        ):
            return True
    return False


def _polls(run: RunContext, name: str) -> bool:
    tool = run.tool(name)
    return tool is not None and tool.polling


def _short(step: Step) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in step.args.items())
    return text if len(text) <= 80 else text[:77] + "..."
