"""Values of the engine as fields of the events that a client sees."""

from __future__ import annotations

from typing import Any

from treadle._engine.result import PendingCall
from treadle._types import events as ev
from treadle._types.messages import ToolCall
from treadle._types.usage import Usage


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {**{name: getattr(usage, name) for name in Usage.__struct_fields__}, "total_tokens": usage.total_tokens}


def artifact_fields(artifact: ev.Artifact) -> dict[str, Any]:
    return {"name": artifact.name, "mime": artifact.mime, "summary": artifact.summary, "size": len(artifact.content)}


def waiting_fields(call: PendingCall) -> dict[str, Any]:
    fields = {"call_id": call.call_id, "tool_name": call.tool, "tool_args": call.args, "why": call.why}
    return {**fields, "external": True} if call.external else fields


def call_started(iteration: int, call: ToolCall) -> tuple[str, dict[str, Any]]:
    what = {"tool_name": call.name, "tool_args": call.args, "call_id": call.id}
    return "step", {"type": "iteration", "status": "start", "iteration": iteration, **what}
