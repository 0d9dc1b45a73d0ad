"""Which objects are a call and which are an answer, whatever dialect asked for them.

An object counts as a call only if it has a recognised shape. A name that is no known tool counts only when the
shape is explicit (a name key and an arguments key), so that the model can be told which tools exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._dialects.reading.coerce import coerce
from treadle._dialects.reading.lenient import Lenient, PythonCall, Unreadable, Whole
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
_META = frozenset({*THOUGHT_KEYS, *ANSWER_KEYS, "type", "id", "call_id", "index", "role", "task_successful"})
_MAX_WRAPPERS = 4
_NAME = re.compile(r"[\w.:/@-]{1,128}")

EVERYTHING = Whole()
NOT_WHOLE = "the arguments are not complete"


class Found(Struct, frozen=True):
    """A call as it was written. With a `problem` it must not be executed."""

    name: str
    args: dict[str, Any]
    problem: str = ""
    repaired: bool = False


def calls_in(value: Any, tools: Tools, whole: Whole = EVERYTHING, depth: int = 0) -> list[Found] | None:
    """The calls a JSON value stands for; None when it is not a call or a list of nothing but calls."""
    if isinstance(value, list):
        rows = cast("list[Any]", value)
        found = [calls_in(row, tools, whole, depth) if isinstance(row, dict) else None for row in rows]
        if found and found[-1] is None and not whole(rows[-1]):
            found.pop()  # what was only begun does not spoil what is complete
        return [call for row in found if row is not None for call in row] if found and None not in found else None
    if not isinstance(value, dict) or depth > _MAX_WRAPPERS:
        return None
    fields = cast("dict[str, Any]", value)
    if says_final(fields) and answer_in(fields, tools):
        return None
    for key in (*LIST_KEYS, *SINGLE_KEYS):
        inner: Any = fields.get(key)
        if not isinstance(inner, list if key in LIST_KEYS else dict) or named(fields, tools):
            continue
        if calls := calls_in(inner, tools, whole, depth + 1):
            return calls
    call = _call(fields, tools, whole)
    return None if call is None else [call]


def named(fields: Mapping[str, Any], tools: Tools) -> str:
    """The tool an object names; empty when it names none. A known tool wins over an earlier key."""
    names = [fields[key].strip() for key in NAME_KEYS if isinstance(fields.get(key), str)]
    known = [name for name in names if clean_name(name, tools) in tools]
    return clean_name((known or names or [""])[0], tools)


def clean_name(name: str, tools: Tools) -> str:
    """Without the wrapping some models put around a name: `functions.search:0` is `search`."""
    name = name.split("<|")[0].strip()
    if name in tools:
        return name
    bare = re.sub(r"^(?:functions?|tools?)\.|:\d+$", "", name)
    bare = re.sub(r"^(?:functions?|tools?)\.|:\d+$", "", bare)
    return bare if bare in tools or name.startswith("functions.") else name


def is_final(name: str, tools: Tools) -> bool:
    return name not in tools and name.lower().replace(" ", "_") in FINAL_NAMES


def _call(fields: dict[str, Any], tools: Tools, whole: Whole) -> Found | None:
    name = named(fields, tools)
    keys = [key for key in ARGS_KEYS if key in fields]
    if name and keys and not is_final(name, tools):
        if not _NAME.fullmatch(name):
            return None
        args = fields[keys[0]]
        return make_call(name, args, tools, done=whole(args, fields))
    rest = {key: item for key, item in fields.items() if key not in _META}
    if name in tools:
        flat = {key: item for key, item in rest.items() if key not in NAME_KEYS or key in properties_of(tools[name])}
        flat = {
            key: item
            for key, item in flat.items()
            if not (isinstance(item, str) and key in NAME_KEYS and item.strip() == name)
        }
        fits = set(flat) <= set(properties_of(tools[name])) and bool(flat or not tools[name].parameters.get("required"))
        return make_call(name, flat, tools, done=whole(fields)) if fits else None
    if len(rest) == 1:
        key = next(iter(rest))
        if key in tools and (rest[key] is None or isinstance(rest[key], dict)):
            return make_call(key, rest[key], tools, done=whole(rest[key], fields))
    return None


def properties_of(tool: ToolSchema) -> dict[str, Any]:
    found: Any = tool.parameters.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def about_parameter(tool: ToolSchema, name: str) -> dict[str, Any]:
    """What is known about it. A schema may also be just `true`."""
    found: Any = properties_of(tool).get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def make_call(name: str, args: Any, tools: Tools, *, done: bool = True, repaired: bool = False) -> Found:
    """A call from whatever stood for its arguments, in the types its tool asks for."""
    tool = tools.get(name)
    fields, problem = arguments(args, tool)
    if not done:
        return Found(name, {}, NOT_WHOLE, repaired)
    if problem:
        return Found(name, {}, problem, repaired)
    return Found(name, coerce(fields, tool.parameters) if tool else fields, "", repaired)


def arguments(value: Any, tool: ToolSchema | None) -> tuple[dict[str, Any], str]:
    """The arguments an arguments value stands for, or what is wrong with it."""
    if isinstance(value, str):
        value = _from_text(value)
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


def _from_text(text: str) -> Any:
    """Arguments that were encoded twice, as what they encode; other text as it is."""
    plain = text.strip()
    if plain[:1] not in ("{", "["):
        return None if plain in ("", "null", "None") else text
    try:
        return msgspec.json.decode(plain)
    except (ValueError, RecursionError):
        pass
    try:
        parsed = Lenient(plain).parse(0)
    except Unreadable:
        return text
    return parsed.value if parsed.closed and not plain[parsed.end :].strip() else text


def _only_parameter(tool: ToolSchema | None) -> str:
    """The parameter a bare value must be meant for: the only required one, or the only one."""
    if tool is None:
        return ""
    required: Any = tool.parameters.get("required") or list(properties_of(tool))
    return (
        str(cast("list[Any]", required)[0])
        if isinstance(required, list) and len(cast("list[Any]", required)) == 1
        else ""
    )


def _unwrap(args: dict[str, Any], tool: ToolSchema | None) -> tuple[dict[str, Any], str]:
    """Arguments inside `{"properties": {...}}` or `{"arguments": {...}}`, a wrapper the tool itself does not have."""
    known = properties_of(tool) if tool else {}
    if not args or not known:
        return args, ""
    echo = args.get("type") == "object" and "type" not in known
    for wrapper in ("properties",) if echo else ("properties", *ARGS_KEYS):
        inner: Any = args.get(wrapper)
        if wrapper in known or inner is None or (len(args) > 1 and not echo):
            continue
        if isinstance(inner, str):
            inner = _from_text(inner)
        if isinstance(inner, dict):
            fields = cast("dict[str, Any]", inner)
            if fields and all(isinstance(item, dict) and "type" in item for item in fields.values()):
                return {}, "this repeats the tool's description instead of giving argument values"
            return fields, ""
    return args, ""


def python_calls(calls: Sequence[PythonCall], tools: Tools, whole: Whole) -> list[Found]:
    """Calls written as Python: arguments without a name go to the parameters in their order."""
    result: list[Found] = []
    for call in calls:
        name = clean_name(call.name.removesuffix(".call"), tools)
        names = list(properties_of(tools[name])) if name in tools else []
        problem = "" if len(call.positional) <= len(names) else "give each argument by name"
        args = dict(zip(names, call.positional, strict=False)) | call.named
        result.append(Found(name, {}, problem) if problem else make_call(name, args, tools, done=whole(call.named)))
    return result


def says_final(fields: Mapping[str, Any]) -> bool:
    return fields.get("type") in ("final_answer", "final", "answer")


def answer_in(fields: Mapping[str, Any], tools: Tools) -> str | None:
    """The answer an object gives, if it gives one."""
    final = says_final(fields)
    keys = (*ANSWER_KEYS, "content", "text", "message", "result", "output") if final else ANSWER_KEYS
    for key in keys:
        if (text := as_text(fields.get(key))) is not None and (text or final):
            return text
    names = [fields[key] for key in NAME_KEYS if isinstance(fields.get(key), str)]
    if not names or not all(is_final(name, tools) for name in names):
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
    if value is None or isinstance(value, bool):
        return None
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def thought_in(fields: Mapping[str, Any]) -> str:
    for key in THOUGHT_KEYS:
        if text := as_text(fields.get(key)):
            return text
    return ""
