"""Derive what a person wants done from the person's words alone. The engine finds the values in them; a model only
chooses among these, once, in a request that holds nothing else. Where it names more than one act, or lets free text
out, a person confirms it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import msgspec

from treadle._engine.acting.picking import value_forms
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause
from treadle._engine.requests.model_calls import ask
from treadle._engine.structured import Ask, structured_llm_call
from treadle._models.base import Model
from treadle._tools.base import Tool
from treadle._types.dates import replace_dates
from treadle._types.errors import ConfigError
from treadle._types.events import Approved
from treadle._types.intent import Intent, IntentSet, Permit, Rule, intent_of
from treadle._types.messages import ToolCall

CONFIRM = "confirm_intent"
"""The name and the id of the question whether an intent is right; its arguments are the intent, and can be edited."""
AskPerson = Callable[[Execution, ToolCall, str], Awaitable[Approved | None]]
_LEFT_OUT, _LATER, _WRITTEN = "<left out>", "<only known after reading>", "<text that you write>"
_MAX_VALUES = 40
_QUOTED = re.compile("[\"'\u201c\u2018\xab]([^\"'\u201d\u2019\xbb\n]{1,200})[\"'\u201d\u2019\xbb]")
_NAME = re.compile(r"\b[A-Z]\w*(?: [A-Z]\w*)*")
_ORDER = (
    "A person has asked for this:\n\n{words}\n\n"
    "Say which tools read what is needed (read), and which calls the person has asked for (act): for each argument the "
    "value that the person gave, or one of the choices in <>. Name no act that was not asked for."
)


async def settle_intent(run: Execution, ask_person: AskPerson) -> None:
    """Record what a run may do, before it reads. Raises `Pause` while a person has to confirm it."""
    provenance = run.state.provenance
    if run.parent is not None or not any(map(_acts, run.tools.toolkit)):
        return
    if provenance.intent is None:
        order = derived(run.current.model, list(run.tools.toolkit), provenance.words, partial(ask, run, "intent"))
        await run.emit(IntentSet(await order, "model"))
    intent = provenance.intent
    if intent is None or provenance.confirmed or not _needs_confirmation(intent):
        return
    call = ToolCall(CONFIRM, CONFIRM, msgspec.to_builtins(intent))
    decision = run.state.calls.approvals.get(CONFIRM)
    if decision is None or decision.tool != CONFIRM:  # a model may give a call of its own this id
        decision = await ask_person(run, call, CONFIRM)
    if decision is None:
        raise Pause("what may be done without a question", (call,))
    await run.emit(IntentSet(_decided(intent, decision), "person"))


def _decided(intent: Intent, decision: Approved) -> Intent:
    if not decision.allow:
        return Intent()
    try:
        return intent if decision.args is None else intent_of(decision.args)
    except ConfigError:  # what cannot be read permits nothing
        return Intent()


def _needs_confirmation(intent: Intent) -> bool:
    acts = [permit for permit in intent.act if not permit.ask]
    rules = [rule for permit in acts for rule in (permit.args or {}).values()]
    return len(acts) > 1 or any(rule.any is not None for rule in rules)


def _acts(tool: Tool) -> bool:
    return tool.effect != "pure"


async def derived(model: Model, tools: Sequence[Tool], words: Sequence[str], ask: Ask | None = None) -> Intent:
    """Return what a model chooses, among the values in these words, as what the tools may do."""
    values = values_in("\n".join(words))
    schema = {
        "type": "object",
        "properties": {
            "read": {"type": "array", "items": {"enum": [tool.name for tool in tools if not _acts(tool)] or [""]}},
            "act": {"type": "array", "maxItems": 6,
                    "items": {"anyOf": [_choices(tool) for tool in tools if _acts(tool)]}},
        },
        "required": ["read", "act"],
        "additionalProperties": False,
        "$defs": {  # named once, so that the request stays short
            "item": {"enum": [*values, _LATER]},
            "value": {"enum": [*values, _LEFT_OUT, _LATER]},
            "text": {"enum": [*values, _LEFT_OUT, _LATER, _WRITTEN]},
            "number": {"enum": [*_numbers(values, whole=False), _LEFT_OUT, _LATER]},
            "integer": {"enum": [*_numbers(values, whole=True), _LEFT_OUT, _LATER]},
            "boolean": {"enum": [True, False, _LEFT_OUT]},
        },
    }  # fmt: skip
    result = await structured_llm_call(
        model,
        _ORDER.format(words="\n".join(words)),
        schema,
        default_value={"read": [], "act": []},
        name="intent",
        ask=ask,
    )
    chosen: dict[str, list[Any]] = result.value
    by_name = {tool.name: tool for tool in tools}
    acts = [_permit(by_name[one["tool"]], one) for one in chosen["act"] if one.get("tool") in by_name]
    return Intent(tuple(filter(None, chosen["read"])), tuple(acts))


def _permit(tool: Tool, chosen: Mapping[str, Any]) -> Permit:
    """Return what a model chose as a permit; where an argument is only known after reading, a person is asked."""
    rules: dict[str, Rule] = {}
    for name, value in chosen.items():
        listed = cast("list[Any]", value) if isinstance(value, list) else [value]
        if name == "tool" or value in ([], _LEFT_OUT):
            continue
        if _LATER in listed:
            return Permit(tool.name, ask=True)
        rules[name] = Rule(any=True) if _WRITTEN in listed else Rule(values=(cast("object", value),))
    return Permit(tool.name, 1, rules)


def _choices(tool: Tool) -> dict[str, Any]:
    properties: Any = tool.parameters.get("properties") or {}
    fields: dict[str, Any] = {"tool": {"const": tool.name}}
    for name, schema in properties.items():
        kind: Any = schema.get("type")
        free = name not in tool.identifies
        if kind == "array":
            fields[name] = {"type": "array", "items": {"$ref": "#/$defs/item"}}
        elif "enum" in schema and kind not in ("number", "integer", "boolean"):
            fields[name] = {"enum": [*schema["enum"], _LEFT_OUT, _LATER, *([_WRITTEN] if free else ())]}
        else:
            known = kind if kind in ("number", "integer", "boolean") else "text" if free else "value"
            fields[name] = {"$ref": f"#/$defs/{known}"}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _numbers(values: Sequence[str], *, whole: bool) -> Iterator[int | float]:
    for value in values:
        if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,6})?", value) and not (whole and "." in value):
            yield int(value) if "." not in value else float(value)


def values_in(text: str) -> list[str]:
    """Return the values that stand in a text: quoted, addresses, accounts, dates, paths, numbers, names."""
    matches = [match for form in (_QUOTED, *value_forms(), _NAME) for match in form.findall(text)]
    dates: list[str] = []
    replace_dates(text, lambda year, month, day: dates.append(f"{year}-{month:02}-{day:02}") if year else None)
    shown = (one.strip().rstrip(".,;:!?") for one in (*matches, *dates))
    return list(dict.fromkeys(one for one in shown if one))[:_MAX_VALUES]
