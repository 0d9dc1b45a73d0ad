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
from treadle._types.events import AnswerDelta


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


@pytest.mark.parametrize("abilities", [{}, {"json_mode": True}, {"tool_call": False, "json_mode": True}], ids=str)
def test_without_a_value_the_run_says_so_keeps_the_text_and_asks_no_more_than_twice(abilities: dict[str, bool]):
    model = ScriptedModel([call("echo", text="717710"), "never"], repeat_last=True, abilities=abilities)
    result = go(Agent(model, [echo], output_type=City, on_error="result", dialect="native").run("q"))
    assert (result.success, result.output, result.answer) == (False, None, "never")
    assert isinstance(result.error, StructuredCallError)
    assert [request.component for request in model.requests] == ["loop", "loop", "output", "output"]


FENCED = 'Here:\n```json\n{"name": "Paris",\n "people": 2}\n```'


@pytest.mark.parametrize("settings", [{}, {"answer": "synthesize"}, {"answer": "complete"}], ids=str)
@pytest.mark.parametrize(
    ("replies", "text"),
    [
        (['{"name": "Paris", "people": 2}'], '{"name": "Paris", "people": 2}'),
        ([FENCED], '{"name": "Paris",\n "people": 2}'),
        (["The tool said: 717710", call("answer", name="Paris", people=2)], '{"name":"Paris","people":2}'),
        ([call("echo", text="717710"), "[1]", call("answer", name="Paris", people=2)], '{"name":"Paris","people":2}'),
    ],
    ids=["fits", "fenced", "prose", "after a tool"],
)
def test_the_answer_is_the_text_of_the_output_and_is_shown_once(
    replies: list[Any], text: str, settings: dict[str, Any]
):
    model = ScriptedModel(replies)
    agent = Agent(model, [echo], output_type=City, **settings)

    async def main() -> tuple[str, Any]:
        shown: list[str] = []
        run = agent.start("q")
        run.subscribe(lambda record: shown.extend([record.event.text] if isinstance(record.event, AnswerDelta) else []))
        result = await run
        return "".join(shown), result

    shown, result = go(main())
    assert (shown, result.answer, result.output) == (text, text, City("Paris", 2))
    assert len(model.requests) == len(replies)


def test_at_the_limit_the_answer_is_the_text_of_the_output_too():
    model = ScriptedModel([call("echo", text="717710"), call("answer", name="Paris", people=3)])
    result = go(Agent(model, [echo], output_type=City, max_iterations=1, on_limit="fallback").run("q"))
    assert (result.stop_reason, result.answer, result.output) == (
        "limit",
        '{"name":"Paris","people":3}',
        City("Paris", 3),
    )
