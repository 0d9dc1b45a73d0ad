"""A small model that gives up after a result is asked once to look again."""

from __future__ import annotations

from typing import Any

import msgspec

from kit import assert_paired, go, row
from treadle import Agent, ScriptedModel, tool
from treadle._types.state import fold


@tool
def price(name: str) -> str:
    """The price of a product."""
    if name != "desk lamp":
        raise ValueError("expected one of: desk lamp")
    return "59 EUR"


def step(**fields: object) -> str:
    return msgspec.json.encode({"thought": "t", **fields}).decode()


CALL_WRONG = step(action="price", args={"name": "desk lmp"})
CALL_RIGHT = step(action="price", args={"name": "desk lamp"})
GIVES_UP = step(action="final_answer", final_answer="There is none.", task_successful=False)
DONE = step(action="final_answer", final_answer="59 EUR", task_successful=True)


SMALL = {"tool_call": False, "parameters": 1.5}


def run(*replies: str, prompts: dict[str, str] | None = None, **size: Any):
    model = ScriptedModel(replies, abilities={**SMALL, **size})
    return model, go(Agent(model, [price], dialect="schema", prompts=prompts).run("What does the desk lmp cost?"))


def test_a_model_that_gives_up_is_asked_to_look_again():
    model, result = run(CALL_WRONG, GIVES_UP, CALL_RIGHT, DONE)
    assert result.answer == "59 EUR"
    assert result.success
    assert "there are tools left" in str(model.requests[2].messages[-1])
    assert_paired(result.messages)


def test_once_only():
    model, result = run(CALL_WRONG, GIVES_UP, GIVES_UP)
    assert (result.answer, result.success, len(model.requests)) == ("There is none.", False, 3)


def test_one_that_tried_nothing_or_succeeded_is_believed():
    assert len(run(GIVES_UP)[0].requests) == 1
    assert len(run(CALL_RIGHT, DONE)[0].requests) == 2


def test_a_model_that_is_not_known_to_be_small_is_believed():
    for parameters in [None, 4.0, 70.0]:
        with row(parameters):
            model, result = run(CALL_WRONG, GIVES_UP, parameters=parameters)
            assert (result.answer, result.success, len(model.requests)) == ("There is none.", False, 2)


def test_the_words_can_be_replaced():
    model, _ = run(CALL_WRONG, GIVES_UP, CALL_RIGHT, DONE, prompts={"give_up": "Try harder."})
    assert "Try harder." in str(model.requests[2].messages[-1])


def test_one_that_must_answer_is_not_asked_to_look_again():
    stops = [CALL_RIGHT] * 7
    model = ScriptedModel([*stops, GIVES_UP], abilities=SMALL)
    result = go(Agent(model, [price], dialect="schema").run("q"))
    assert (result.stop_reason, result.answer, len(model.requests)) == ("stuck", "There is none.", 8)


def test_a_failed_call_is_followed_by_other_words_than_a_result():
    model, _ = run(CALL_WRONG, CALL_RIGHT, DONE)
    assert "A call failed. Read why" in str(model.requests[1].messages[-1])
    assert "A call failed. Read why" not in str(model.requests[2].messages[-1])


def test_the_next_reply_must_be_a_call_when_no_tool_can_do_harm():
    for effect, forced in (("pure", True), ("unsafe", False)):
        model = ScriptedModel([CALL_WRONG, GIVES_UP, CALL_RIGHT, DONE], abilities=SMALL)
        go(Agent(model, [price.replace(effect=effect)], dialect="schema").run("q"))
        actions = ["final_answer" in str(request.format) for request in model.requests]
        assert actions == [True, True, not forced, True]


def test_a_resumed_run_is_still_held_to_it():
    model = ScriptedModel([CALL_WRONG, GIVES_UP, CALL_RIGHT, DONE], abilities=SMALL)
    agent = Agent(model, [price.replace(effect="pure")], dialect="schema")

    async def phases():
        handle = agent.start("q")
        await handle
        states = [fold(handle.records[:end]) for end in range(len(handle.records) + 1)]
        return [state.constraints.next.must_act for state in states], [
            type(record.event).__name__ for record in handle.records
        ]

    acts, events = go(phases())
    assert [events[index] for index, act in enumerate(acts[1:]) if act] == [
        "ReplyConstrained",
        "MessageAdded",
        "ThinkStarted",
    ]
