"""Tools as a system prompt shows them: a short signature each, with the descriptions of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from treadle._models.transport.wire import as_dict, as_list
from treadle._types.request import ToolSchema

NO_TOOLS = "(none: answer directly)"


def describe(tools: Sequence[ToolSchema]) -> str:
    """`- name(param: type, optional?: type): what it does`, then a line per parameter that has a description."""
    return "\n".join(_tool(tool) for tool in tools) or NO_TOOLS


def _tool(tool: ToolSchema) -> str:
    properties = as_dict(tool.parameters.get("properties"))
    required = as_list(tool.parameters.get("required"))
    signature = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(schema)}" for name, schema in properties.items()
    )
    lines = [f"- {tool.name}({signature}): {_one_line(tool.description)}"]
    lines += [
        f"    {name}: {note}"
        for name, schema in properties.items()
        if (note := _one_line(as_dict(schema).get("description")))
    ]
    return "\n".join(lines)


def _type(schema: Any) -> str:
    fields = as_dict(schema)
    if choices := fields.get("enum"):
        return " | ".join(encode_json(choice) for choice in cast("list[Any]", choices))
    if "const" in fields:
        return encode_json(fields["const"])
    declared: Any = fields.get("type")
    if declared == "array":
        return f"[{_type(fields.get('items'))}]"
    if declared == "object" and fields.get("properties"):
        inner = as_dict(fields["properties"])
        return "{" + ", ".join(f"{name}: {_type(item)}" for name, item in inner.items()) + "}"
    if isinstance(declared, str):
        return declared
    if isinstance(declared, list):
        return " | ".join(str(name) for name in cast("list[Any]", declared))
    for keyword in ("anyOf", "oneOf"):
        if alternatives := fields.get(keyword):
            return " | ".join(dict.fromkeys(_type(alternative) for alternative in cast("list[Any]", alternatives)))
    return encode_json(fields) if fields and "description" not in fields else "any"


def example_args(tool: ToolSchema) -> dict[str, Any]:
    """Example arguments for a call: an example value or a placeholder for each required parameter."""
    properties = as_dict(tool.parameters.get("properties"))
    names = [str(name) for name in as_list(tool.parameters.get("required"))] or list(properties)[:1]
    return {name: _example(name, as_dict(properties.get(name))) for name in names}


def _example(name: str, schema: dict[str, Any]) -> Any:
    for given in (schema.get("examples"), schema.get("enum")):
        if isinstance(given, list) and given:
            return cast("list[Any]", given)[0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    plain: dict[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}
    return plain.get(str(schema.get("type")), f"<{name}>")


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())


def encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
