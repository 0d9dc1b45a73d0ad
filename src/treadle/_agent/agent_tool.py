"""An agent as a tool for a supervisor: its run nests in the supervisor's, and so do its cost and its cancellation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from treadle._engine.context import RunContext, execution_of
from treadle._engine.generics import NO_DEPS
from treadle._engine.run import Run
from treadle._tools.base import Tool, ToolContext, ToolResponse
from treadle._types.errors import RunNotFoundError, ToolError
from treadle._types.ledger import entries_inside
from treadle._types.messages import ToolCall

MAX_DEPTH = 5
DELEGATE = "delegate"
"""The attribute of the tool's function that has the agent it asks."""


class Delegate(Protocol):
    """What can be asked to do a part of the work: an agent of any kind."""

    name: str
    description: str

    def prepare(
        self,
        question: Any,
        *,
        history: Iterable[Any] = (),
        run_id: str = "",
        user: str = "",
        parent: RunContext[Any] | None = None,
    ) -> Run[Any]: ...
    async def load(self, run: str, *, parent: RunContext[Any] | None = None) -> Run[Any]: ...
    def launch(self, run: Run[Any]) -> Run[Any]: ...


def agent_tool(
    agent: Delegate, *, name: str = "", description: str = "", user_prompt: str = "", timeout: float | None = None
) -> Tool:
    """`name` may be a component id: the last segment after `-->` counts. A given `user_prompt` is the default order."""
    order: dict[str, Any] = {"type": "string", "description": "The order for the agent."}
    required = ["user_prompt", "reasoning", "context"]
    if user_prompt:
        order["default"] = user_prompt
        required.remove("user_prompt")
    tool_name = (name or agent.name).split("-->")[-1].strip()

    async def execute(
        context: ToolContext, reasoning: str, background: str = "", user_prompt: str = user_prompt
    ) -> ToolResponse:
        return await _delegate(agent, context, user_prompt, reasoning, background)

    def rename(args: dict[str, Any]) -> dict[str, Any]:
        # `context` is what the model calls the background; our own parameter of that name is the tool context.
        return {("background" if key == "context" else key): value for key, value in args.items()}

    setattr(execute, DELEGATE, agent)
    return Tool(
        "".join(char if char.isalnum() or char in "_-" else "_" for char in tool_name)[:64],
        description or agent.description or f"Ask the agent {agent.name} to do a part of the work.",
        {
            "type": "object",
            "properties": {
                "user_prompt": order,
                "reasoning": {"type": "string", "description": "Why this agent is asked."},
                "context": {"type": "string", "description": "Background the agent needs; it sees nothing else."},
            },
            "required": required,
            "additionalProperties": False,
        },
        execute,
        timeout=timeout,
        # The child's own log says what it has done: running the call again resumes the child, it does not repeat it.
        effect="idempotent",
        acts=False,
        takes_extras=frozenset(),
        context_param="context",
        needs_deps=deps_needed_by(agent),
        convert=rename,
    )


def deps_needed_by(agent: Delegate) -> str:
    """Return what the tools of the agent need of the run it will be a part of."""
    own: Any = getattr(agent, "deps", NO_DEPS)
    needs: dict[str, str] = getattr(getattr(agent, "toolkit", None), "needs_deps", {})
    return next(iter(needs.values()), "") if own is NO_DEPS else ""


async def _delegate(agent: Delegate, context: ToolContext, order: str, reasoning: str, background: str) -> ToolResponse:
    parent: RunContext[Any] = context.run
    child_id = inside(parent, context.call_id)
    question = f"{order}\n\nWhy: {reasoning}\n\nBackground: {background}".strip()
    child = await child_of(agent, parent, child_id, question)
    result = await agent.launch(child)
    # A child without a word has failed, and the parent is told so: it must not take silence for a result.
    return ToolResponse(
        result.answer or f"The agent gave no answer ({result.error or result.stop_reason}).",
        error=not result.success,
        artifacts=result.artifacts,
        waiting=waiting_calls(child),
        why=why_waiting(child),
        ledger=entries_inside(child.state.ledger, child.id),
    )


def inside(parent: RunContext[Any], call_id: str) -> str:
    """The id of the run that the call `call_id` of a run is. `ToolError` where runs are nested too deeply."""
    if parent.depth + 1 > MAX_DEPTH:
        raise ToolError(f"agents are nested too deeply (more than {MAX_DEPTH}): do this part without delegating")
    return f"{parent.id}.{call_id}"


def waiting_calls(child: Run[Any]) -> tuple[ToolCall, ...]:
    """Return what a paused child waits for, under ids that say whose calls they are."""
    if child.state.paused is None:
        return ()
    return tuple(msgspec.structs.replace(call, id=f"{child.id}:{call.id}") for call in child.state.paused.calls)


def why_waiting(child: Run[Any]) -> dict[str, str]:
    """Why each of them waits, under the same ids."""
    paused = child.state.paused
    return {} if paused is None else {f"{child.id}:{c.id}": paused.why.get(c.id, paused.reason) for c in paused.calls}


async def child_of(
    agent: Delegate,
    parent: RunContext[Any],
    child_id: str,
    question: Any,
    *,
    history: Iterable[Any] = (),
    user: str = "",
) -> Run[Any]:
    """A run inside `parent`: the one a process before this began, or a new one. The parent shows its records, and what
    was decided about its calls is passed on to it."""
    child: Run[Any] | None = None
    with suppress(RunNotFoundError):
        child = await agent.load(child_id, parent=parent)
    child = child or agent.prepare(question, history=history, run_id=child_id, user=user, parent=parent)
    child.subscribe(execution_of(parent).log.forward, restored=False)  # those who watch the parent restore it
    for call_id, decision in (*parent.state.calls.approvals.items(), *parent.state.calls.results.items()):
        if call_id.startswith(f"{child_id}:"):
            child.decide(msgspec.structs.replace(decision, call_id=call_id.removeprefix(f"{child_id}:")))
    return child
