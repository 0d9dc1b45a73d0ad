"""A small model that makes up a number or an id, in a call or an answer, is sent back."""

from __future__ import annotations

from typing import Any

import pytest

from kit import assert_paired, counted_turns, go, row
from plugins.scenes import answer_in, in_dialect
from treadle import Agent, ScriptedModel, ToolError, tool
from treadle._types.messages import AssistantMessage, UserMessage

CALLED: list[str] = []


@tool(effect="pure")
def price(code: str) -> str:
    """The price of a room.

    Args:
        code: the code of the room
    """
    CALLED.append(code)
    return "71.50 EUR a night"


@tool(effect="pure")
def hotel(name: str) -> str:
    """Look up a hotel."""
    CALLED.append(name)
    return "3 stars, room code CL-15"


@tool(effect="pure")
def calculate(expression: str, digits: int = 2) -> str:
    """Work out a sum."""
    CALLED.append(expression)
    return "286"


def call(name: str, /, **args: Any) -> str:
    return in_dialect("direct", name, **args)


def run(
    *replies: str,
    question: str = "What do 4 nights at the Casa Luna cost?",
    tools: Any = (hotel, price, calculate),
    **more: Any,
):
    CALLED.clear()
    abilities = {"tool_call": False, "grammar": True, "parameters": 1.5, **more.pop("abilities", {})}
    model = ScriptedModel(list(replies), abilities=abilities)
    settings = {name: more.pop(name) for name in ("prompts", "dialect") if name in more}
    return model, go(Agent(model, list(tools), **settings).run(question, **more))


DONE = answer_in("direct", "It costs 286 EUR.")
HOTEL, PRICE, SUM = (
    call("hotel", name="Casa Luna"),
    call("price", code="CL-15"),
    call("calculate", expression="4 * 71.50"),
)


def test_a_number_in_a_call_that_nobody_said_is_refused_and_the_next_reply_is_for_another_tool():
    model, result = run(HOTEL, call("calculate", expression="4 * 110"), PRICE, SUM, DONE)
    assert CALLED == ["Casa Luna", "CL-15", "4 * 71.50"]
    assert "110 is neither in the task nor in a result" in result.steps[1].observation
    assert ["'calculate'" in str(request.format) for request in model.requests] == [True, True, False, True, True]
    assert result.answer == "It costs 286 EUR."
    assert_paired(result.messages)


def test_numbers_in_calls_of_a_model_with_an_adapter_are_left_alone():
    for question, expression in [
        ("What is 98.6 Fahrenheit in Celsius?", "(98.6 - 32) * 5 / 9"),
        ("How many seconds are in 3 days?", "3 * 86400"),
        ("What is fifteen percent of two hundred and forty?", "0.15 * 240"),
        ("Was sind 19 % von 12,75 Euro?", "12.75 * 0.19"),
        ("What is the base-10 logarithm of 5000?", "log10(5000)"),
    ]:
        with row(question, expression):
            run(call("calculate", expression=expression), DONE, question=question, abilities={"adapter": "taught"})
            assert [expression] == CALLED


GIVE_UP = answer_in("direct", "I do not know.").replace("true", "false")


def test_a_sum_that_a_model_was_made_to_call_and_that_uses_nothing_it_was_told_is_refused():
    """Made to call some tool, it takes the calculator and fills it with what comes to mind."""
    asked = "What do the rooms of the Casa Luna cost?"
    _, result = run(GIVE_UP, call("calculate", expression="1000 * 12 / 365"), HOTEL, PRICE, DONE, question=asked)
    assert CALLED == ["Casa Luna", "CL-15"]
    assert '"1000 * 12 / 365" is neither in the task nor in a result' in result.steps[0].observation


def test_a_tool_that_is_called_inside_another_call_is_called_first():
    """A calculator cannot look anything up: what stands in its sum is the call that the model wants."""
    inner = call("calculate", expression="price('CL-15') * 4")
    model, result = run(HOTEL, inner, PRICE, SUM, DONE)
    assert CALLED == ["Casa Luna", "CL-15", "4 * 71.50"]
    assert result.steps[1].observation.endswith("price is a tool, not a value. Call it first, then use its result.")
    form = str(model.requests[2].format)
    assert [name in form for name in ("'price'", "'calculate'", "'hotel'", "final_answer")] == [True, *[False] * 3]


def test_what_is_no_call_of_a_tool_is_no_inner_call():
    for expression in [
        "best_price('a') * 2",
        "x.price('a') * 2",
        "get-price('a')",
        "price * 4",
        "4 * 71.50",
        "price(3, 4)",
        "Which price(s) do you mean?",
        "SELECT price(a) FROM rooms",
        "f(price('a'))",
        "hotel(x) = x",
    ]:
        with row(expression):
            _, result = run(HOTEL, PRICE, call("calculate", expression=expression), DONE, DONE, DONE)
            assert "is a tool, not a value" not in str([step.observation for step in result.steps])


def test_nor_is_what_the_task_says_itself():
    asked = "Work out price('CL-15') * 4"
    _, result = run(HOTEL, call("calculate", expression="price('CL-15') * 4"), DONE, question=asked)
    assert "is a tool, not a value" not in str([step.observation for step in result.steps])


def test_it_is_said_twice():
    inner = [call("calculate", expression=f"price('Luna') * {number}") for number in (4, 5, 6)]
    _, result = run(inner[0], inner[1], inner[2], DONE, DONE, DONE, tools=(unmarked_price, calculate))
    assert [step.error for step in result.steps][:2] == ["rejected"] * 2
    assert CALLED[:1] == ["price('Luna') * 6"]


@tool(name="price")
def unmarked_price(code: str) -> str:
    """The price of a room. Its author has not said what it changes."""
    CALLED.append(code)
    return "71.50 EUR a night"


def test_one_that_may_change_something_is_thought_about_first():
    for effect in ["unsafe", "unmarked"]:
        with row(effect):
            other = price.replace(effect="unsafe") if effect == "unsafe" else unmarked_price
            inner = call("calculate", expression="price('CL-15') * 4")
            model, _ = run(HOTEL, inner, DONE, DONE, DONE, tools=(hotel, other, calculate))
            form = str(model.requests[2].format)
            assert [name in form for name in ("'price'", "'calculate'", "final_answer", "thought")] == [
                True,
                False,
                True,
                True,
            ]
            assert CALLED == ["Casa Luna"]


def test_a_model_with_an_adapter_was_taught_without_that():
    inner = call("calculate", expression="price('CL-15') * 4")
    run(HOTEL, inner, DONE, abilities={"adapter": "taught"}, dialect="direct")
    assert CALLED == ["Casa Luna", "price('CL-15') * 4"]


def test_one_that_it_chose_itself_may_use_what_everybody_knows():
    run(call("calculate", expression="24 * 60 * 60"), DONE, question="How many seconds has a day?")
    assert CALLED == ["24 * 60 * 60"]


def test_one_that_it_was_made_to_call_may_use_what_was_said():
    asked = "What is 19 % of 12,75?"
    run(GIVE_UP, call("calculate", expression="12.75 * 0.19"), DONE, question=asked)
    assert CALLED == ["12.75 * 0.19"]


def test_numbers_in_words_excuse_nothing_once_something_was_looked_up():
    asked = "What do two nights at the Casa Luna cost?"
    run(
        HOTEL,
        call("calculate", expression="2 * 110"),
        PRICE,
        call("calculate", expression="2 * 71.50"),
        DONE,
        question=asked,
    )
    assert CALLED == ["Casa Luna", "CL-15", "2 * 71.50"]


def test_so_is_an_id():
    _, result = run(call("price", code="CL-20"), HOTEL, PRICE, SUM, DONE)
    assert CALLED == ["Casa Luna", "CL-15", "4 * 71.50"]
    assert '"CL-20" is neither' in result.steps[0].observation


def test_tools_that_were_refused_one_after_the_other_are_all_barred():
    model, _ = run(call("price", code="CL-20"), call("calculate", expression="4 * 110"), HOTEL, DONE, DONE, DONE)
    assert [name in str(model.requests[2].format) for name in ("'hotel'", "'price'", "'calculate'")] == [
        True,
        False,
        False,
    ]


def test_calls_of_a_model_with_an_adapter_are_looked_at_and_its_answers_are_not():
    guess = answer_in("direct", "It costs 440 EUR.")
    _, result = run(call("price", code="CL-20"), HOTEL, guess, abilities={"adapter": "taught"}, dialect="direct")
    assert CALLED == ["Casa Luna"]
    assert (result.steps[0].error, result.answer) == ("rejected", "It costs 440 EUR.")


def test_a_call_that_is_made_again_goes_through():
    run(call("price", code="CL-20"), call("price", code="CL-20"), DONE, tools=(price,))
    assert CALLED == ["CL-20"]


def test_an_answer_with_a_number_that_nobody_said_is_sent_back_twice_at_most():
    guess = answer_in("direct", "It costs 440 EUR.")
    model, result = run(HOTEL, guess, PRICE, SUM, DONE)
    assert result.answer == "It costs 286 EUR."
    assert "440 is in no result" in str(model.requests[2].messages[-1])
    assert "final_answer" not in str(model.requests[2].format), "harmless tools only: it has to call one"
    assert run(HOTEL, guess, guess, guess)[1].answer == "It costs 440 EUR."


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


def test_a_model_that_is_not_known_to_be_small_is_left_alone():
    for unknown in [None, 4.0, 70.0]:
        with row(unknown):
            guess = answer_in("direct", "It costs 440 EUR.")
            model, result = run(call("price", code="CL-20"), guess, abilities={"parameters": unknown})
            assert (CALLED, result.answer, len(model.requests)) == (["CL-20"], "It costs 440 EUR.", 2)
            gives_up = answer_in("direct", "That is not known.").replace("true", "false")
            model, result = run(gives_up, abilities={"parameters": unknown})
            assert (result.answer, len(model.requests)) == ("That is not known.", 1)


def test_the_words_can_be_replaced():
    for name, replies in [
        ("unsourced_call", [call("price", code="CL-20"), DONE]),
        ("unsourced_answer", [HOTEL, answer_in("direct", "440"), answer_in("direct", "unknown")]),
        ("untried", [answer_in("direct", "no").replace("true", "false"), HOTEL, answer_in("direct", "3 stars")]),
    ]:
        with row(name, replies):
            model, _ = run(*replies, DONE, DONE, prompts={name: "OURS"})
            assert any("OURS" in str(request.messages[-1]) for request in model.requests)


def test_a_tool_that_can_do_harm_is_never_forced():
    @tool
    def book(name: str) -> str:
        """Book a hotel."""
        return "booked"

    model, _ = run(HOTEL, answer_in("direct", "440 EUR"), DONE, tools=(hotel, book))
    assert "final_answer" in str(model.requests[2].format)


def test_what_was_said_or_follows_from_it_passes():
    for reply in [
        "It has 3 stars.",
        "4 times 71.50 is 286.",
        "71.5 EUR",
        "75.50 with 4 EUR of tax",
        "17.88 a quarter",
        "Booked at 07:45 on 2031-08-17, K-99.",
    ]:
        with row(reply):
            model, result = run(HOTEL, PRICE, answer_in("direct", reply))
            assert (result.answer, len(model.requests)) == (reply, 3)


def test_an_answer_without_any_call_is_believed():
    for reply in ["A week has 7 days.", "It ended in 1945.", "They cost 408 EUR.", "That is CL-20."]:
        with row(reply):
            model, result = run(answer_in("direct", reply))
            assert (result.answer, len(model.requests)) == (reply, 1)


def test_what_was_said_before_this_question_counts():
    history = [UserMessage("What is it?"), AssistantMessage("Room CL-20, 440 EUR.", dialect="native")]
    run(call("price", code="CL-20"), answer_in("direct", "440 EUR"), question="And again?", history=history)
    assert CALLED == ["CL-20"]


def test_optional_arguments_long_texts_tiny_and_able_models_are_left_alone():
    run(call("calculate", expression="4 + 4", digits=20), DONE)
    assert CALLED == ["4 + 4"]
    text = "In 1789 there was a revolution. " * 4
    run(call("calculate", expression=text), DONE)
    assert [text] == CALLED
    guess = answer_in("direct", "440")
    CALLED.clear()
    native = ScriptedModel(
        [{"name": "price", "args": {"code": "CL-20"}}, "440"], abilities={"grammar": True, "parameters": 1.5}
    )
    assert go(Agent(native, [price]).run("q")).answer == "440"
    assert CALLED == ["CL-20"]
    for abilities in ({"grammar": False, "json_schema": True}, {"tiny": True}):
        model, _ = run(call("price", code="CL-20"), guess, guess, abilities=abilities)
        assert CALLED == ["CL-20"]
        assert len(model.requests) == 2


@pytest.mark.parametrize("last", ["It is 71.50.", "It is 77."])
def test_long_sources_are_read_beside_the_event_loop(last: str):
    @tool(effect="pure")
    async def look(code: str) -> str:
        """The price of a room."""
        return "71.50 EUR"

    async def turns_of(question: str) -> int:
        replies = [call("look", code="CL-15"), answer_in("direct", last), DONE]
        model = ScriptedModel(replies, abilities={"tool_call": False, "grammar": True, "parameters": 1.5})
        async with counted_turns() as turns:
            await Agent(model, [look]).run(question)
            return turns[0]

    async def main() -> None:
        assert await turns_of("CL-15?") < await turns_of("CL-15?" + " or 7 or A-7" * 5_000)

    go(main())


@tool(effect="pure")
def order(number: str) -> str:
    """The state of an order."""
    CALLED.append(number)
    if not number.startswith("WO-"):
        raise ToolError("a number looks like WO-00042")
    return "sent"


def test_a_value_in_the_form_that_the_tool_asked_for_is_no_invention():
    replies = (call("order", number="1187"), call("order", number="WO-01187"), answer_in("direct", "It was sent."))
    _, result = run(*replies, question="What about order 1187?", tools=(order, hotel))
    assert CALLED == ["1187", "WO-01187"]
    assert [step.error for step in result.steps] == ["exception", ""]


def test_after_an_error_of_the_tool_itself_another_value_may_be_tried():
    replies = (call("order", number="mine"), call("order", number="WO-77123"), answer_in("direct", "It was sent."))
    run(*replies, question="What about my order?", tools=(order, hotel))
    assert CALLED[-1] == "WO-77123"
