"""One tool of an agent, called by a person: a run of its own, through the agent's own gate, without its model."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from treadle._agent.agent import Agent
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._flows.flow import FlowAgent
from treadle._types.errors import ConfigError
from treadle._types.messages import text_of

TRIAL = " (tool by hand)"
"""What follows the agent's name in the records of such a run."""


class ToolTrial(FlowAgent[Any]):
    """Runs that call one tool each. The agent's plug-ins, settings, approvals and secrets hold; its model is not asked.

    The question says which tool and with what (`add({"a": 1})`), so that a run that waited for approval can be resumed.
    """

    def __init__(self, agent: Agent[Any, Any]) -> None:
        vars(self).update(vars(agent))  # a copy of the agent, which works differently
        self.name = f"{agent.name}{TRIAL}"
        self.settings = agent.settings.with_changes({"answer": "direct"})
        self.output_type = None

    async def work(self, run: Execution) -> None:
        name, args = read_question(run.state.question)
        outcome = await NestedCalls(run, "call").call(name, args)
        await finish(run, text_of(outcome.content), "final_tool", success=not outcome.error)


def question_of(name: str, args: dict[str, Any]) -> str:
    return f"{name}({msgspec.json.encode(args).decode()})"


def read_question(text: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.partition("(")
    try:
        args: Any = msgspec.json.decode(rest.removesuffix(")"))
    except msgspec.DecodeError:
        args = None
    if not isinstance(args, dict):
        raise ConfigError(f'the question {text[:60]!r} names no call of a tool, such as add({{"a": 1}})')
    return name, cast("dict[str, Any]", args)
