"""Trajectories in ATIF, the format that Harbor writes and reads (versions 1.0 to 1.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treadle._models.transport.wire import as_count, as_dict, as_list, as_text
from treadle._record.imports.conversation import Conversation, Found, Turn, number_of, time_of
from treadle._record.reading.asked import call_of, content_of, schemas_of
from treadle._record.reading.requests import CHAT
from treadle._types.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.usage import Usage


def trajectories(documents: list[Any]) -> Found | None:
    """The runs of trajectories, those of their sub-agents included."""
    groups = [_conversation(one).exchanges(_turns(one)) for document in documents for one in _trajectories(document)]
    return Found([group for group in groups if group]) if groups else None


def _trajectories(value: Any) -> Iterator[dict[str, Any]]:
    fields = as_dict(value)
    if as_text(fields.get("schema_version")).startswith("ATIF-v") and as_list(fields.get("steps")):
        yield fields
        for inner in as_list(fields.get("subagent_trajectories")):
            yield from _trajectories(inner)


def _conversation(trajectory: dict[str, Any]) -> Conversation:
    agent = as_dict(trajectory.get("agent"))
    declared = map(as_dict, as_list(agent.get("tool_definitions")))
    tools = schemas_of(as_dict(tool.get("function")) or tool for tool in declared)
    return Conversation(CHAT, as_text(agent.get("model_name")), tools=tools)


def _turns(trajectory: dict[str, Any]) -> Iterator[Turn]:
    for step in map(as_dict, as_list(trajectory.get("steps"))):
        content, results = content_of(step.get("message")), as_list(as_dict(step.get("observation")).get("results"))
        if step.get("source") == "system":
            yield Turn(SystemMessage(text_of(content)))
        elif step.get("source") == "user":
            yield Turn(UserMessage(content))
        elif step.get("source") == "agent":
            calls = tuple(
                call_of(call.get("tool_call_id"), call.get("function_name"), call.get("arguments"))
                for call in map(as_dict, as_list(step.get("tool_calls")))
            )
            message = AssistantMessage(text_of(content), calls, as_text(step.get("reasoning_content")))
            copied = step.get("is_copied_context") is True
            yield Turn(message, _usage(step), time_of(step.get("timestamp")), copied)
            names = {call.id: call.name for call in calls}
            for result in map(as_dict, results):
                call_id, text = as_text(result.get("source_call_id")), content_of(result.get("content"))
                # What the environment says without having been called is said to the agent.
                yield Turn(ToolMessage(call_id, names[call_id], text) if call_id in names else UserMessage(text))


def _usage(step: dict[str, Any]) -> Usage:
    metrics = as_dict(step.get("metrics"))
    requests = 0 if step.get("llm_call_count") == 0 else as_count(step.get("llm_call_count")) or 1
    cost = number_of(metrics.get("cost_usd")) if metrics.get("cost_usd") is not None else None
    counts = (as_count(metrics.get(f"{name}_tokens")) for name in ("prompt", "completion", "cached"))
    return Usage(*counts, requests=requests, cost=cost)
