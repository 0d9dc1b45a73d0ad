"""Old logs in new shapes: events stored under an earlier `SCHEMA` are upgraded one version at a time and then decoded.

To change a stored event: raise `SCHEMA` in `_types/events.py` and add an entry here, keyed by the version it was
written with and its type. An upcaster gets the event as plain JSON and returns it in the next version's shape; it may
give it another `type`. Records carry their schema each, because an old run that is resumed continues in the new shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from treadle._types.errors import JournalError
from treadle._types.events import SCHEMA, Event, decode_event

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


_PLUGINS_1 = {
    "insist": "give_up_guard",
    "borrowed": "example_value_guard",
    "invented": "unsourced_value_guard",
}
"""Plug-ins that have another name since version 2. Under it they find what they did: nothing is objected to again."""


def _phase_1(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had one record with free data for everything that happened between two replies."""
    phase, fields = str(data["phase"]), cast("dict[str, Any]", data.get("data") or {})
    match phase:
        case "loop":
            return {"type": "loop_started"}
        case "answer_only":
            return {"type": "answer_only", "reason": str(fields.get("reason") or "told to answer")}
        case "selecting_tools":
            return {"type": "tool_selection_started", "total_tools": fields.get("total_tools", 0)}
        case "mode":
            return {"type": "dag_mode_chosen", "mode": fields.get("mode", "dag")}
        case "planning":
            return {"type": "dag_planning"}
        case "plan":
            plan = {"steps": fields.get("steps", ()), "notes": fields.get("notes", ())}
            numbers = {"round": fields.get("round", 1), "free_replans": fields.get("free", 0)}
            return {"type": "dag_planned", **plan, **numbers}
        case "verdict":
            return {"type": "dag_judged", **fields}
        case _ if "must_act" in fields or "barred" in fields:
            constraint = {"must_act": bool(fields.get("must_act")), "barred": fields.get("barred", ())}
            component = "loop_guard" if phase in ("nudged", "move_on") else _PLUGINS_1.get(phase, phase)
            return {"type": "reply_constrained", "component": component, **constraint}
        case _:
            return {"type": "phase", "phase": phase}


def _context_compacted_1(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 took an answer back as if the context had been compacted."""
    if data.get("reason") != "taken back":
        return data
    retracted = {"seq": data["covers"][0], "component": _PLUGINS_1["invented"], "reason": "the answer has no source"}
    return {"type": "message_retracted", **retracted}


def _run_started_1(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had `unknown_args="repair"`, which acted as "reject"."""
    settings = cast("dict[str, Any]", data.get("settings") or {})
    if settings.get("unknown_args") != "repair":
        return data
    return {**data, "settings": {**settings, "unknown_args": "reject"}}


def _component_1(data: dict[str, Any]) -> dict[str, Any]:
    component = data.get("component")
    return {**data, "component": _PLUGINS_1[component]} if component in _PLUGINS_1 else data


def _run_started_2(data: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 nothing said where the words of a run came from: they are nobody's."""
    history = cast("list[dict[str, Any]]", data.get("history") or [])
    labelled = [{**message, "origin": "outside"} for message in history]
    return {**data, "origin": "outside", **({"history": labelled} if history else {})}


UPCASTERS: dict[tuple[int, str], Upcaster] = {
    (1, "phase"): _phase_1,
    (1, "context_compacted"): _context_compacted_1,
    (1, "run_started"): _run_started_1,
    (2, "run_started"): _run_started_2,
    (1, "noted"): _component_1,
    (1, "message_added"): _component_1,
}


def upcast(type: str, data: dict[str, Any], schema: int) -> dict[str, Any]:
    """The event `data` as today's `SCHEMA` writes it."""
    for version in range(schema, SCHEMA):
        if step := UPCASTERS.get((version, type)):
            data = step(data)
            type = data["type"]
    return data


def decode_stored(data: bytes | str, schema: int) -> Event:
    """An event from its stored JSON, whatever version wrote it."""
    if schema == SCHEMA:
        return decode_event(data)
    if schema > SCHEMA:
        raise JournalError(
            f"the log was written by a newer Treadle (event schema {schema}, this one reads up to {SCHEMA}): "
            "upgrade Treadle"
        )
    old: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    return decode_event(msgspec.json.encode(upcast(old["type"], old, schema)))
