"""A value borrowed from the tool's own description is objected to once."""

from __future__ import annotations

from typing import Annotated, Literal

from kit import assert_paired, go
from treadle import Agent, ScriptedModel, tool

from .scenes import answer_in, in_dialect

MADE: list[str] = []


@tool(effect="pure")
def record(employee: str) -> str:
    """Look up an employee.

    Args:
        employee: the id, such as E17 or E-18
    """
    MADE.append(employee)
    return f"record of {employee}"


@tool(effect="pure")
def phone_book(name: str) -> str:
    """The id of a person.

    Args:
        name: the name, such as Ada Brandt
    """
    MADE.append(name)
    return "id E17" if name == "Ada Brandt" else "id E48"


def run(question: str, *calls: str, tools: tuple[object, ...] = (record, phone_book), grammar: bool = True):
    MADE.clear()
    model = ScriptedModel([*calls, answer_in("schema", "done")], abilities={"tool_call": False, "grammar": grammar})
    return model, go(Agent(model, list(tools), dialect="schema").run(question))


BORROWED = in_dialect("schema", "record", employee="E17")
LOOKED_UP = in_dialect("schema", "phone_book", name="Ada Brandt")


def test_a_made_up_id_is_refused_and_the_next_reply_is_for_another_tool():
    model, result = run("Where does Ada work?", BORROWED, LOOKED_UP, BORROWED)
    assert MADE == ["Ada Brandt", "E17"]
    assert '"E17" is only the example in the description of employee' in result.steps[0].observation
    assert result.steps[0].error == "rejected"
    assert ["'record'" in str(request.format) for request in model.requests] == [True, False, True, True]
    assert_paired(result.messages)


def test_what_was_said_by_the_user_or_a_tool_may_be_used():
    run("Where does e17 work?", BORROWED)
    assert MADE == ["E17"]
    run("Where does Ada work?", LOOKED_UP, BORROWED)
    assert MADE == ["Ada Brandt", "E17"]


def test_a_second_time_the_same_call_goes_through():
    model, _ = run("Where does Ada work?", BORROWED, BORROWED, tools=(record,))
    assert MADE == ["E17"]
    assert "'record'" in str(model.requests[1].format)


def test_names_other_numbers_choices_and_able_models_are_left_alone():
    run("Whose id?", LOOKED_UP)
    assert MADE == ["Ada Brandt"]
    run("Where does Ada work?", BORROWED, grammar=False)
    assert MADE == ["E17"]

    @tool
    def size(format: Annotated[Literal["A4", "A5"], "A4 or A5"]) -> str:
        """The size of a sheet."""
        return "21 cm"

    _, result = run("How wide is a sheet?", in_dialect("schema", "size", format="A4"), tools=(size,))
    assert result.steps[0].error == ""
