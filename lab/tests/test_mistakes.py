"""What an adapter gets wrong becomes what it learns next."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Sequence

from training import mistakes
from training.mistakes import Dealt, Mistake, agrees, first_mistake, lessons
from training.render import Conversation, written
from training.scenario import Act, Leave, Say, Scenario, Step, act
from training.scenes import chains, lookups
from training.worlds.tools import Facts, lookup
from treadle._types.request import Reply, Request, StreamPart


class Told:
    """Says what a function makes of the script."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = iter(steps)

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        yield Reply(written(next(self.steps)))


def dealt(make: Callable[[random.Random, Facts], Scenario], seed: str = "a") -> tuple[Dealt, Scenario]:
    one = Dealt(make, seed)
    return one, one.deal()[2]


def learnt(conversation: Conversation) -> list[str]:
    return [turn.reply for turn in conversation.turns if turn.trained]


def test_a_model_that_does_what_the_script_does_makes_no_mistake():
    for make in (lookups.single, lookups.compare, chains.chain, chains.fact_sum):
        one, scenario = dealt(make)
        right = [
            step._replace(text="Said otherwise: " + step.text) if isinstance(step, Say) else step
            for step in scenario.script
            if step.trained
        ]
        assert asyncio.run(first_mistake(one, Told(right))) is None


def test_a_mistake_is_made_once():
    """It was taken for a failing server, and tried again after a pause, each time with the whole model."""

    class Wrong:
        asked = 0

        async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
            self.asked += 1
            yield Reply(written(Leave("")))

    one, _ = dealt(chains.chain, "b")
    wrong = Wrong()
    assert asyncio.run(first_mistake(one, wrong)) == Mistake(0, Leave(""))
    assert wrong.asked == 1


def _lookup_of_two(r: random.Random, facts: Facts) -> Scenario:
    tool = lookup(facts, kind="hotel")
    one, other = facts.things("hotel", 2)
    script: list[Step] = [act(tool, tool.args(one)), act(tool, tool.args(other))]
    return Scenario(
        "two", [tool], f"Compare {one} and {other}.", [*script, Say(f"{tool.answer(one)} and {tool.answer(other)}")]
    )


def test_a_wrong_call_is_shown_with_its_result_and_what_follows_is_learnt():
    one, scenario = dealt(chains.chain, "b")
    first = scenario.script[0]
    assert isinstance(first, Act)
    wrong = first._replace(args=dict.fromkeys(first.args, "Nobody Known"))
    mistake = asyncio.run(first_mistake(one, Told([wrong])))
    assert mistake == Mistake(0, wrong)
    hard, shown = asyncio.run(lessons(one, mistake))
    assert learnt(hard) == [written(first)]
    assert learnt(shown) == [written(first)]
    assert [turn.reply for turn in shown.turns[:2]] == [written(wrong), written(first)]
    assert "Nobody Known" in shown.turns[1].prompt
    assert len(shown.turns) == len(hard.turns) + 1


def test_another_order_is_no_mistake():
    one, scenario = dealt(_lookup_of_two)
    mistake = asyncio.run(first_mistake(one, Told([scenario.script[1]])))
    assert mistake is not None
    assert asyncio.run(lessons(one, mistake)) == []


def test_an_answer_too_early_is_a_hard_example_only():
    one, scenario = dealt(_lookup_of_two)
    mistake = asyncio.run(first_mistake(one, Told([scenario.script[0], Say("I know it.")])))
    assert mistake == Mistake(1, Say("I know it."))
    (hard,) = asyncio.run(lessons(one, mistake))
    assert learnt(hard) == [written(scenario.script[1])]


def test_the_other_way_to_the_same_result_is_no_mistake():
    def same_by_case(r: random.Random, facts: Facts) -> Scenario:
        tool = lookup(facts, kind="hotel")
        plain = tool.call
        tool.call = lambda **args: plain(**{key: value.removeprefix("Hotel the ") for key, value in args.items()})  # type: ignore[method-assign]
        (one,) = facts.things("hotel", 1)
        return Scenario("one", [tool], f"What about {one}?", [act(tool, tool.args(one)), Say(tool.answer(one))])

    one, scenario = dealt(same_by_case)
    right = scenario.script[0]
    assert isinstance(right, Act)
    said = right._replace(args={key: f"Hotel the {value}" for key, value in right.args.items()})
    mistake = asyncio.run(first_mistake(one, Told([said])))
    assert mistake is not None
    assert asyncio.run(lessons(one, mistake)) == []


def test_what_agrees():
    call = Act("find", {"name": "Lyon", "limit": 3})
    assert agrees(Act("find", {"name": " lyon", "limit": 3.0}), call)
    assert not agrees(Act("find", {"name": "Lyon"}), call)
    assert not agrees(Act("look", call.args), call)
    assert agrees(Say("It has 522,250 people."), Say("522250 live there."))
    assert not agrees(Say("It has 12 people."), Say("522250 live there."))
    assert not agrees(Say("It has 522250 people.", False), Say("522250 live there."))
    assert agrees(Leave("x"), Leave("y"))
    assert not agrees(None, call)
    text = "a message of some length, in the words of whoever writes it"
    assert agrees(Act("send", {"text": text}), Act("send", {"text": text[::-1]}))


def test_what_cannot_be_read_is_no_step():
    assert mistakes.step_of('{"action": "find", "args":') is None
    assert mistakes.step_of(json.dumps({"action": "no_tool"})) == Leave("")


def test_the_same_scenarios_are_dealt_again():
    for one in mistakes.deals(7, 40):
        (_, _, first, system, count), (_, _, again, *others) = one.deal(), one.deal()
        assert (first.question, first.script, system, count) == (again.question, again.script, *others)
