"""Recognises which JSON objects are a tool call and which are an answer, whatever dialect asked for them.

An object counts as a call only if it has a recognised shape. A name that is not a tool's name counts only when the
shape is explicit (a name key and an arguments key), so that the model can be told which tools exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._dialects.reading.coerce import coerce
from treadle._dialects.reading.lenient import parse_all
from treadle._dialects.reading.parsed import COMPLETE, Completeness, PythonCall, UnreadableJson
from treadle._models.transport.wire import as_dict, as_list
from treadle._types.request import ToolSchema

Tools = Mapping[str, ToolSchema]
NAME_KEYS = ("tool_name", "tool", "name", "action", "function", "function_name", "recipient_name")
ARGS_KEYS = (
    "tool_args",
    "arguments",
    "args",
    "parameters",
    "inputs",
    "input",
    "action_input",
    "tool_input",
    "params",
    "kwargs",
)
THOUGHT_KEYS = ("reasoning", "thought", "thoughts", "thinking", "explanation")
ANSWER_KEYS = ("final_answer", "answer", "response", "final")
LIST_KEYS = ("tool_calls", "calls", "function_calls", "tool_uses", "actions")
SINGLE_KEYS = ("tool_call", "function_call", "function", "call", "action", "tool")
FINAL_NAMES = frozenset(
    {
        "final_answer",
        "finalanswer",
        "final",
        "finish",
        "answer",
        "respond",
        "response",
        "none",
        "null",
        "complete",
        "done",
        "",
    }
)
_NOT_ARGUMENTS = frozenset({*THOUGHT_KEYS, *ANSWER_KEYS, "type", "id", "call_id", "index", "role", "task_successful"})
_MAX_WRAPPERS = 4
_NAME = re.compile(r"[\w.:/@-]{1,128}")

INCOMPLETE_ARGUMENTS = "the arguments are not complete"
NOT_NAMED = "its arguments are a bare value, without the name of a parameter"
NOT_DECODABLE = "its arguments are a text that begins like JSON and is not valid JSON"


class ParsedCall(Struct, frozen=True):
    """A call as it was written. With a `problem` it must not be executed."""

    name: str
    args: dict[str, Any]
    problem: str = ""
    repaired: str = ""
    """Why it may not be what was meant: what was put right to read it, or where it stands. Empty when it is certain."""


def doubted(calls: Iterable[ParsedCall], why: str) -> tuple[ParsedCall, ...]:
    """The calls with a reason to doubt them, if there is one."""
    if not why:
        return tuple(calls)
    return tuple(call if call.repaired else msgspec.structs.replace(call, repaired=why) for call in calls)


def calls_in(
    value: Any, tools: Tools, completeness: Completeness = COMPLETE, depth: int = 0
) -> list[ParsedCall] | None:
    """The calls a JSON value stands for; None unless it is a call or a list of calls only."""
    if isinstance(value, list):
        rows = cast("list[Any]", value)
        results = [calls_in(row, tools, completeness, depth) if isinstance(row, dict) else None for row in rows]
        if results and results[-1] is None and not completeness.covers(rows[-1]):
            results.pop()  # an unfinished last row does not spoil the complete ones
        if not results or None in results:
            return None
        return [call for result in results if result is not None for call in result]
    if not isinstance(value, dict) or depth > _MAX_WRAPPERS:
        return None
    fields = cast("dict[str, Any]", value)
    if has_final_type(fields) and answer_in(fields, tools):
        return None
    for key in (*LIST_KEYS, *SINGLE_KEYS):
        inner: Any = fields.get(key)
        if not isinstance(inner, list if key in LIST_KEYS else dict) or tool_name_in(fields, tools):
            continue
        if calls := calls_in(inner, tools, completeness, depth + 1):
            return calls
    call = _call(fields, tools, completeness)
    return None if call is None else [call]


def tool_name_in(fields: Mapping[str, Any], tools: Tools) -> str:
    """The tool an object names; empty when it names none. An existing tool wins over an earlier key."""
    names = [fields[key].strip() for key in NAME_KEYS if isinstance(fields.get(key), str)]
    existing = [name for name in names if clean_name(name, tools) in tools]
    return clean_name((existing or names or [""])[0], tools)


def clean_name(name: str, tools: Tools) -> str:
    """The name without the wrapping some models put around it: `functions.search:0` is `search`."""
    name = name.split("<|")[0].strip()
    if name in tools:
        return name
    bare = re.sub(r"^(?:functions?|tools?)\.|:\d+$", "", name)
    bare = re.sub(r"^(?:functions?|tools?)\.|:\d+$", "", bare)
    return bare if bare in tools or name.startswith("functions.") else name


def is_final_name(name: str, tools: Tools) -> bool:
    """Return whether calling this name means giving the answer. A tool of that name is a tool."""
    return name not in tools and name.lower().replace(" ", "_") in FINAL_NAMES


def _call(fields: dict[str, Any], tools: Tools, completeness: Completeness) -> ParsedCall | None:
    name = tool_name_in(fields, tools)
    keys = [key for key in ARGS_KEYS if key in fields]
    if name and keys and not is_final_name(name, tools):
        if not _NAME.fullmatch(name):
            return None
        args = fields[keys[0]]
        return make_call(name, args, tools, complete=completeness.covers(args, fields))
    rest = {key: item for key, item in fields.items() if key not in _NOT_ARGUMENTS}
    if name in tools:
        flat = {key: item for key, item in rest.items() if key not in NAME_KEYS or key in properties_of(tools[name])}
        flat = {
            key: item
            for key, item in flat.items()
            if not (isinstance(item, str) and key in NAME_KEYS and item.strip() == name)
        }
        fits = set(flat) <= set(properties_of(tools[name])) and bool(flat or not tools[name].parameters.get("required"))
        return make_call(name, flat, tools, complete=completeness.covers(fields)) if fits else None
    if len(rest) == 1:
        key = next(iter(rest))
        if key in tools and (rest[key] is None or isinstance(rest[key], dict)):
            return make_call(key, rest[key], tools, complete=completeness.covers(rest[key], fields))
    return None


def properties_of(tool: ToolSchema) -> dict[str, Any]:
    """The schemas of a tool's parameters by name."""
    return as_dict(tool.parameters.get("properties"))


def parameter_schema(tool: ToolSchema, name: str) -> dict[str, Any]:
    """The schema of one parameter; empty when there is none or it is a bare `true`."""
    return as_dict(properties_of(tool).get(name))


def make_call(name: str, args: Any, tools: Tools, *, complete: bool = True, repaired: str = "") -> ParsedCall:
    """A call from a name and a value for its arguments, converted to the types the tool's schema asks for."""
    tool = tools.get(name)
    value = _decoded(args) if isinstance(args, str) else args
    if value is args and isinstance(args, str) and args.lstrip()[:1] in ("{", "["):
        repaired = repaired or NOT_DECODABLE
    if isinstance(args, bool | int | float):
        repaired = repaired or NOT_NAMED
    fields, problem = arguments(value, tool)
    if not complete:
        return ParsedCall(name, {}, INCOMPLETE_ARGUMENTS, repaired)
    if problem:
        return ParsedCall(name, {}, problem, repaired)
    return ParsedCall(name, coerce(fields, tool.parameters) if tool else fields, "", repaired)


def arguments(value: Any, tool: ToolSchema | None) -> tuple[dict[str, Any], str]:
    """The arguments that a value stands for, and what is wrong with it (empty if nothing)."""
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, list):
        rows = cast("list[Any]", value)
        value = cast("Any", rows[0] if len(rows) == 1 and isinstance(rows[0], dict) else rows)
    if value is None or value == "":
        return {}, ""
    if isinstance(value, dict):
        return _unwrap(cast("dict[str, Any]", value), tool)
    only = _only_parameter(tool)
    if only:
        return {only: value}, ""
    return {}, f"the arguments must be a JSON object, not {msgspec.json.encode(value)[:80].decode(errors='replace')}"


def _decoded(text: str) -> Any:
    """Arguments that were encoded as a JSON string, decoded; other text as it is."""
    plain = text.strip()
    if plain[:1] not in ("{", "["):
        return None if plain in ("", "null", "None") else text
    try:
        return parse_all(plain)
    except UnreadableJson:
        return text


def _only_parameter(tool: ToolSchema | None) -> str:
    """The parameter a bare value must belong to: the only required one, or the only one."""
    if tool is None:
        return ""
    names = as_list(tool.parameters.get("required") or list(properties_of(tool)))
    return str(names[0]) if len(names) == 1 else ""


def _unwrap(args: dict[str, Any], tool: ToolSchema | None) -> tuple[dict[str, Any], str]:
    """Arguments taken out of `{"properties": {...}}` or `{"arguments": {...}}` when the tool has no such parameter."""
    properties = properties_of(tool) if tool else {}
    if not args or not properties:
        return args, ""
    is_schema = args.get("type") == "object" and "type" not in properties
    for wrapper in ("properties",) if is_schema else ("properties", *ARGS_KEYS):
        inner: Any = args.get(wrapper)
        if wrapper in properties or inner is None or (len(args) > 1 and not is_schema):
            continue
        if isinstance(inner, str):
            inner = _decoded(inner)
        if isinstance(inner, dict):
            fields = cast("dict[str, Any]", inner)
            if fields and all(isinstance(item, dict) and "type" in item for item in fields.values()):
                return {}, "this repeats the tool's description instead of giving argument values"
            return fields, ""
    return args, ""


def python_calls(calls: Sequence[PythonCall], tools: Tools, completeness: Completeness) -> list[ParsedCall]:
    """Calls written in Python syntax: positional arguments go to the parameters in their order."""
    result: list[ParsedCall] = []
    for call in calls:
        name = clean_name(call.name.removesuffix(".call"), tools)
        names = list(properties_of(tools[name])) if name in tools else []
        twice = bool(set(names[: len(call.positional)]) & call.named.keys())
        problem = "" if len(call.positional) <= len(names) and not twice else "give each argument by name"
        args = dict(zip(names, call.positional, strict=False)) | call.named
        result.append(
            ParsedCall(name, {}, problem)
            if problem
            else make_call(name, args, tools, complete=completeness.covers(call.named))
        )
    return result


def has_final_type(fields: Mapping[str, Any]) -> bool:
    """Return whether the object's `type` says that it is the final answer."""
    return fields.get("type") in ("final_answer", "final", "answer")


def answer_in(fields: Mapping[str, Any], tools: Tools) -> str | None:
    """The answer an object gives; None when it gives none."""
    final = has_final_type(fields)
    keys = (*ANSWER_KEYS, "content", "text", "message", "result", "output") if final else ANSWER_KEYS
    for key in keys:
        if (text := as_text(fields.get(key))) is not None and (text or final):
            return text
    names = [fields[key] for key in NAME_KEYS if isinstance(fields.get(key), str)]
    if not names or not all(is_final_name(name, tools) for name in names):
        return None
    for key in ARGS_KEYS:
        inner = fields.get(key)
        if isinstance(inner, dict):
            values = [text for item in cast("dict[str, Any]", inner).values() if (text := as_text(item))]
            if values:
                return answer_in(cast("dict[str, Any]", inner), tools) or values[0]
        elif text := as_text(inner):
            return text
    return None


def as_text(value: Any) -> str | None:
    """A value as the text of an answer: strings as they are, other values as JSON; None for null and booleans."""
    if value is None or isinstance(value, bool):
        return None
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def thought_in(fields: Mapping[str, Any]) -> str:
    """The thought an object carries; empty when it has none."""
    for key in THOUGHT_KEYS:
        if text := as_text(fields.get(key)):
            return text
    return ""
