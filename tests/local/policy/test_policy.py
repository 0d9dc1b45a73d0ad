"""Decisions read from the model's own probabilities, and held against what the constraint made of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kit import add, go, row
from plugins.scenes import in_dialect
from treadle import Agent, RunResult, ScriptedModel, ToolError, tool
from treadle._local.policy.policy import meant_part, ours_part, tool_meant
from treadle._models.transport.decision import answer_probability
from treadle._types.errors import ConfigError, ContextOverflowError, ModelError, RequestRefusedError
from treadle._types.events import ReplyConstrained, ThinkDone, ThinkFailed
from treadle._types.messages import AssistantMessage, TextPart, UserMessage
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply, ToolSchema
from treadle._types.usage import Usage

THRESHOLDS = DecisionThresholds(first=0.55, later=0.17)
PROFILE = Profile(grammar=True, json_schema=True, logprobs=True, decide=THRESHOLDS)
ADD = '{"action": "add", "args": {"a": 1, "b": 2}}'
FINAL = '{"action": "final_answer", "final_answer": "It is 3.", "task_successful": true}'


@tool(effect="unsafe")
async def delete(name: str) -> str:
    """Delete a file."""
    return "deleted"


@tool
async def unmarked(name: str) -> str:
    """Finds a file. Its author has not said whether it changes anything."""
    return "found"


def says(text: str, **options: float) -> Reply:
    return Reply(text, usage=Usage(10, 5, requests=1), options=options)


def run(model: ScriptedModel, tools: Any = (add,)) -> tuple[RunResult, list[Any]]:
    async def main() -> tuple[RunResult, list[Any]]:
        running = Agent(model, list(tools), dialect="direct").start("What is 1 + 2?")
        seen: list[Any] = []
        running.subscribe(lambda record: seen.append(record.event))
        return await running, seen

    return go(main())


def test_a_model_that_wants_a_tool_by_another_name_calls_one():
    model = ScriptedModel(
        [says(FINAL, multiply=0.86, final=0.04), says(ADD), says(FINAL, final=0.6, add=0.2)], profile=PROFILE
    )
    result, events = run(model)
    assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])
    first, second, third = model.requests
    assert (first.decision_after, second.decision_after) == ('"action": "', "")
    assert "final_answer" not in str(second.format)
    assert "final_answer" in str(third.format)
    (failed,) = (event for event in events if isinstance(event, ThinkFailed))
    assert "wanted a tool (answer: 4%, from 55% on it wants one)" in failed.error
    assert failed.options == {"multiply": 0.86, "final": 0.04}
    assert result.usage.requests == 3
    assert [event.options for event in events if isinstance(event, ThinkDone)][-1] == {"final": 0.6, "add": 0.2}
    assert result.iterations == 2, "the reply that did not count is no iteration"


def test_a_reply_that_was_broken_off_is_asked_for_again():
    begun = Reply('{"action": "final', usage=Usage(10, 2, requests=1), options={"multiply": 0.9}, broken_off=True)
    model = ScriptedModel([begun, says(ADD), says(FINAL, final=0.9)], profile=PROFILE)
    result, _ = run(model)
    assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])
    assert [request.answer_from for request in model.requests] == [0.55, None, 0.17]


def test_a_model_that_has_what_it_needs_is_not_made_to_go_on():
    """After a result the threshold is another one: a tool that is only a little more probable is not wanted."""
    model = ScriptedModel([says(ADD, add=0.9), says(ADD, add=0.5, final=0.3), says(FINAL)], profile=PROFILE)
    result, events = run(model)
    assert (result.answer, len(result.steps)) == ("It is 3.", 1)
    constrained = [event for event in events if isinstance(event, ReplyConstrained)]
    assert [(event.must_act, event.barred) for event in constrained] == [(False, ("add",))]


def test_a_new_call_after_a_result_is_not_thrown_away():
    """Where a chain has to go on an answer often has more than 17 %: what the model writes itself counts there."""
    more = '{"action": "add", "args": {"a": 3, "b": 4}}'
    model = ScriptedModel([says(ADD, add=0.9), says(more, add=0.5, final=0.3), says(FINAL, final=0.9)], profile=PROFILE)
    result, events = run(model)
    assert [step.args for step in result.steps] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert not [event for event in events if isinstance(event, ReplyConstrained)]
    assert [(request.answer_from, request.no_call_from) for request in model.requests] == [
        (0.55, 0.55),
        (0.17, 0.55),
        (0.17, 0.55),
    ]


def test_a_new_call_is_left_where_the_model_wants_to_answer():
    more = '{"action": "add", "args": {"a": 3, "b": 4}}'
    model = ScriptedModel([says(ADD, add=0.9), says(more, add=0.3, final=0.6), says(FINAL)], profile=PROFILE)
    assert len(run(model)[0].steps) == 1


@tool(effect="pure")
async def lookup(name: str) -> str:
    """What is known of a name."""
    if name != "Ada":
        raise ToolError("nobody is called so, known is: Ada")
    return "3"


def test_after_a_failed_call_there_is_nothing_to_answer_with():
    wrong, right = (in_dialect("direct", "lookup", name=name) for name in ("Ida", "Ada"))
    model = ScriptedModel(
        [says(wrong, lookup=0.9), says(FINAL, final=0.44, lookup=0.3), says(right), says(FINAL, final=0.44)],
        profile=PROFILE,
    )
    result, events = run(model, (lookup,))
    assert [bool(step.error) for step in result.steps] == [True, False]
    (constrained,) = (event for event in events if isinstance(event, ReplyConstrained))
    assert constrained.must_act
    assert result.answer == "It is 3."


ASKS = msgspec.structs.replace(PROFILE, decide=msgspec.structs.replace(THRESHOLDS, fits=0.62))


def fits(yes: float) -> Reply:
    text = '{"fits": true}' if yes > 0.5 else '{"fits": false}'
    return Reply(text, usage=Usage(10, 5, requests=1), options={" true": yes, " false": 1 - yes})


def test_a_model_that_wants_a_tool_that_is_not_there_answers():
    """Its choice among the tools there are says nothing: it is asked about them first."""
    model = ScriptedModel([says(ADD, film=0.5, final=0.3, add=0.02), fits(0.58), says(FINAL)], profile=ASKS)
    result, events = run(model)
    assert (result.answer, result.steps) == ("It is 3.", [])
    _, asked, last = model.requests
    assert "- add(a, b): " in str(asked.messages[0])
    assert "What is 1 + 2?" in str(asked.messages[1])
    assert (asked.decision_after, asked.component) == ('"fits": ', "decision")
    assert '"add"' not in str(last.format)
    assert "None of the tools is for this" in str(last.messages[-1])
    (failed,) = (event for event in events if isinstance(event, ThinkFailed))
    assert "wanted a tool that is not there (that one of these fits: 58%)" in failed.error
    assert next(e.options for e in events if isinstance(e, ThinkDone)) == {" true": 0.58, " false": pytest.approx(0.42)}


def test_who_says_that_no_tool_can_tell_it_is_not_sent_to_the_nearest_one():
    cannot = '{"action": "final_answer", "final_answer": "I cannot tell.", "task_successful": false}'
    small = msgspec.structs.replace(ASKS, parameters=1.5)
    model = ScriptedModel([says(ADD, film=0.5, final=0.3), fits(0.4), says(cannot)], profile=small)
    result, _ = run(model)
    assert (result.answer, result.steps, result.task_successful) == ("I cannot tell.", [], False)


def test_a_question_about_the_tools_that_fails_does_not_end_the_run():
    for failure in (RequestRefusedError("no such format"), ContextOverflowError("too long"), ModelError("gone")):
        model = ScriptedModel([says(ADD, film=0.9), failure, says(FINAL, final=0.9)], profile=ASKS)
        result, _ = run(model)
        assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])


def test_an_answer_that_was_given_already_is_believed_when_no_tool_fits():
    cannot = '{"action": "final_answer", "final_answer": "I cannot tell.", "task_successful": false}'
    small = msgspec.structs.replace(ASKS, parameters=1.5)
    model = ScriptedModel([says(cannot, film=0.5, final=0.3), fits(0.4)], profile=small)
    result, _ = run(model)
    assert (result.answer, result.steps, len(model.requests)) == ("I cannot tell.", [], 2)


def test_only_a_question_in_words_that_stands_alone_is_asked_about():
    async def main() -> list[str]:
        model = ScriptedModel([says(ADD, film=0.9), says(FINAL, final=0.9)], profile=ASKS)
        await Agent(model, [add], dialect="direct").run([TextPart("Add these."), TextPart("1 and 2")])
        return [request.component for request in model.requests]

    assert go(main()) == ["loop", "loop"]


def test_all_that_is_no_answer_counts_when_names_are_compared():
    options = {"final": 0.54, "add": 0.34}
    assert ours_part(options, [ToolSchema("add", "Adds.", {})]) == pytest.approx(0.74, abs=0.01)
    assert ours_part({}, []) == 0


def test_a_copied_answer_does_not_stand_when_no_tool_fits_either():
    copied = FINAL.replace("It is 3.", "The newest record of Ana Le, Tides, is 42 minutes long.")
    model = ScriptedModel([says(copied, final=0.7), fits(0.4), says(FINAL)], profile=ASKS)
    result, _ = run(model)
    assert (result.answer, result.steps) == ("It is 3.", [])


def test_an_answer_with_the_words_of_our_example_is_none():
    copied = FINAL.replace("It is 3.", "The newest record of Ana Le, Tides, is 42 minutes long.")
    model = ScriptedModel([says(copied, final=0.7), says(ADD), says(FINAL, final=0.9)], profile=PROFILE)
    result, events = run(model)
    assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])
    assert "one of an example" in next(event for event in events if isinstance(event, ThinkFailed)).error


def test_a_tool_that_is_wanted_by_another_name_and_fits_is_called():
    model = ScriptedModel(
        [says(FINAL, multiply=0.86, final=0.04), fits(0.9), says(ADD), says(FINAL, final=0.6)], profile=ASKS
    )
    result, _ = run(model)
    assert [step.tool for step in result.steps] == ["add"]


def test_it_is_not_asked_about_a_tool_that_the_model_wants():
    model = ScriptedModel([says(ADD, add=0.5, film=0.3), says(FINAL, final=0.9)], profile=ASKS)
    result, _ = run(model)
    assert ([step.tool for step in result.steps], len(model.requests)) == (["add"], 2)


def test_a_model_that_says_neither_yes_nor_no_is_taken_at_its_word():
    told = Reply('{"fits": true}', usage=Usage(10, 5, requests=1))
    model = ScriptedModel([says(ADD, film=0.9), told, says(FINAL, final=0.9)], profile=ASKS)
    result, _ = run(model)
    assert [step.tool for step in result.steps] == ["add"]


def test_a_question_that_goes_on_with_a_conversation_is_not_looked_at_alone():
    async def main() -> int:
        model = ScriptedModel([says(ADD, film=0.9), says(FINAL, final=0.9)], profile=ASKS)
        history = [UserMessage("What is 1 + 1?"), AssistantMessage("2")]
        await Agent(model, [add], dialect="direct").run("And one more?", history=history)
        return len(model.requests)

    assert go(main()) == 2


def test_an_answer_that_is_wanted_stands():
    for options in [{"final": 0.62, "multiply": 0.2}, {}]:
        with row(options):
            result, events = run(ScriptedModel([says(FINAL, **options)], profile=PROFILE))
            assert (result.answer, result.steps) == ("It is 3.", [])
            assert not any(isinstance(event, ReplyConstrained) for event in events)


THOUGHT = '{"thought": "A sum of two numbers.", '


def test_nobody_is_made_to_call_a_tool_that_may_change_something():
    """It thinks instead, and does what it likes: with only the harmless ones left it would have to take a wrong one."""
    for tools in [(delete,), (delete, add), (unmarked, add)]:
        with row(tools):
            model = ScriptedModel([says(FINAL, remove=0.9), says(THOUGHT + FINAL[1:])], profile=PROFILE)
            result, events = run(model, tools)
            assert (result.answer, result.steps) == ("It is 3.", [])
            assert [event for event in events if isinstance(event, ReplyConstrained)] == [
                ReplyConstrained("decision", must_act=False, barred=(), think=True)
            ]
            form = model.requests[1].format
            assert form is not None
            assert form.schema is not None
            assert len(form.schema["anyOf"]) == len(tools) + 1, "all that could be done before"
            assert all(next(iter(one["properties"])) == "thought" for one in form.schema["anyOf"])


def test_a_thought_is_about_the_tool_that_the_model_means():
    """With all of them it thought of one, and called another."""
    script = [says(FINAL, unmarked=0.4, final=0.4, add=0.05), says(THOUGHT + FINAL[1:])]
    model = ScriptedModel(script, profile=PROFILE)
    _, events = run(model, (unmarked, add, delete))
    assert [event for event in events if isinstance(event, ReplyConstrained)] == [
        ReplyConstrained("decision", must_act=False, barred=("add", "delete"), think=True)
    ]
    assert "final_answer" in str(model.requests[1].format), "it may still answer"


def test_and_about_all_of_them_where_it_hardly_means_one():
    script = [says(FINAL, weather=0.6, forecast=0.3, final=0.05, dele=0.003), says(THOUGHT + FINAL[1:])]
    model = ScriptedModel(script, profile=PROFILE)
    _, events = run(model, (unmarked, delete))
    assert [event.barred for event in events if isinstance(event, ReplyConstrained)] == [()]


SMALL = msgspec.structs.replace(PROFILE, parameters=1.5)
ENDLESS = Reply('{"action": "unmarked", "args": {"name": "V' + "1234567890" * 20, finish="length")


def test_a_value_without_an_end_is_not_known_so_another_tool_is_called():
    """Told to write it shorter, the model makes one up, or an answer."""
    for tools, held in [
        ((unmarked, add), ReplyConstrained("decision", must_act=False, barred=("unmarked",), think=True)),
        ((unmarked.replace(effect="pure"), add), ReplyConstrained("decision", must_act=True, barred=("unmarked",))),
    ]:
        with row(tools, held):
            call = THOUGHT + ADD[1:] if held.think else ADD
            model = ScriptedModel([ENDLESS, says(call), says(FINAL, final=0.9)], profile=SMALL)
            result, events = run(model, tools)
            assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])
            assert [event for event in events if isinstance(event, ReplyConstrained)] == [held]
            (failed,) = (event for event in events if isinstance(event, ThinkFailed))
            assert failed.error == "a value for unmarked has no end: the model does not know it"


def test_that_is_asked_once_and_a_reply_that_is_only_long_is_to_be_shorter():
    other = Reply(ENDLESS.text.replace("unmarked", "add"), finish="length")
    model = ScriptedModel([ENDLESS, other, says(FINAL, final=0.9)], profile=SMALL)
    assert run(model, (unmarked, add))[0].answer == "It is 3."
    assert "write it again, shorter" in str(model.requests[2].messages[-1])
    long = Reply('{"action": "add", "args": {"a": 1, "b": 2, "why": "' + "".join(map(str, range(99))), finish="length")
    model = ScriptedModel([long, says(ADD), says(FINAL, final=0.9)], profile=SMALL)
    assert run(model, (unmarked, add))[0].answer == "It is 3."
    assert "write it again, shorter" in str(model.requests[1].messages[-1])


def test_an_answer_without_an_end_is_no_call_and_a_large_model_is_told_at_once():
    action = unmarked.replace(name="action", effect="pure")
    answer = Reply('{"action": "final_answer", "final_answer": "' + "no end " * 40, finish="length")
    result, _ = run(ScriptedModel([answer], profile=SMALL), (action, add))
    assert (result.answer[:6], result.steps) == ("no end", [])
    model = ScriptedModel([ENDLESS, says(FINAL, final=0.9)], profile=PROFILE)
    assert run(model, (unmarked, add))[0].answer == "It is 3."
    assert "write it again, shorter" in str(model.requests[1].messages[-1])


def test_a_parameter_may_be_called_like_a_tool():
    named = unmarked.replace(name="name", effect="pure")
    model = ScriptedModel([ENDLESS, says(ADD), says(FINAL, final=0.9)], profile=SMALL)
    result, _ = run(model, (unmarked.replace(effect="pure"), named, add))
    assert [step.tool for step in result.steps] == ["add"]


def test_after_a_thought_it_goes_on_without():
    model = ScriptedModel([says(FINAL, remove=0.9), says(THOUGHT + ADD[1:]), says(FINAL, final=0.9)], profile=PROFILE)
    result, _ = run(model, (delete, add))
    assert (result.answer, [step.tool for step in result.steps]) == ("It is 3.", ["add"])
    assert ["thought" in str(request.format) for request in model.requests] == [False, True, False]
    assert "A sum of two numbers." in str(model.requests[2].messages), "it sees what it thought"


def test_before_a_call_of_a_tool_that_it_hardly_wanted_it_thinks():
    for sure, asked in [(0.5, 2), (0.2, 3)]:
        with row(sure, asked):
            thinking = [says(THOUGHT + ADD[1:])] if asked == 3 else []
            script = [says(ADD, add=sure, weather=0.9 - sure), *thinking, says(FINAL, final=0.9)]
            model = ScriptedModel(script, profile=PROFILE)
            result, events = run(model, (add, delete))
            assert [step.tool for step in result.steps] == ["add"]
            assert len(model.requests) == asked
            failed = [event.error for event in events if isinstance(event, ThinkFailed)]
            assert failed == ([] if asked == 2 else ["add is 20% of what the model wanted to call"])


def test_with_a_single_tool_there_is_nothing_to_think_about():
    model = ScriptedModel([says(ADD, add=0.2, sum=0.7), says(FINAL, final=0.9)], profile=PROFILE)
    assert run(model)[0].answer == "It is 3."


def test_names_that_several_tools_begin_with_mean_each_of_them():
    tools = [ToolSchema(name, "", {}) for name in ("math_area", "math_factors", "weather")]
    options = {"math": 0.6, "rain": 0.2, "final": 0.2}
    assert meant_part(options, tools, "math_area") == pytest.approx(0.75)
    assert meant_part(options, tools, "weather") == 0


def test_a_reply_that_was_broken_off_before_a_thought_is_asked_for_again():
    begun = Reply('{"action": "final', usage=Usage(10, 2, requests=1), options={"remove": 0.9}, broken_off=True)
    model = ScriptedModel([begun, says(THOUGHT + FINAL[1:])], profile=PROFILE)
    assert run(model, (delete,))[0].answer == "It is 3."


def test_thresholds_of_another_dialect_or_adapter_do_not_count():
    for decide in (DecisionThresholds(0.5, 0.5, "schema"), DecisionThresholds(0.5, 0.5, adapter="other")):
        profile = Profile(grammar=True, json_schema=True, logprobs=True, decide=decide)
        model = ScriptedModel([says(FINAL, multiply=0.9)], profile=profile)
        result, _ = run(model)
        assert (result.answer, model.requests[0].decision_after) == ("It is 3.", "")


def test_without_thresholds_nothing_is_asked_for_and_nothing_is_changed():
    model = ScriptedModel([says(FINAL, multiply=0.9)], profile=Profile(grammar=True, json_schema=True))
    result, _ = run(model)
    assert result.answer == "It is 3."
    assert model.requests[0].decision_after == ""


def test_it_is_asked_again_once():
    """Whatever it says under the constraint is taken: the loop goes on."""
    model = ScriptedModel(
        [says(FINAL, other=0.9), says(ADD, other=0.9), says(FINAL, other=0.9), says(ADD), says(FINAL, final=0.9)],
        profile=PROFILE,
    )
    result, _ = run(model)
    assert (result.answer, len(result.steps)) == ("It is 3.", 2)


def test_every_beginning_of_the_name_counts_as_an_answer():
    assert answer_probability({"f": 0.1, "final": 0.3, "final_answer": 0.2, "fine": 0.2, "": 0.1}) == pytest.approx(0.6)


SUM = ToolSchema("evaluate", "Works out an arithmetic expression.", {})
MONEY = ToolSchema("convert_currency", "Converts an amount of money.", {})
SKY = ToolSchema("forecast", "The weather at a place.", {})


def test_a_name_that_is_not_ours_means_the_tool_that_its_words_describe():
    for options, meant in [
        ({"weather": 0.5, "final": 0.2}, "forecast"),
        ({"arith": 0.4, "conv": 0.1}, "evaluate"),
        ({"conv": 0.3, "weather": 0.2}, ""),
        ({"multiply": 0.9}, ""),
        ({"an": 0.9}, ""),
        ({"evaluation": 0.4}, "evaluate"),
        ({"converter": 0.4, "weath": 0.1}, "convert_currency"),
    ]:
        with row(options, meant):
            assert tool_meant(options, [SUM, MONEY, SKY]) == meant


SHOP = ToolSchema("product_info", "The price and the colours of a product that we sell, given its number.", {})
STOCK = ToolSchema("stock", "How many pieces we have, given their number.", {})


def test_what_is_short_or_said_of_several_tools_means_none():
    for text, meant in [
        ("the", ""),
        ("and", ""),
        ("its", ""),
        ("number", ""),
        ("given", ""),
        ("price", "product_info"),
    ]:
        with row(text, meant):
            tools = [SHOP, STOCK]
            assert (tool_meant({text: 0.5}, tools), ours_part({text: 0.5}, tools) > 0) == (meant, bool(meant))


def test_a_word_of_a_name_counts_however_short_it_is_and_whoever_else_says_it():
    tools = [ToolSchema("work_sum", "Adds.", {}), ToolSchema("tax", "The tax of a sum.", {})]
    assert tool_meant({"sum": 0.5}, tools) == "work_sum"


@tool(effect="pure")
async def final_grade(student: str) -> str:
    """The grade of a student at the end."""
    return "B"


@tool(effect="pure")
async def no_show_fee(booking: str) -> str:
    """The fee for a guest who did not come."""
    return "40 euros"


GRADE = '{"action": "final_grade", "args": {"student": "Ann"}}'
FEE = '{"action": "no_show_fee", "args": {"booking": "B7"}}'


def test_a_tool_whose_name_begins_like_an_answer_can_be_called():
    for named, call, begun in [(final_grade, GRADE, "final"), (no_show_fee, FEE, "no")]:
        with row(named, call, begun):
            model = ScriptedModel([says(call, **{begun: 0.97}), says(FINAL, final=0.9)], profile=PROFILE)
            result, events = run(model, (named, add))
            assert ([step.tool for step in result.steps], result.answer) == ([named.name], "It is 3.")
            assert not any(isinstance(event, ThinkFailed) for event in events)


def test_where_a_beginning_is_of_both_the_reply_is_taken_as_it_is():
    for text in [FINAL, GRADE]:
        with row(text):
            model = ScriptedModel([says(text, final=0.6, add=0.3), says(FINAL, final=0.9)], profile=PROFILE)
            _, events = run(model, (final_grade, add))
            assert not any(isinstance(event, ThinkFailed | ReplyConstrained) for event in events)


def test_what_a_beginning_of_both_cannot_change_is_decided():
    for options, wanted in [({"final_a": 0.6, "final": 0.1}, "to answer"), ({"add": 0.7, "final": 0.1}, "a tool")]:
        with row(options, wanted):
            text = ADD if wanted == "to answer" else FINAL
            model = ScriptedModel([says(text, **options), says(FINAL), says(FINAL)], profile=PROFILE)
            _, events = run(model, (final_grade, add))
            assert f"wanted {wanted}" in next(event.error for event in events if isinstance(event, ThinkFailed))


def test_an_action_that_the_dialect_does_not_have_is_no_answer():
    model = ScriptedModel([says(FINAL, no_tool=0.9), says(ADD), says(FINAL, final=0.9)], profile=PROFILE)
    result, _ = run(model)
    assert [step.tool for step in result.steps] == ["add"]
    assert [request.decision_names.answers for request in model.requests[::2]] == [("final_answer",)] * 2
    assert model.requests[0].decision_names.tools == ("add",)


def test_a_threshold_is_a_probability():
    for value in [-0.1, 1.1, float("nan")]:
        with row(value), pytest.raises(ConfigError, match="between 0 and 1"):
            DecisionThresholds(value, 0.5)
