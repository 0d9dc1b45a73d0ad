"""What the model wants, read from its own probabilities, where a constraint would decide for it.

Under a grammar a model can only name the tools there are. One that wants `multiply`, and is offered `calculator`, is
left with an answer from memory, although it never wanted to answer. The probabilities before the constraint still say
so: when they disagree with the reply, it is asked for again under a constraint to what the model wanted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from treadle._dialects.base import Decision
from treadle._engine.core.execution import Execution
from treadle._tools.base import HARMLESS
from treadle._types.events import Event, ReplyConstrained, ThinkFailed
from treadle._types.request import Reply, ToolSchema

ANSWER = "final_answer"
COMPONENT = "decision"
_SHORTEST = 3
"""Letters of a beginning that can be told from others."""
_CLEAR = 2.0
"""How many times as probable as the next tool the tool meant by other names has to be."""


class OtherChoice(Struct, frozen=True):
    """The reply does not count: the model wanted the other thing."""

    probability: float
    """Of an answer."""
    must_act: bool
    barred: tuple[str, ...]

    def events(self, component: str, iteration: int, reply: Reply) -> tuple[Event, ...]:
        wanted = "a tool" if self.must_act else "to answer"
        why = f"the model wanted {wanted} (answer: {self.probability:.0%}), and the constraint left it no such choice"
        return (
            ThinkFailed(component, iteration, 1, why, 0.0, reply.usage),
            ReplyConstrained(COMPONENT, self.must_act, self.barred),
        )


def other_choice(run: Execution, reply: Reply, decision: Decision) -> OtherChoice | None:
    """What to hold the next reply to, when this one is not what the model wanted; else None.

    A model is never made to call a tool that changes something: those are left out of what it has to choose from.
    """
    thresholds, state = run.model.profile.decide, run.state
    if thresholds is None or not reply.options or not state.tools or state.answer_only or decision.problem:
        return None
    if state.constraint.must_act or state.constraint.barred:
        return None
    answer = answer_probability(reply.options)
    wants_answer = answer >= (thresholds.later if state.steps else thresholds.first)
    if wants_answer == (not decision.calls):
        return None
    if wants_answer:
        return OtherChoice(answer, False, tuple(tool.name for tool in state.tools))
    harmless = [schema for schema in state.tools if _is_harmless(run, schema)]
    if not harmless:
        return None
    meant = tool_meant(reply.options, harmless)
    allowed = {meant} if meant else {schema.name for schema in harmless}
    return OtherChoice(answer, True, tuple(tool.name for tool in state.tools if tool.name not in allowed))


def answer_probability(options: Mapping[str, float]) -> float:
    """How probable it is that the model goes on to write the name of an answer."""
    return sum(p for text, p in options.items() if text and (ANSWER.startswith(text) or text.startswith(ANSWER)))


def tool_meant(options: Mapping[str, float], tools: Sequence[ToolSchema]) -> str:
    """The tool that the names mean which the model would write: by its own name, or by words of its description.

    Empty when no tool, or more than one, could be meant."""
    scores = {tool.name: 0.0 for tool in tools}
    for text, probability in options.items():
        start = text.strip().lower()
        if len(start) < _SHORTEST or ANSWER.startswith(start):
            continue
        for tool in tools:
            words = re.findall(r"\w+", f"{tool.name.replace('_', ' ')} {tool.description}".lower())
            if tool.name.lower().startswith(start) or any(word.startswith(start) for word in words):
                scores[tool.name] += probability
    best, *others = sorted(scores, key=lambda name: -scores[name])
    clear = scores[best] > 0 and all(scores[best] >= _CLEAR * scores[other] for other in others)
    return best if clear else ""


def _is_harmless(run: Execution, schema: ToolSchema) -> bool:
    tool = run.context.tool(schema.name)
    return tool is not None and tool.effect in HARMLESS
