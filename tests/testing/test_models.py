"""Models for tests: a function, and one that tries every tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jsonschema_rs
import pytest

from kit import go
from treadle import Agent, ModelError, tool
from treadle._testing.examples import example_value
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
    failing = Agent(FunctionModel(lambda request: ModelError("no")), tools=None).run_sync("q")
    assert isinstance(failing.error, ModelError)


def test_a_script_counts_what_is_sent():
    model = ScriptedModel(["a", "b"])
    assert go(Agent(model, tools=None).run("q")).usage.input_tokens < 50
    assert go(Agent(model, tools=None).run("word " * 4000)).usage.input_tokens >= 5000


SCHEMAS = [
    {"type": "integer", "minimum": 5},
    {"type": "integer", "maximum": -3},
    {"type": "integer", "exclusiveMinimum": 1, "multipleOf": 5},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "minimum": 0.5, "maximum": 0.75},
    {"type": "string", "minLength": 12},
    {"type": "string", "maxLength": 0},
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
    {"type": ["null", "string"]},
    {"enum": ["x", "y"]},
    {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    {"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}]},
    {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "required": ["n"], "properties": {"n": {"const": 4}}}}},
    {},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_examples_fit_their_schema(schema: dict[str, object]):
    jsonschema_rs.validate(schema, example_value(schema))


def test_a_type_that_contains_itself_has_an_end():
    node = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/N"}}}
    assert "next" in example_value({**node, "$defs": {"N": node}})
