"""A small model that calls a tool with the example in its description is told so, once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kit import assert_paired, go, row
from plugins.scenes import answer_in, in_dialect
from treadle import Agent, ScriptedModel, tool

CALLED: list[str] = []


@tool(effect="pure")
def record(employee: str) -> str:
    """Look up an employee.

    Args:
        employee: the id, such as E17 or E-18
    """
    CALLED.append(employee)
    return f"record of {employee}"


@tool(effect="pure")
def phone_book(name: str) -> str:
    """The id of a person.

    Args:
        name: the name, such as Ada Brandt
    """
    CALLED.append(name)
    return "id E17" if name == "Ada Brandt" else "id E48"


def run(question: str, *calls: str, tools: tuple[object, ...] = (record, phone_book), **more: Any):
    CALLED.clear()
    prompts = more.pop("prompts", None)
    abilities = {"tool_call": False, "grammar": True, "parameters": 1.5, **more}
    model = ScriptedModel([*calls, answer_in("schema", "done")], abilities=abilities)
    return model, go(Agent(model, list(tools), dialect="schema", prompts=prompts).run(question))


EXAMPLE = in_dialect("schema", "record", employee="E17")
LOOKED_UP = in_dialect("schema", "phone_book", name="Ada Brandt")


def test_an_id_from_the_description_is_refused_and_the_next_reply_is_for_another_tool():
    model, result = run("Where does Ada work?", EXAMPLE, LOOKED_UP, EXAMPLE)
    assert CALLED == ["Ada Brandt", "E17"]
    assert '"E17" is only the example in the description of employee' in result.steps[0].observation
    assert result.steps[0].error == "rejected"
    assert ["'record'" in str(request.format) for request in model.requests] == [True, False, True, True]
    assert_paired(result.messages)


def test_a_model_with_an_adapter_is_told_too():
    """The one of 0.5 billion parameters takes examples for values in chains, also with its adapter."""
    _, result = run("Where does Ada work?", EXAMPLE, LOOKED_UP, EXAMPLE, adapter="taught")
    assert CALLED == ["Ada Brandt", "E17"]
    assert result.steps[0].error == "rejected"


def test_what_was_said_by_the_user_or_a_tool_may_be_used():
    run("Where does e17 work?", EXAMPLE)
    assert CALLED == ["E17"]
    run("Where does Ada work?", LOOKED_UP, EXAMPLE)
    assert CALLED == ["Ada Brandt", "E17"]


def test_a_second_time_the_same_call_goes_through():
    model, _ = run("Where does Ada work?", EXAMPLE, EXAMPLE, tools=(record,))
    assert CALLED == ["E17"]
    assert "'record'" in str(model.requests[1].format)


def test_beside_another_tool_it_goes_through_at_the_third_time():
    """A model without an adapter comes back to what it made up as soon as the other tool does not help."""
    other = in_dialect("schema", "phone_book", name="Bo Ek")
    _, result = run("Where does Ada work?", EXAMPLE, other, EXAMPLE, LOOKED_UP, tools=(record, phone_book))
    assert CALLED == ["Bo Ek", "Ada Brandt"]
    assert [step.error for step in result.steps] == ["rejected", "", "rejected", ""]
    run("Where does Ada work?", EXAMPLE, other, EXAMPLE, other, EXAMPLE, tools=(record, phone_book))
    assert CALLED[-1] == "E17"


def test_models_without_grammar_and_those_not_known_to_be_small_are_left_alone():
    for able in [{"grammar": False}, {"parameters": None}, {"parameters": 7.0}]:
        with row(able):
            _, result = run("Where does Ada work?", EXAMPLE, **able)
            assert CALLED == ["E17"]
            assert result.steps[0].error == ""


def test_the_words_can_be_replaced():
    _, result = run("Where does Ada work?", EXAMPLE, prompts={"example_value": "Not {value} for {name} of {tool}."})
    assert result.steps[0].observation == "Not E17 for employee of record."


@tool(effect="pure")
def calculate(expression: Annotated[str, "e.g. (2 + 3) * sqrt(16) / 4"]) -> str:
    """Work out a sum."""
    CALLED.append(expression)
    return "5"


def test_so_is_a_sum_that_is_the_example_or_mostly_it():
    for expression in ["(2 + 3) * sqrt(16) / 4", "(2+3) * sqrt(16) / 4 * 12"]:
        with row(expression):
            sum_up = in_dialect("schema", "calculate", expression=expression)
            _, result = run("What does Ada earn in 12 months?", sum_up, LOOKED_UP, tools=(calculate, phone_book))
            assert CALLED == ["Ada Brandt"]
            assert "is only the example in the description of expression" in result.steps[0].observation


def test_a_sum_of_the_users_own_is_worked_out():
    for question, expression in [
        ("What is (2 + 3) * sqrt(16) / 4?", "(2 + 3) * sqrt(16) / 4"),
        ("What are 15 and 3 and 16, over 4?", "(15 + 3 + 16) / 4"),
    ]:
        with row(question, expression):
            run(question, in_dialect("schema", "calculate", expression=expression), tools=(calculate, phone_book))
            assert [expression] == CALLED


def test_values_without_a_digit_and_choices_are_left_alone():
    run("Whose id?", LOOKED_UP)
    assert CALLED == ["Ada Brandt"]

    @tool
    def size(format: Annotated[Literal["A4", "A5"], "A4 or A5"]) -> str:
        """The size of a sheet."""
        return "21 cm"

    _, result = run("How wide is a sheet?", in_dialect("schema", "size", format="A4"), tools=(size,))
    assert result.steps[0].error == ""
