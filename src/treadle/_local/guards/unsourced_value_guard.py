"""UnsourcedValueGuard: sends back a call or an answer with a number or an id that a small model has made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from treadle._dialects.reading.shapes import parameter_schema
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._local.guards.numbers_and_ids import (
    ids,
    mentions,
    told_in_words,
    unsourced_number,
    unsourced_operand,
    uses_nothing_said,
)
from treadle._local.guards.support import (
    call_of,
    call_wanted,
    is_insisted_on,
    lacks_adapter,
    prompt,
    require_other_tool,
    small_under_grammar,
    source_texts,
)
from treadle._local.policy.policy import COMPONENT as DECISION
from treadle._plugins.state_queries import last_round
from treadle._safety.beside import read_beside
from treadle._tools.base import Tool, ToolOutcome
from treadle._types.events import MessageRetracted, Noted
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.state import RunState

IN_A_CALL = (
    "Tool '{tool}' was not called: {value} is neither in the task nor in a result. First call the tool that tells it."
)
INNER_CALL = "Tool '{tool}' was not called: {value} is a tool, not a value. Call it first, then use its result."
IN_THE_ANSWER = "{value} is in no result. Call the tool that tells it. If none does, answer without it."
UNTRIED = "You have not tried yet. Call the tool that comes nearest to it."
_CALL = re.compile(r"(?<![\w.-])([^\W\d][\w.-]*)\((?=[^()]*[^\W\d])[^()]*\)")
"""A call with a word in it: `max(3, 4)` is worked out."""
_WORDS = re.compile(r"[^\W\d]")
_MAX_OBJECTIONS = 2
_MAX_CHARS = 80
"""A longer argument is a text, which may well say new things."""


class UnsourcedValueGuard(Plugin):
    """Objects to a required argument with an id that is in no source; of a model without an adapter also to a number in
    no source.

    The same call goes through when the model insists on it, and answers are objected to twice in a run at most. Calls
    of a tiny model are left alone, because it only ever makes one. A model with an adapter was taught when to answer,
    and 0.5B with one made up no number for a call in any of 442 tasks (`docs/local_models.md`).
    """

    name = "unsourced_value_guard"
    harmless = True
    advisory = True

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        tool = run.tool(call.name) if small_under_grammar(run) and not run.model.profile.tiny else None
        if tool is None or is_insisted_on(run, call) or _corrects(run, call):
            return call
        if lacks_adapter(run) and (inner := _inner_call(run, call)):
            await run.emit(call_of(run, self.name, inner))
            objection = prompt(run, "inner_call", INNER_CALL).replace("{tool}", call.name).replace("{value}", inner)
            return ToolOutcome(objection, "rejected", executed=False)
        sources = tuple(source_texts(run))
        value = await read_beside(sum(map(len, sources)), _unsourced, run, call.args, tool, sources)
        if not value:
            return call
        objection = prompt(run, "unsourced_call", IN_A_CALL).replace("{tool}", call.name).replace("{value}", value)
        await require_other_tool(run, self.name, call.name)
        return ToolOutcome(objection, "rejected", executed=False)

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        state = run.state
        objections = len(state.notes.get(self.name, ()))
        if (
            not lacks_adapter(run)
            or not state.tools
            or state.constraints.answer_only
            or state.answer.candidate is None
            or objections >= _MAX_OBJECTIONS
        ):
            return answer
        objection = await self._objection(run, answer)
        if not objection:
            return answer
        # Not with the tool that was refused just now.
        refused = {step.tool for step in last_round(state) if step.error == "rejected"} if state.steps else set[str]()
        constraint = call_wanted(run, self.name, refused)
        await run.emit(Noted(self.name, {"objection": objection}), constraint, _retraction(state, self.name))
        return UserMessage(objection, kind="note")

    async def _objection(self, run: RunContext, answer: str) -> str:
        """The objection to the answer; empty when there is none."""
        state = run.state
        if not state.steps:
            # By its own probabilities it may have known that no tool is for this.
            untried = state.answer.task_successful is False and DECISION not in state.notes
            return prompt(run, "untried", UNTRIED) if untried else ""
        if run.model.profile.tiny:  # it answers after its first result, whatever it is told about it
            return ""
        sources = tuple(source_texts(run))
        value = await read_beside(sum(map(len, (answer, *sources))), unsourced_number, answer, sources)
        return prompt(run, "unsourced_answer", IN_THE_ANSWER).replace("{value}", value) if value else ""


def _retraction(state: RunState, component: str) -> MessageRetracted:
    """Takes the answer out of the conversation: a model that sees its guess repeats it, whatever it is told."""
    return MessageRetracted(state.conversation.window[-1].seq, component, "the answer has no source")


def _inner_call(run: RunContext, call: ToolCall) -> str:
    """The first other tool that an argument calls, as if there were a result already: `group_price('plus', 4) * 4`. The
    whole of the argument is such calls and what is worked out with them, in no words of the task; said twice."""
    refused = sum(step.tool == call.name and step.error == "rejected" for step in run.state.steps)
    texts = [value for value in call.args.values() if isinstance(value, str) and len(value) <= _MAX_CHARS * 2]
    names = {schema.name for schema in run.state.tools} - {call.name}
    for text in texts if refused < _MAX_OBJECTIONS else ():
        inner = [found[1] for found in _CALL.finditer(text)]
        if inner and names.issuperset(inner) and not _WORDS.search(_CALL.sub("", text)):
            return "" if any(text in source for source in source_texts(run)) else inner[0]
    return ""


def _corrects(run: RunContext, call: ToolCall) -> bool:
    """Return whether this tool failed just now: what it complained about may well be the form of the value."""
    steps = last_round(run.state) if run.state.steps else ()
    return any(step.tool == call.name and step.error and step.error != "rejected" for step in steps)


def _required_values(args: dict[str, Any], tool: Tool) -> Iterator[str]:
    """Yield the required arguments as text; optional ones may well be the model's own choice."""
    for name in cast("list[str]", tool.parameters.get("required") or ()):
        value = args.get(name)
        if (
            isinstance(value, (str, int, float))
            and not isinstance(value, bool)
            and not {"enum", "default"} & parameter_schema(tool.schema, name).keys()
        ):
            text = str(value)
            if isinstance(value, (int, float)) and told_in_words(value):
                continue
            if len(text) <= _MAX_CHARS:
                yield text


def _unsourced(run: RunContext, args: dict[str, Any], tool: Tool, sources: tuple[str, ...]) -> str:
    """Return the first value of a call that was made up."""
    values = list(_required_values(args, tool))
    unsourced = (id for text in values for id in ids(text) if not any(mentions(source, id) for source in sources))
    value = next((f'"{id}"' for id in unsourced), "")
    return _unsourced_numbers(run, values, sources) if not value and lacks_adapter(run) else value


def _unsourced_numbers(run: RunContext, values: list[str], sources: tuple[str, ...]) -> str:
    """Return the first number that was made up or, where the model was made to call, a sum of such numbers only."""
    in_words = not run.state.steps and not any(letter.isdigit() for letter in run.state.question)
    number = next(filter(None, (unsourced_operand(text, sources, in_words) for text in values)), "")
    if number or not run.state.constraints.last.must_act:
        return number
    return next((f'"{text}"' for text in values if uses_nothing_said(text, sources)), "")
