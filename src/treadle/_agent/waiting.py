"""Decisions about the calls a stored run waits for, and their results, given in another process than its driver's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from treadle._engine.core.decisions import Answer, decisions_about, results_for
from treadle._engine.core.decisions import waiting_calls as waiting_calls
from treadle._engine.core.masks import Masks
from treadle._journal.base import InboxItem, Journal
from treadle._tools.base import Tool
from treadle._tools.validation import problems_with
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Approved, ReplyConstrained, ToolAnswered
from treadle._types.ids import fresh_id
from treadle._types.state import RunState, fold


class InvalidArgumentsError(ConfigError):
    """The changed arguments are not what the tool takes."""


async def decided(
    journal: Journal, run_id: str, state: RunState, approve: bool | Mapping[str, Answer]
) -> list[Approved]:
    """The decisions that `approve` amounts to, checked: about calls that wait, with arguments the tools take."""
    waiting = waiting_calls(state)
    decisions = decisions_about(waiting, approve)
    for decision in decisions:
        if decision.args is None:
            continue
        parameters = await _parameters(journal, run_id, state, decision.call_id, decision.tool)
        if parameters is not None and (problems := problems_with(parameters, decision.args)):
            raise InvalidArgumentsError(f"the arguments for {decision.tool} are not right: {'; '.join(problems)}")
    return decisions


async def leave_decisions(journal: Journal, run_id: str, decisions: Sequence[Approved]) -> None:
    """Put them into the run's inbox: whoever resumes it records them."""
    for decision in decisions:
        payload: dict[str, object] = {
            "call_id": decision.call_id,
            "allow": decision.allow,
            "by": decision.by,
            "note": decision.note,
            "args": decision.args,
            "always": decision.always,
        }
        await journal.put(InboxItem(fresh_id(), run_id, "approve", payload))


async def leave_results(
    journal: Journal,
    run_id: str,
    state: RunState,
    results: Mapping[str, Any],
    tool_of: Callable[[str], Tool | None] = lambda name: None,
    by: str = "",
    masks: Masks | None = None,
    constraint: ReplyConstrained | None = None,
) -> list[ToolAnswered]:
    """Put results of calls that wait for one into the run's inbox, checked; whoever resumes the run records them.
    `tool_of` gives the tools of the run where they are known: what they return is checked here then, and else when the
    run goes on. `masks`: those of the run where they are known. `constraint`: what the caller asks of what follows."""
    answers = results_for(waiting_calls(state), results, tool_of, by)
    answers = answers if masks is None else await masks.taken(answers)
    if constraint is not None:
        await journal.put(InboxItem(fresh_id(), run_id, "constraint", msgspec.to_builtins(constraint)))
    for given in answers:
        await journal.put(InboxItem(fresh_id(), run_id, "result", msgspec.to_builtins(given)))
    return answers


async def _parameters(
    journal: Journal, run_id: str, state: RunState, call_id: str, tool: str
) -> Mapping[str, Any] | None:
    """The schema of the tool as the run that waits knows it; the call may be one of a run inside this one. None where
    it was not offered to a model (a component of a document): such a call is validated when it is made."""
    for child in await journal.list(parent=run_id, limit=1000):
        if call_id.startswith(f"{child.run_id}:"):
            inner = call_id.removeprefix(f"{child.run_id}:")
            try:
                child_state = fold(await journal.load(child.run_id))
            except RunNotFoundError:
                return None
            return await _parameters(journal, child.run_id, child_state, inner, tool)
    return next((schema.parameters for schema in state.tools if schema.name == tool), None)
