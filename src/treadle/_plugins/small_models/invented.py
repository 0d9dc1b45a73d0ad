"""Invented: a small model that lacks a number or an id makes one up, in a call or in its answer. It is asked where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from treadle._dialects.reading.shapes import parameter_schema
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.rounds import all_harmless, last_round, made_before, send_elsewhere, told, under_grammar
from treadle._plugins.small_models.figures import ids, names, unfounded
from treadle._plugins.small_models.relevance import tool_for
from treadle._tools.base import Tool, ToolOutcome
from treadle._types.events import MessageRetracted, Noted, ReplyConstrained
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.state import RunState

IN_A_CALL = (
    "Tool '{tool}' was not called: {value} is neither in the task nor in a result. First call the tool that tells it."
)
IN_THE_ANSWER = "{value} is in no result. Call the tool that tells it. If none does, answer without it."
FROM_MEMORY = "Do not answer from memory what {tool} can tell: call it."
UNTRIED = "You have not tried yet. Call the tool that comes nearest to it."
_TIMES = 2
_LONG = 80
"""Characters. A longer argument is a text, which may well say new things."""


class Invented(Plugin):
    """Concerns models that decode under our grammar, which are small. A call that is made again goes through, and answers are objected
    to twice in a run at most: the model may know what it says. Calls of a tiny model are left alone, for it has one only."""

    name = "invented"

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        tool = run.tool(call.name) if under_grammar(run) and not run.model.profile.tiny else None
        if tool is None or made_before(run, call):
            return call
        values = list(_values(call.args, tool))
        value = next((value for text in values for value in _new_ids(run, text)), "") or unfounded(
            " ; ".join(values), told(run)
        )
        if not value:
            return call
        words = run.prompts.get("invented_call", IN_A_CALL)
        await send_elsewhere(run, self.name, call.name)
        return ToolOutcome(words.replace("{tool}", call.name).replace("{value}", value), "rejected", executed=False)

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        state = run.state
        times = len(state.notes.get(self.name, ()))
        if not under_grammar(run) or not state.tools or state.answer_only or state.candidate is None or times >= _TIMES:
            return answer
        objection = self._objection(run, answer, times)
        if not objection:
            return answer
        # Not with the tool that was refused just now.
        refused = {step.tool for step in last_round(state) if step.error == "rejected"} if state.steps else set[str]()
        constraint = ReplyConstrained(self.name, all_harmless(run), tuple(sorted(refused)))
        await run.emit(Noted(self.name, {"objection": objection}), constraint, _retracted(state, self.name))
        return UserMessage(objection, kind="note")

    def _objection(self, run: RunContext, answer: str, times: int) -> str:
        """Before any call: the question is in a tool's own words, or the model gives up. At any time: a number out of nowhere."""
        state = run.state
        untried = not state.steps
        if untried and times == 0 and (tool := tool_for(state.question, state.tools)):
            return run.prompts.get("invented_memory", FROM_MEMORY).replace("{tool}", tool)
        if untried and state.task_successful is False:
            return run.prompts.get("invented_untried", UNTRIED)
        # A tiny model answers after its first result, whatever it makes of it.
        value = unfounded(answer, told(run), alone=untried) if untried or not run.model.profile.tiny else ""
        return run.prompts.get("invented_answer", IN_THE_ANSWER).replace("{value}", value) if value else ""


def _retracted(state: RunState, component: str) -> MessageRetracted:
    """The answer leaves the conversation: a model that sees its guess repeats it, whatever it is told meanwhile."""
    return MessageRetracted(state.window[-1].seq, component, "the answer has no source")


def _values(args: dict[str, Any], tool: Tool) -> Iterator[str]:
    """The arguments a call cannot do without, as text: what may be left out is often set by feeling."""
    for name in cast("list[str]", tool.parameters.get("required") or ()):
        value = args.get(name)
        if (
            isinstance(value, (str, int, float))
            and not isinstance(value, bool)
            and not {"enum", "default"} & parameter_schema(tool.schema, name).keys()
        ):
            text = str(value)
            if len(text) <= _LONG:
                yield text


def _new_ids(run: RunContext, text: str) -> Iterator[str]:
    return (f'"{found}"' for found in ids(text) if not any(names(words, found) for words in told(run)))
