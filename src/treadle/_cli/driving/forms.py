"""Asks at the terminal for what the form of a document wants to know, field by field."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

from treadle._agent.agent import Agent
from treadle._cli.display.base import Display
from treadle._cli.display.text import clean, say
from treadle._cli.driving.conductor import Conductor
from treadle._engine.result import PendingCall, RunResult
from treadle._engine.run import Run

_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")


async def drive(
    conductor: Conductor, agent: Agent, run: Run, display: Callable[[Run], Display], *, say: str = ""
) -> RunResult[Any]:
    """Drive a run to its end; at a terminal, ask for what its forms want to know."""
    result = await conductor.drive(agent, run, display(run), say=say)
    while conductor.can_ask and result.pending and (forms := fill_in(result)):
        run = await agent.load(result, results=forms)
        result = await conductor.drive(agent, run, display(run))
    return result


def fill_in(result: RunResult[Any]) -> dict[str, dict[str, Any]]:
    """Ask for the fields of each form that a paused run waits for, by the id of its call; empty when they stop."""
    answers: dict[str, dict[str, Any]] = {}
    for call in result.pending:
        fields = _fields(call)
        if fields is None:
            continue
        say(str(call.args.get("tips") or "This is needed to go on:"))
        filled: dict[str, Any] = {}
        for name, field, needed in fields:
            try:
                value = _ask(name, field, needed)
            except (EOFError, KeyboardInterrupt):
                return {}
            if value is not None:
                filled[name] = value
        answers[call.call_id] = filled
    return answers


def _fields(call: PendingCall) -> list[tuple[str, dict[str, Any], bool]] | None:
    form: Any = call.args.get("form")
    if not call.external or not isinstance(form, dict):
        return None
    schema = cast("dict[str, Any]", form)
    properties: dict[str, dict[str, Any]] = schema.get("properties") or {}
    return [(name, field, name in (schema.get("required") or ())) for name, field in properties.items()]


def _ask(name: str, field: dict[str, Any], needed: bool) -> Any:
    """Ask until the answer fits; None for a field that is left empty and may be."""
    options: list[str] = field.get("enum") or []
    kind, default = field.get("type"), field.get("default")
    hint = f" ({', '.join(options)})" if options else " (y/n)" if kind == "boolean" else ""
    hint += f" [{default}]" if default is not None else "" if needed else " (may stay empty)"
    while True:
        print(clean(f"{field.get('title') or name}{hint}: "), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text = line.strip()
        if not text and (default is not None or not needed):
            return default
        value = _value(text, kind)
        if value is not None and text and (not options or value in options):
            return value
        say(f"  {'one of these' if options else kind} is needed")


def _value(text: str, kind: Any) -> Any:
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                low = text.lower()
                return True if low in _YES else False if low in _NO else None
            case _:
                return text
    except ValueError:
        return None
