"""Tools as a system prompt shows them."""

from __future__ import annotations

from dialects.samples import NOW, SEARCH
from kit import row
from treadle._dialects.describe import describe, example_args
from treadle._types.request import ToolSchema


def test_tools_are_described_with_types():
    from treadle._dialects.describe import describe

    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
            "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "any": {},
        },
        "required": ["unit"],
    }
    text = describe((ToolSchema("w", "Two\n  lines", schema),))
    assert (
        text
        == '- w(unit: "c" | "f", tags?: [string], place?: {lat: number}, when?: string | null, any?: any): Two lines'
    )
    assert describe((SEARCH,)).splitlines()[1] == "    query: what to look for"


def test_a_type():
    for schema, shown in [
        ({"const": "x"}, '"x"'),
        ({"type": ["string", "null"]}, "string | null"),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"minimum": 1}, '{"minimum":1}'),
        ({"description": "free"}, "any"),
        (True, "any"),
    ]:
        with row(schema, shown):
            tool = ToolSchema("t", "", {"properties": {"x": schema}})
            assert describe((tool,)).splitlines()[0] == f"- t(x?: {shown}): "


def test_example_arguments_take_what_the_schema_offers():
    properties = {
        "a": {"examples": ["x"]},
        "b": {"enum": ["y", "z"]},
        "c": {"const": 3},
        "d": {"default": 4},
        "e": {"type": "boolean"},
        "f": {"type": "string"},
    }
    tool = ToolSchema("t", "", {"properties": properties, "required": [*properties, "unlisted"]})
    want = {"a": "x", "b": "y", "c": 3, "d": 4, "e": True, "f": "<f>", "unlisted": "<unlisted>"}
    assert example_args(tool) == want
    assert example_args(ToolSchema("t", "", {"properties": properties})) == {"a": "x"}
    assert example_args(NOW) == {}
