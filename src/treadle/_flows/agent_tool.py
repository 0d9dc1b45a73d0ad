"""An agent as a tool for a supervisor (L46): its run nests in the supervisor's, and so do its cost and its cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle._tools.base import Tool, ToolContext, ToolResponse
from treadle._types.errors import RunNotFoundError, ToolError

if TYPE_CHECKING:
    from treadle._flows.agent import Agent

MAX_DEPTH = 5


def agent_tool(
    agent: Agent, *, name: str = "", description: str = "", user_prompt: str = "", timeout: float | None = None
) -> Tool:
    """`name` may be a component id: the last segment after `-->` counts. A configured `user_prompt` becomes the default order."""
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
        # The child's own log says what it has done: running the call again goes on with the child, it does not repeat it.
        effect="idempotent",
        takes_extras=frozenset(),
        context_param="context",
        convert=rename,
    )


async def _delegate(agent: Agent, context: ToolContext, order: str, reasoning: str, background: str) -> ToolResponse:
    parent = context.run
    if parent.depth + 1 > MAX_DEPTH:
        raise ToolError(f"agents are nested too deeply (more than {MAX_DEPTH}): do this part without delegating")
    child_id = f"{context.run_id}.{context.call_id}"
    question = f"{order}\n\nWhy: {reasoning}\n\nBackground: {background}".strip()
    child = await _known_child(agent, parent, child_id) or agent.prepare(question, run_id=child_id, parent=parent)
    child.subscribe(parent.log.forward)
    for call_id, decision in parent.state.approvals.items():
        if call_id.startswith(f"{child_id}:"):
            child.approve(call_id.removeprefix(f"{child_id}:"), decision.allow, by=decision.by, note=decision.note)
    result = await agent.restart(child)
    if result.stop_reason == "paused":
        parent.paused_child = child
    return ToolResponse(result.answer, error=not result.success, artifacts=result.artifacts, usage=result.usage)


async def _known_child(agent: Agent, parent: Any, child_id: str) -> Any:
    try:
        return await agent.load(child_id, parent=parent)
    except RunNotFoundError:
        return None
