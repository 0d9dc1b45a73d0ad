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
from treadle._engine.acting.user_words import begins_sentence, days_in, times_in
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause
from treadle._engine.requests.model_calls import ask
from treadle._engine.structured import Ask, structured_llm_call
from treadle._models.base import Model
from treadle._safety.hidden import unseen_in
from treadle._tools.base import UNREVIEWED, Tool
from treadle._types.errors import ConfigError
from treadle._types.events import Approved
from treadle._types.intent import Intent, IntentSet, Permit, Rule, intent_of
from treadle._types.messages import ToolCall

CONFIRM = "confirm_intent"
"""The name and the id of the question whether an intent is right; its arguments are the intent, and can be edited."""
AskPerson = Callable[[Execution, ToolCall, str], Awaitable[Approved | None]]
_LATER, _WRITTEN = "<read>", "<text>"
_MAX_VALUES, _MAX_CALLS, _MAX_DESCRIBED = 40, 8, 120
_SAYS = re.compile(
    "(?<![a-z])(?:body|caption|comment|content|description|message|note|reason|subject|summary|text|title)(?![a-z])"
)
"""Words in the names of arguments that say something. Every other one is where it goes or what it is done to, which no
model writes."""
_QUOTED = re.compile(
    "(?<!\\w)[\"'\u201c\u2018\xab]((?:[^\"'\u201d\u2019\xbb\n]|(?<=\\w)['\u2019](?=\\w)){1,200})[\"'\u201d\u2019\xbb](?!\\w)"
)
_TOLD = re.compile(r"(?<=[^\W\d]: )[^\W\d][^\n.:?!]{1,200}[.?!]?$", re.MULTILINE)
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:])")
_NAME = re.compile(r"\b[A-Z]\w*(?: [A-Z]\w*)*")
_PLAIN = re.compile(r"[\w.-]{1,40}")
_NO_NAME = re.compile(
    "Also|Am|An|And|Are|Can|Could|Do|Does|Don|For|From|Hello|Hey|Hi|How|I|If|In|Is|It|Its|Let|My|No|Not|On|Or|Our|"
    "Please|So|Thanks|That|The|Then|There|They|This|To|We|What|When|Where|Who|With|Would|You|Your"
)
_ORDER = """You plan the calls of tools. These tools read:
{reads}
These act:
{acts}

Example: "Find a room near the station, book it for Ada and tell her" takes {{"calls": [{{"tool": "find_room"}}, \
{{"tool": "book_room", "guest": "Ada", "room": "<read>"}}, {{"tool": "send_message", "to": "Ada", "text": "<text>"}}]}}
Reading comes first, then each act that the request asks for, and no other. Values are copied from the request; <read> \
is a value that only reading will tell, <text> a text that you write. Reply with the JSON alone.

Request: {words}"""


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
    why = "; ".join(filter(None, ("what may be done without a question", unseen_in(call.args))))
    run.calls.asked[CONFIRM] = why
    decision = run.state.calls.approvals.get(CONFIRM)
    if decision is None or decision.tool != CONFIRM:  # a model may give a call of its own this id
        decision = await ask_person(run, call, CONFIRM)
    if decision is None:
        raise Pause(why, (call,))
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
    text = "\n".join(words)
    values = values_in(text)
    acting, reading = [tool for tool in tools if _acts(tool)], [tool for tool in tools if not _acts(tool)]
    steps = [_choices(tool) for tool in acting]
    if reading:
        steps.insert(0, _fields({"tool": {"enum": [tool.name for tool in reading]}}, ["tool"]))
    schema = {
        "type": "object",
        "properties": {"calls": {"type": "array", "maxItems": _MAX_CALLS, "items": {"anyOf": steps}}},
        "required": ["calls"],
        "additionalProperties": False,
        "$defs": {  # named once, so that the request stays short
            "value": {"enum": [*values, _LATER]},
            "text": {"enum": [*values, _LATER, _WRITTEN]},
            "number": {"enum": [*_numbers(values, whole=False), _LATER]},
            "integer": {"enum": [*_numbers(values, whole=True), _LATER]},
        },
    }  # fmt: skip
    order = _ORDER.format(reads=_listed(reading), acts=_listed(acting), words=text)
    result = await structured_llm_call(
        model, order, schema, default_value={"calls": []}, name="intent", ask=ask, show_schema=False
    )
    chosen: list[dict[str, Any]] = result.value["calls"]
    by_name = {tool.name: tool for tool in acting}
    permits = [_permit(by_name[one["tool"]], one) for one in chosen if one["tool"] in by_name]
    return Intent(
        tuple(dict.fromkeys(one["tool"] for one in chosen if one["tool"] not in by_name)),
        tuple(permit for at, permit in enumerate(permits) if permit.ask or permit not in permits[:at]),
    )


def _permit(tool: Tool, chosen: Mapping[str, Any]) -> Permit:
    """Return what a model chose as a permit; where an argument is only known after reading, a person is asked."""
    rules: dict[str, Rule] = {}
    for name, value in chosen.items():
        if name == "tool" or value == []:
            continue
        listed = cast("list[Any]", value) if isinstance(value, list) else [value]
        if _LATER in listed:
            return Permit(tool.name, ask=True)
        rules[name] = Rule(any=True) if _WRITTEN in listed else Rule(values=(cast("object", value),))
    return Permit(tool.name, 1, rules)


def _listed(tools: Sequence[Tool]) -> str:
    """Return the tools, one in a line. What a server that nobody has reviewed says of its tools is left out: only the
    person's words are to decide."""
    lines: list[str] = []
    for tool in tools:
        described = "" if tool.effect is UNREVIEWED else " ".join(tool.description.split())
        described = re.split(r"(?<=[.;:]) ", described)[0][:_MAX_DESCRIBED]
        lines.append(f"- {tool.name}({', '.join(_properties(tool))}) {described}".rstrip())
    return "\n".join(lines) or "- none"


def _properties(tool: Tool) -> dict[str, Any]:
    """Return the arguments of a tool that have a plain name: any other may be a sentence to whoever reads it."""
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    return {name: schema for name, schema in properties.items() if _PLAIN.fullmatch(name)}


def _choices(tool: Tool) -> dict[str, Any]:
    fields: dict[str, Any] = {"tool": {"const": tool.name}}
    for name, given in _properties(tool).items():
        schema = next((one for one in given.get("anyOf") or () if one.get("type") != "null"), given)
        kind: Any = schema.get("type")
        if kind == "array":
            items: Any = schema.get("items") or {}
            one = {"$ref": "#/$defs/value"} if items.get("type") == "string" else {"const": _LATER}
            fields[name] = {"type": "array", "maxItems": _MAX_CALLS, "items": one}
        elif kind == "object":
            fields[name] = {"const": _LATER}
        elif kind == "boolean":
            fields[name] = {"enum": [True, False]}
        elif kind in ("number", "integer"):
            fields[name] = {"$ref": f"#/$defs/{kind}"}
        elif "enum" in schema:
            fields[name] = {"enum": [*schema["enum"], _LATER]}
        else:
            says = name not in tool.identifies and _SAYS.search(name.casefold())
            fields[name] = {"$ref": f"#/$defs/{'text' if says else 'value'}"}
    required: Any = tool.parameters.get("required") or ()
    return _fields(fields, ["tool", *(name for name in required if name in fields)])


def _fields(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _numbers(values: Sequence[str], *, whole: bool) -> Iterator[int | float]:
    for value in values:
        if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,6})?", value) and not (whole and "." in value):
            yield int(value) if "." not in value else float(value)


def values_in(text: str) -> list[str]:
    """Return the values that stand in a text: quoted, addresses, accounts, paths, days and times, numbers, names, and
    what follows a colon to the end of its line. None of the others is a part of another, and no name is the first word
    of a sentence."""
    match: list[str] = []
    taken: list[tuple[int, int]] = []
    for form in (_QUOTED, _CLOCK, *value_forms(), _NAME):
        for one in form.finditer(text):
            start, end = one.span()
            if any(start < stop and end > begin for begin, stop in taken):
                continue
            taken.append((start, end))
            if form is _QUOTED:
                match.append(one[1])
            elif form is _NAME:
                match.append(one[0].partition(" ")[2] if begins_sentence(text, start) else one[0])
            else:
                match.append(one[0].rstrip(".,;:!?"))
    days, times = sorted(days_in(text)), [f"{minute // 60:02}:{minute % 60:02}" for minute in sorted(times_in(text))]
    match += [*days, *times, *(f"{day} {time}" for day in days[:4] for time in times[:6]), *_TOLD.findall(text)]
    return [one for one in dict.fromkeys(match) if one and not _NO_NAME.fullmatch(one)][:_MAX_VALUES]
