"""A small model that makes a number or an id up is asked for its source, once."""

from __future__ import annotations

from typing import Any

import pytest

from kit import assert_paired, go
from treadle import Agent, ScriptedModel, tool
from treadle._plugins.small_models.figures import ids, numbers, unfounded
from treadle._types.messages import AssistantMessage, UserMessage

from .scenes import answer_in, in_dialect

MADE: list[str] = []


@tool(effect="pure")
def price(code: str) -> str:
    """The price of a room.

    Args:
        code: the code of the room
    """
    MADE.append(code)
    return "71.50 EUR a night"


@tool(effect="pure")
def hotel(name: str) -> str:
    """Look up a hotel."""
    MADE.append(name)
    return "3 stars, room code CL-15"


@tool(effect="pure")
def calculate(expression: str, digits: int = 2) -> str:
    """Work out a sum."""
    MADE.append(expression)
    return "286"


def call(name: str, /, **args: Any) -> str:
    return in_dialect("direct", name, **args)


def run(
    *replies: str,
    question: str = "What do 4 nights at the Casa Luna cost?",
    tools: Any = (hotel, price, calculate),
    **more: Any,
):
    MADE.clear()
    model = ScriptedModel(list(replies), abilities={"tool_call": False, "grammar": True, **more.pop("abilities", {})})
    return model, go(Agent(model, list(tools)).run(question, **more))


DONE = answer_in("direct", "It costs 286 EUR.")
HOTEL, PRICE, SUM = (
    call("hotel", name="Casa Luna"),
    call("price", code="CL-15"),
    call("calculate", expression="4 * 71.50"),
)


def test_a_number_in_a_call_that_nobody_said_is_refused_and_the_next_reply_is_for_another_tool():
    model, result = run(HOTEL, call("calculate", expression="4 * 110"), PRICE, SUM, DONE)
    assert MADE == ["Casa Luna", "CL-15", "4 * 71.50"]
    assert "110 is neither in the task nor in a result" in result.steps[1].observation
    assert ["'calculate'" in str(request.format) for request in model.requests] == [True, True, False, True, True]
    assert result.answer == "It costs 286 EUR."
    assert_paired(result.messages)


def test_so_is_an_id():
    _, result = run(call("price", code="CL-20"), HOTEL, PRICE, SUM, DONE)
    assert MADE == ["Casa Luna", "CL-15", "4 * 71.50"]
    assert '"CL-20" is neither' in result.steps[0].observation


def test_a_call_that_is_made_again_goes_through():
    run(call("price", code="CL-20"), call("price", code="CL-20"), DONE, tools=(price,))
    assert MADE == ["CL-20"]


def test_an_answer_with_a_number_that_nobody_said_is_sent_back_twice_at_most():
    guess = answer_in("direct", "It costs 440 EUR.")
    model, result = run(HOTEL, guess, PRICE, SUM, DONE)
    assert result.answer == "It costs 286 EUR."
    assert "440 is in no result" in str(model.requests[2].messages[-1])
    assert "final_answer" not in str(model.requests[2].format), "harmless tools only: it has to call one"
    assert run(HOTEL, guess, guess, guess)[1].answer == "It costs 440 EUR."


def test_without_any_call_even_a_sum_has_to_come_from_a_tool():
    in_the_head = answer_in("direct", "They cost 408 EUR.")
    model, result = run(
        in_the_head, call("calculate", expression="24 * 17"), DONE, question="What do 17 boxes at 24 EUR cost?"
    )
    assert (MADE, len(model.requests)) == (["24 * 17"], 3)
    assert result.answer == "It costs 286 EUR."


def test_a_question_in_the_words_of_a_tool_is_not_answered_from_memory():
    guess = answer_in("direct", "It is in Rome.")
    for tiny in (False, True):
        dialect = "brief" if tiny else "direct"
        replies = [
            answer_in(dialect, "It is in Rome."),
            in_dialect(dialect, "hotel", name="Park Villa"),
            answer_in(dialect, "In Turin."),
        ]
        model, result = run(*replies, question="Which hotel can you look up for me?", abilities={"tiny": tiny})
        assert result.answer == "In Turin."
        assert "what hotel can tell: call it" in str(model.requests[1].messages[-1])
        assert "Rome" not in str(model.requests[1].messages[1:]), "a model that sees its guess repeats it"
    assert run(guess, question="Where is the Colosseum?")[1].answer == "It is in Rome."


def test_giving_up_untried_is_sent_back():
    gives_up = answer_in("direct", "That is not known.").replace("true", "false")
    model, result = run(gives_up, HOTEL, answer_in("direct", "3 stars"), question="And the Casa Luna?")
    assert (result.answer, len(model.requests)) == ("3 stars", 3)
    assert "You have not tried yet" in str(model.requests[1].messages[-1])


def test_after_a_refusal_the_refused_tool_is_not_the_one_to_call():
    guess = answer_in("direct", "It costs 440 EUR.")
    model, _ = run(call("price", code="CL-20"), guess, HOTEL, DONE, DONE, DONE, tools=(hotel, price))
    assert [name in str(model.requests[2].format) for name in ("'hotel'", "'price'", "'final_answer'")] == [
        True,
        False,
        False,
    ]


def test_harm_is_not_insisted_on():
    @tool
    def book(name: str) -> str:
        """Book a hotel."""
        return "booked"

    model, _ = run(HOTEL, answer_in("direct", "440 EUR"), DONE, tools=(hotel, book))
    assert "final_answer" in str(model.requests[2].format)


@pytest.mark.parametrize(
    "reply",
    [
        "It has 3 stars.",
        "4 times 71.50 is 286.",
        "71.5 EUR",
        "75.50 with 4 EUR of tax",
        "17.88 a quarter",
        "Booked at 07:45 on 2031-08-17, K-99.",
    ],
)
def test_what_was_said_or_follows_from_it_passes(reply: str):
    model, result = run(HOTEL, PRICE, answer_in("direct", reply))
    assert (result.answer, len(model.requests)) == (reply, 3)


@pytest.mark.parametrize("reply", ["A week has 7 days.", "24 hours", "A minute has 60 seconds."])
def test_what_everybody_knows_passes_without_a_call(reply: str):
    model, result = run(answer_in("direct", reply), question="How long is it?")
    assert (result.answer, len(model.requests)) == (reply, 1)


def test_what_was_said_before_this_question_counts():
    history = [UserMessage("What is it?"), AssistantMessage("Room CL-20, 440 EUR.", dialect="native")]
    run(call("price", code="CL-20"), answer_in("direct", "440 EUR"), question="And again?", history=history)
    assert MADE == ["CL-20"]


def test_optional_arguments_long_texts_tiny_and_able_models_are_left_alone():
    run(call("calculate", expression="4 + 4", digits=20), DONE)
    assert MADE == ["4 + 4"]
    text = "In 1789 there was a revolution. " * 4
    run(call("calculate", expression=text), DONE)
    assert [text] == MADE
    guess = answer_in("direct", "440")
    MADE.clear()
    native = ScriptedModel([{"name": "price", "args": {"code": "CL-20"}}, "440"], abilities={"grammar": True})
    assert go(Agent(native, [price]).run("q")).answer == "440"
    assert MADE == ["CL-20"]
    for abilities in ({"grammar": False, "json_schema": True}, {"tiny": True}):
        model, _ = run(call("price", code="CL-20"), guess, guess, abilities=abilities)
        assert MADE == ["CL-20"]
        assert len(model.requests) == 2


def test_numbers_and_ids():
    text = "4 * 110 of 1,200.50 at 07:50 on 2024-01-02: 3kg, E17, K-100, 12.5%, 42."
    assert [str(number) for number in numbers(text)] == ["4", "110", "1200.50", "3", "12.5", "42"]
    assert ids(text) == ["E17", "K-100"]
    assert unfounded("9" * 400, []) == ""
    assert unfounded("999", [" ".join(str(n * 7919) for n in range(100))]) == ""
