"""What a dialect asks of the provider: schemas with one alternative per tool, and a grammar."""

from __future__ import annotations

from typing import Any

from dialects.samples import OWN_ANSWER, OWN_CALL, SEARCH, TOOLS, decode, fits
from kit import row
from treadle._dialects.registry import get_dialect
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema

SCHEMA = Profile(json_schema=True)


GRAMMAR = Profile(json_schema=True, grammar=True)


def test_the_constraint_allows_what_the_dialect_reads_and_nothing_else():
    for name in ["json", "schema", "array", "direct", "brief"]:
        with row(name):
            encoding = get_dialect(name).encode(TOOLS, GRAMMAR)
            assert encoding.tools == ()
            assert fits(encoding, OWN_CALL[name])
            assert fits(encoding, OWN_ANSWER[name])
            assert decode(name, OWN_CALL[name]).calls
            assert decode(name, OWN_ANSWER[name]).answer == "Paris"
            for bad in (
                "{}",
                "[]",
                OWN_CALL[name].replace("search", "fly"),
                OWN_CALL[name].replace('"limit": 3', '"limit": "three"'),
                OWN_CALL[name].replace('"limit"', '"colour"'),
            ):
                assert not fits(encoding, bad), bad


def test_must_answer_leaves_only_the_answer():
    for name in ["json", "schema", "array", "direct", "brief"]:
        with row(name):
            encoding = get_dialect(name).encode(TOOLS, GRAMMAR, must_answer=True)
            assert fits(encoding, OWN_ANSWER[name])
            assert not fits(encoding, OWN_CALL[name])


def test_the_model_thinks_first():
    for name in ["json", "schema"]:
        with row(name):
            encoding = get_dialect(name).encode((SEARCH,), SCHEMA)
            assert encoding.format is not None
            assert encoding.format.schema is not None
            assert encoding.format.schema["type"] == "object"
            for alternative in encoding.format.schema["anyOf"]:
                assert next(iter(alternative["properties"])) in ("thought", "reasoning")
                assert alternative["required"] == list(alternative["properties"])


def test_less_able_models_get_less():
    for name in ("json", "schema"):
        asked = get_dialect(name).encode(TOOLS, Profile(json_mode=True)).format
        assert asked is not None
        assert (asked.kind, asked.schema) == ("json", None)
        assert get_dialect(name).encode(TOOLS, Profile()).format is None
    assert get_dialect("action").encode(TOOLS, SCHEMA).format is None


def test_definitions_of_several_tools_do_not_collide():
    def tool(name: str, kind: str) -> ToolSchema:
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {"item": {"$ref": "#/$defs/Item"}},
            "required": ["item"],
            "$defs": {
                "Item": {
                    "type": "object",
                    "properties": {"v": {"type": kind}, "next": {"$ref": "#/$defs/Item"}},
                    "required": ["v"],
                }
            },
        }
        return ToolSchema(name, "", parameters)

    tools = (tool("one", "integer"), tool("two", "string"))
    for name in ("schema", "array"):
        for profile in (SCHEMA, GRAMMAR):
            encoding = get_dialect(name).encode(tools, profile)
            form = (
                '{"thought": "", "action": "%s", "args": %s}'
                if name == "schema"
                else '[{"name": "%s", "arguments": %s}]'
            )
            if name == "array" and not profile.grammar:
                form = f'{{"calls": {form}}}'
            assert fits(encoding, form % ("one", '{"item": {"v": 1, "next": {"v": 2}}}'))
            assert fits(encoding, form % ("two", '{"item": {"v": "a"}}'))
            assert not fits(encoding, form % ("two", '{"item": {"v": 1}}'))
    assert tools[0].parameters["properties"] == {"item": {"$ref": "#/$defs/Item"}}


def test_must_act_leaves_only_calls_unless_there_is_no_tool():
    for name in ["json", "schema", "array", "direct", "brief"]:
        with row(name):
            encoding = get_dialect(name).encode(TOOLS, GRAMMAR, must_act=True)
            assert fits(encoding, OWN_CALL[name])
            assert not fits(encoding, OWN_ANSWER[name])
            assert fits(get_dialect(name).encode((), GRAMMAR, must_act=True), OWN_ANSWER[name])


def test_a_reference_out_of_the_document_allows_anything():
    tool = ToolSchema("t", "", {"properties": {"x": {"$ref": "https://example.com/x.json"}}, "required": ["x"]})
    encoding = get_dialect("schema").encode((tool,), GRAMMAR)
    for value in ("1", '"a"', "[]"):
        assert fits(encoding, f'{{"thought": "", "action": "t", "args": {{"x": {value}}}}}')
    assert not fits(encoding, '{"thought": "", "action": "t", "args": {"y": 1}}')
