"""A hand-off: an agent passes the conversation to another, whose answer is the answer of the run.

It is a tool whose call is a run inside the run: one budget, one log that shows both, cancelled and resumed together. So
it survives whatever a run with an agent as a tool survives.
"""

from __future__ import annotations

from typing import Any

from treadle._agent.agent_tool import Delegate, child_of, deps_needed_by, inside, waiting_calls, why_waiting
from treadle._engine.context import RunContext
from treadle._tools.base import Tool, ToolContext, ToolResponse
from treadle._types.errors import GuardrailError, ToolError
from treadle._types.events import Noted, PhaseChanged
from treadle._types.ledger import entries_inside
from treadle._types.messages import AssistantMessage, Content, Message, UserMessage
from treadle._types.state import RunState

NOTE = "handoff"
"""The component of the note that says who has the conversation now: `result.metadata["reports"]["handoff"]`."""
GO_ON = "(This conversation was handed over to you by {agent}: {reason}. What was done so far is above.)\n\n{question}"


def handoff_tool(agent: Delegate, *, name: str = "", description: str = "") -> Tool:
    """A tool with which a model passes the conversation to `agent`; `transfer_to_NAME` when no name is given."""
    wanted = name or f"transfer_to_{agent.name}"
    said = f" {agent.description}" if agent.description else ""

    async def execute(context: ToolContext, reason: str) -> ToolResponse:
        return await _hand_over(agent, context, reason)

    return Tool(
        "".join(char if char.isalnum() or char in "_-" else "_" for char in wanted)[:64],
        description or f"Hand the conversation over to the agent {agent.name}, who answers the user.{said}",
        {
            "type": "object",
            "properties": {"reason": {"type": "string", "description": "Why this agent should go on."}},
            "required": ["reason"],
            "additionalProperties": False,
        },
        execute,
        timeout=None,
        # The other agent's own log says what it has done: making the call again goes on with its run.
        effect="idempotent",
        acts=False,
        concurrent=False,
        takes_extras=frozenset(),
        context_param="context",
        needs_deps=deps_needed_by(agent),
    )


async def _hand_over(agent: Delegate, context: ToolContext, reason: str) -> ToolResponse:
    run: RunContext[Any] = context.run
    if run.state.answer.final_call is not None:
        raise ToolError("the conversation has been handed over already: one agent can have it at a time")
    child_id = inside(run, context.call_id)
    history, question = conversation_before(run.state, context.call_id, run.agent_name, reason)
    child = await child_of(agent, run, child_id, question, history=history, user=run.user)
    notes = run.state.notes.get(NOTE, [])
    if all(note["report"]["run"] != child_id for note in notes):  # else it is resumed: the hand-off is in the log
        report = {"from": run.agent_name, "to": agent.name, "run": child_id, "reason": reason}
        told = PhaseChanged(f"handed over to {agent.name}: {reason}")
        await run.emit(Noted(NOTE, {"report": report}), told)
        if run.outermost.id != run.id:  # who holds the conversation is said where the caller looks
            await run.outermost.emit(Noted(NOTE, {"report": report}), told)
    result = await agent.launch(child)
    if isinstance(result.error, GuardrailError):
        raise result.error
    return ToolResponse(
        result.answer or f"The agent gave no answer ({result.error or result.stop_reason}).",
        final_answer=result.success,
        error=not result.success,
        artifacts=result.artifacts,
        waiting=waiting_calls(child),
        why=why_waiting(child),
        ledger=entries_inside(child.state.ledger, child.id),
    )


def conversation_before(state: RunState, call_id: str, agent: str, reason: str) -> tuple[list[Message], Content]:
    """Return what the next agent is given: everything said before the reply that hands over, and what it is to answer.
    Where nothing was done yet, that is the user's question as it was asked."""
    messages: list[Message] = []
    for entry in state.conversation.window:
        message = entry.message
        if isinstance(message, AssistantMessage) and any(call.id == call_id for call in message.calls):
            break
        if not (isinstance(message, UserMessage) and message.kind == "note"):
            messages.append(message)
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage) and last.kind == "question":
        return messages[:-1], last.content
    return messages, GO_ON.format(agent=agent, reason=reason.rstrip("."), question=state.question)
