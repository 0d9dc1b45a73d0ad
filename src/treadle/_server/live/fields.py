"""View items as fields of the events that a client sees."""

from __future__ import annotations

from typing import Any

import msgspec

from treadle._types.usage import Usage
from treadle._view.items import ArtifactLine, Call, Decision, End, PlanStep


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {**{name: getattr(usage, name) for name in Usage.__struct_fields__}, "total_tokens": usage.total_tokens}


def artifact_fields(artifact: ArtifactLine) -> dict[str, Any]:
    return {name: getattr(artifact, name) for name in ArtifactLine.__struct_fields__}


def waiting_fields(call: Call) -> dict[str, Any]:
    fields = {"call_id": call.call_id, "tool_name": call.tool, "tool_args": call.args, "why": call.why}
    return {**fields, "external": True} if call.external else fields


def call_started(call: Call) -> tuple[str, dict[str, Any]]:
    what = {"tool_name": call.tool, "tool_args": call.args, "call_id": call.call_id}
    return "step", {"type": "iteration", "status": "start", "iteration": call.iteration, **what}


def decision_fields(item: Decision) -> dict[str, Any]:
    if item.decided == "answered":
        return {"phase": "answered", "call_id": item.call_id, "by": item.by, "error": item.failed}
    return {
        "phase": "approved" if item.decided == "allowed" else "refused",
        "call_id": item.call_id,
        "allow": item.decided == "allowed",
        "by": item.by,
        "note": item.note,
        "always": item.always,
        **({"tool_args": item.args} if item.args is not None else {}),
    }


def step_fields(item: PlanStep) -> dict[str, Any]:
    if item.state == "running":
        started = {"step": item.step, "status": "started", "task": item.task}
        return {**started, "run": item.run, "round": item.round}
    return {
        "step": item.step,
        "status": item.state,
        "result": item.result,
        "error": item.error or None,
        "elapsed": item.elapsed,
        "usage": usage_fields(item.usage),
        "round": item.round,
    }


def done_fields(item: End) -> dict[str, Any]:
    return {
        "answer": item.answer,
        "iterations": item.iterations,
        "elapsed": item.elapsed,
        "stop_reason": item.stop_reason,
        "success": item.success,
        **({"unread": item.unread} if item.unread else {}),
        **({"ledger": msgspec.to_builtins(item.ledger)} if item.ledger else {}),
    }
