"""Models for tests: a function, and one that tries every tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import jsonschema_rs
import pytest

from kit import go
from treadle import Agent, ModelError, tool
from treadle._testing.examples import example_value, text_for_pattern
from treadle.messages import Request
from treadle.testing import FunctionModel, ScriptedModel, TestModel, assert_called, assert_tools


@dataclass
class Place:
    name: str
    kind: Literal["town", "river"]
    size: float = 2.5


@tool
def look(place: Place, times: int) -> str:
    """Look at a place."""
    return f"{place.name} {place.kind} {times}"


@tool
def wait() -> str:
    """Do nothing."""
    return "waited"


def test_every_tool_is_called_once_with_arguments_that_fit():
    result = Agent(TestModel("all done"), [look, wait]).run_sync("q")
    assert_tools(result, ["look", "wait"])
    assert [step.error for step in result.steps] == ["", ""]
    assert result.answer == "all done"


def test_some_tools_and_given_arguments():
    given = {"look": {"place": {"name": "Tay", "kind": "river"}, "times": 3}}
    result = Agent(TestModel(only=["look"], args=given), [look, wait]).run_sync("q")
    assert [step.observation for step in assert_called(result, "look")] == ["Tay river 3"]
    assert_tools(result, ["look"])


def test_a_typed_answer_fits_its_type():
    result = Agent(TestModel(), tools=None, output_type=Place).run_sync("q")
    assert result.success
    assert isinstance(result.output, Place)


def test_a_function_is_a_model():
    async def reply(request: Request) -> object:
        return {"name": "wait"} if len(request.messages) < 3 else f"after {len(request.messages)}"

    result = Agent(FunctionModel(reply), [wait], system="S").run_sync("q")
    assert (result.answer, result.tools_used) == ("after 4", ["wait"])
    failing = Agent(FunctionModel(lambda request: ModelError("no")), tools=None, on_error="result").run_sync("q")
    assert isinstance(failing.error, ModelError)


def test_a_script_counts_what_is_sent():
    model = ScriptedModel(["a", "b"])
    assert go(Agent(model, tools=None).run("q")).usage.input_tokens < 50
    assert go(Agent(model, tools=None).run("word " * 4000)).usage.input_tokens >= 5000


def test_a_type_that_contains_itself_has_an_end():
    node = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/N"}}}
    assert "next" in example_value({**node, "$defs": {"N": node}})


@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize(
    "dialect", ["native", "json", "action", "array", "schema", "direct", "brief", "compact", "code"]
)
def test_every_tool_is_called_in_every_dialect(dialect: str, able: bool):
    abilities = None if able else {"tool_call": False, "json_schema": False, "json_mode": False}
    result = Agent(TestModel(abilities=abilities), [look, wait], dialect=dialect).run_sync("q")
    assert_tools(result, ["look", "wait"])
    assert (result.answer, result.success) == ("done", True)
    typed = Agent(TestModel(abilities=abilities), [wait], dialect=dialect, output_type=Place).run_sync("q")
    assert isinstance(typed.output, Place)


NODE = {"type": "object", "required": ["v"], "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/N"}}}
CONDITION = {
    "if": {"properties": {"k": {"const": "x"}}},
    "then": {"required": ["y"], "properties": {"y": {"type": "integer"}}},
}
SCHEMAS = [
    {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
    {"type": "string", "pattern": r"^\+?[0-9 ]{7,15}$"},
    {"type": "string", "pattern": "(foo|bar)baz", "minLength": 9},
    {"type": "string", "pattern": r"^[^a-z\s]+\.(\w)\1$"},
    {"type": "string", "pattern": "^[a-f0-9]+$", "minLength": 5, "maxLength": 5},
    {"type": "string", "default": 7, "pattern": "x"},
    *(
        {"type": "string", "format": name}
        for name in ("email", "ipv4", "ipv6", "uri", "iri", "date", "date-time", "time")
    ),
    *({"type": "string", "format": name} for name in ("uuid", "hostname", "idn-email", "json-pointer", "duration")),
    {"type": "integer", "minimum": 5, "maximum": 7},
    {"type": "integer", "exclusiveMinimum": 5, "multipleOf": 4},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "minimum": -3, "maximum": -1},
    {"type": "integer", "minimum": -10, "maximum": -3, "multipleOf": 3},
    {"type": ["null", "integer"], "minimum": 4},
    {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 1}]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/N"}], "$defs": {"N": NODE}},
    {"$ref": "#/$defs/N", "$defs": {"N": NODE}},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "contains": {"const": 5}},
    {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
    {"type": "object", "required": ["a"], "patternProperties": {"^a": {"type": "integer"}}},
    {"allOf": [{"required": ["a"], "properties": {"a": {"type": "string"}}}, {"required": ["b"], "type": "object"}]},
    {"type": "object", "properties": {"k": {"const": "x"}}, "required": ["k"], **CONDITION},
    {"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}},
    {"not": {"type": "string"}},
    {"type": "string", "maxLength": 0},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
    {"enum": ["x", "y"]},
    {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "required": ["n"], "properties": {"n": {"const": 4}}}}},
    {},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:60])
def test_an_example_fits_its_schema(schema: dict[str, object]):
    value = example_value(schema)
    assert jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value), value


@pytest.mark.parametrize(
    "pattern", ["(unclosed", "a(?=b)b", "(?!x)a+", r"\Bx\b", "a{2,}?c|d", "[^a]b(?P<n>c)(?P=n)", "x*"]
)
def test_a_text_is_found_for_a_pattern_or_none_is_claimed(pattern: str):
    text = text_for_pattern(pattern, 3)
    assert not text or (len(text) >= 3 and re.search(pattern, text))
    assert text or pattern in ("(unclosed", r"\Bx\b")
