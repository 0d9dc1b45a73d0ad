"""Constraints on a reply: JSON schemas with one alternative per tool, and a grammar for prose that ends in an action.

A model that decodes under such a constraint always writes an action that can be read, whichever model it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from treadle._dialects.describe import encode_json
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, ToolSchema

Schema = dict[str, Any]
_DEFINITIONS = ("$defs", "definitions")


def record(**properties: Schema) -> Schema:
    """An object with exactly these keys, in this order."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}


def text_for(profile: Profile) -> Schema:
    """The schema of a text of a few sentences.

    Some models never end a string by themselves under a constraint. Not all providers that constrain by schema alone
    accept a length, so it is given only where decoding follows it token by token.
    """
    return {"type": "string", "maxLength": 400} if profile.constrained else STRING


def const(value: str) -> Schema:
    return {"const": value}


class Alternatives:
    """Collects the alternatives of a reply. The definitions of tool schemas move to the root, under unique names."""

    def __init__(self) -> None:
        self._schemas: list[Schema] = []
        self._definitions: Schema = {}

    def add(self, schema: Schema) -> None:
        self._schemas.append(schema)

    def parameters(self, tool: ToolSchema) -> Schema:
        """A tool's parameter schema in a form that can be part of another schema."""
        prefix = f"{tool.name}."
        schema = cast("Schema", _rename(tool.parameters, prefix))
        for keyword in _DEFINITIONS:
            for name, definition in cast("Schema", schema.pop(keyword, None) or {}).items():
                self._definitions[prefix + name] = definition
        if schema.get("properties") and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        return schema if schema.get("type") == "object" else {"type": "object", **schema}

    def any_of(self) -> Schema:
        # The type beside the alternatives is for providers that insist on an object at the root.
        schema = self._schemas[0] if len(self._schemas) == 1 else {"type": "object", "anyOf": self._schemas}
        return self.with_definitions(schema)

    def list_of(self, limit: int) -> Schema:
        return self.with_definitions(
            {"type": "array", "items": {"anyOf": self._schemas}, "minItems": 1, "maxItems": limit}
        )

    def with_definitions(self, schema: Schema) -> Schema:
        return {**schema, "$defs": self._definitions} if self._definitions else schema


def _rename(node: Any, prefix: str) -> Any:
    """A copy of a schema whose references point to definitions under the prefix."""
    if isinstance(node, list):
        return [_rename(item, prefix) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("Schema", node)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        return {"$ref": f"#/$defs/{prefix}{name}"} if reference.startswith(("#/$defs/", "#/definitions/")) else {}
    # Constraint engines and providers support `anyOf`, few `oneOf`. Arguments are validated exactly afterwards.
    return {"anyOf" if key == "oneOf" else key: _rename(item, prefix) for key, item in fields.items()}


def json_format(schema: Schema, profile: Profile, name: str) -> OutputFormat | None:
    """The strongest constraint to a schema that the model supports."""
    if profile.json_schema or profile.grammar:
        return OutputFormat("schema", schema, name=name)
    return OutputFormat("json") if profile.json_mode else None


_JSON_RULES = r"""object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value
value ::= object | array | string | number | ("true" | "false" | "null") ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex))* "\"" ws
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= [ \t\n]?
"""


def action_grammar(tools: Sequence[ToolSchema], opening: str, closing: str) -> str:
    """A grammar: lines of thought, then one action with one of the tools or an answer between markers."""
    names = " | ".join(_literal(encode_json(tool.name)) for tool in tools)
    rules = ["root ::= thought (final | action)" if tools else "root ::= thought final"]
    # Bounded, because some models never stop. No line may begin like an action or a marker.
    rules.append('thought ::= (([^A<\\n] [^\\n]{0,199} | "A" [^c\\n] [^\\n]{0,198})? "\\n"){0,3}')
    rules.append(f"final ::= {_literal(opening)} [^<]+ {_literal(closing)}")
    if tools:
        rules.append(
            f'action ::= "Action: {{\\"tool\\": " ({names}) ", \\"inputs\\": " object ", \\"final_answer\\": false}}"'
        )
        rules.append(_JSON_RULES)
    return "\n".join(rules)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
