"""Output types: told to the model as a schema, read back as Python."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, TypedDict

import msgspec
import pytest

from kit import call, echo, go
from treadle import Agent, ScriptedModel
from treadle._engine.answering.output import instruction, shape_of
from treadle._types.errors import StructuredCallError


@dataclasses.dataclass
class City:
    name: str
    people: int = 0


class Place(msgspec.Struct):
    name: str
    city: City


class Row(TypedDict):
    name: str


OBJECTS = [
    (City, {"name": "Paris", "people": 2}, City("Paris", 2)),
    (City, {"name": "Paris"}, City("Paris")),
    (Place, {"name": "Louvre", "city": {"name": "Paris"}}, Place("Louvre", City("Paris"))),
    (Row, {"name": "a"}, {"name": "a"}),
    (dict[str, int], {"a": 1}, {"a": 1}),
]
OTHERS = [
    (int, {"answer": 3}, 3),
    (list[int], {"answer": [1, 2]}, [1, 2]),
    (Literal["yes", "no"], {"answer": "yes"}, "yes"),
    (list[City], {"answer": [{"name": "Paris"}]}, [City("Paris")]),
    (int | None, {"answer": None}, None),
]


@pytest.mark.parametrize(("kind", "raw", "value"), OBJECTS, ids=str)
def test_a_type_that_is_an_object_is_asked_for_as_it_is(kind: Any, raw: dict[str, Any], value: Any):
    shape = shape_of(kind)
    assert not shape.wrapped
    assert shape.schema["type"] == "object"
    assert shape.read(raw) == value


@pytest.mark.parametrize(("kind", "raw", "value"), OTHERS, ids=str)
def test_any_other_type_is_asked_for_in_an_object(kind: Any, raw: dict[str, Any], value: Any):
    shape = shape_of(kind)
    assert shape.wrapped
    assert list(shape.schema["properties"]) == ["answer"]
    assert shape.read(raw) == value


def test_the_definitions_of_nested_types_travel_with_the_schema():
    text = instruction(Place)
    assert "JSON Schema" in text
    assert '"people"' in text


def test_an_answer_that_already_fits_costs_no_further_call():
    model = ScriptedModel(['Here you are: {"name": "Paris", "people": 2}'])
    result = go(Agent(model, [echo], output_type=City, on_error="result").run("q"))
    assert (result.output, len(model.requests)) == (City("Paris", 2), 1)


@pytest.mark.parametrize("draft", ['{"name": 5}', '{"people": 2}', "Paris", "[1]", '{"name": "x", "people": "many"}'])
def test_any_other_answer_is_converted_in_one_call_that_sees_question_and_answer(draft: str):
    model = ScriptedModel([draft, call("answer", name="Paris", people=2)])
    result = go(Agent(model, [echo], output_type=City).run("which city?"))
    assert result.output == City("Paris", 2)
    request = model.requests[1]
    assert request.component == "output"
    assert "which city?" in str(request.messages[-1])
    assert draft in request.messages[-1].content  # type: ignore[union-attr,operator]


def test_the_prompt_of_the_conversion_can_be_replaced():
    model = ScriptedModel(["Paris", call("answer", name="Paris")])
    go(Agent(model, [echo], output_type=City, prompts={"typed_answer": "MINE"}).run("q"))
    assert model.requests[1].messages[0].text == "MINE"  # type: ignore[union-attr]


def test_without_a_value_the_run_says_so_and_keeps_the_text():
    result = go(Agent(ScriptedModel(["never"], repeat_last=True), [echo], output_type=City, on_error="result").run("q"))
    assert (result.success, result.output, result.answer) == (False, None, "never")
    assert isinstance(result.error, StructuredCallError)
