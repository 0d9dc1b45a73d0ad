"""JSON Schema converted to the part of it that Gemini supports."""

from __future__ import annotations

from kit import row
from treadle._models.gemini.schema import gemini_schema


def test_schema_references_alternatives_and_bounds():
    schema = {
        "$defs": {
            "point": {
                "type": "object",
                "properties": {"x": {"type": "number", "exclusiveMinimum": 0}},
                "required": ["x", "gone"],
            }
        },
        "type": "object",
        "properties": {
            "where": {"$ref": "#/$defs/point", "description": "Here"},
            "kind": {"const": "a"},
            "level": {"enum": [1, 2], "type": "integer"},
            "mood": {"enum": ["good", None]},
            "maybe": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
            "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "many": {"type": ["string", "integer"]},
            "list": {"type": "array"},
            "both": {
                "allOf": [{"$ref": "#/$defs/point"}, {"properties": {"y": {"type": "number"}}, "required": ["y"]}]
            },
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"},
        },
        "required": ["where"],
        "additionalProperties": False,
    }
    assert gemini_schema(schema) == {
        "type": "object",
        "properties": {
            "where": {
                "type": "object",
                "description": "Here",
                "properties": {"x": {"type": "number", "description": "(exclusiveMinimum: 0)"}},
                "required": ["x"],
            },
            "kind": {"type": "string", "enum": ["a"]},
            "level": {"type": "integer", "description": "(one of [1,2])"},
            "mood": {"type": "string", "enum": ["good"], "nullable": True},
            "maybe": {"type": "string", "maxLength": 3, "nullable": True},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"type": "array", "items": {}},
            "both": {
                "type": "object",
                "properties": {
                    "x": {"type": "number", "description": "(exclusiveMinimum: 0)"},
                    "y": {"type": "number"},
                },
                "required": ["x", "y"],
            },
            "when": {"type": "string", "format": "date-time"},
            "mail": {"type": "string"},
        },
        "required": ["where"],
    }


def test_recursive_and_senseless_schemas_end():
    for schema in [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        {
            "$defs": {str(i): {"anyOf": [{"$ref": f"#/$defs/{j}"} for j in range(12)]} for i in range(12)},
            "$ref": "#/$defs/0",
        },
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/nowhere/at/all"},
        {"$ref": 7},
        {},
        True,
    ]:
        with row(schema):
            assert isinstance(gemini_schema(schema), dict)
