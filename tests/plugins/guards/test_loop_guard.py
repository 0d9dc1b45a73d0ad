"""The loop guard."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, assert_paired, call, echo, fail, go, user_texts
from plugins.scenes import DIALECTS, TEXT_ONLY, Batches, answer_in, components, in_dialect, restarted
from treadle import Agent, ScriptedModel, ToolError, tool
from treadle._plugins.guards.loop_guard import LoopGuard, same_failures, stale_rounds
from treadle._types.events import AnswerOnly, Noted, ReplyConstrained, ToolsChanged
from treadle._types.state_values import Step

SMALL = {"tool_call": False, "grammar": True, "parameters": 1.5}


def step(iteration: int, name: str, result: str = "r", error: str = "", **args: Any) -> Step:
    return Step(iteration, name, args, result, error, 0.0, f"c{iteration}")


def test_only_rounds_without_anything_new_count():
    same = [step(n, "a", x=1) for n in range(1, 5)]
    assert len(stale_rounds(same)) == 3
    assert stale_rounds([*same, step(5, "a", x=2)]) == []
    assert stale_rounds([*same, step(5, "a", "another result", x=1)]) == []
    cycle = [step(n, "a" if n % 2 else "b") for n in range(1, 7)]
    assert len(stale_rounds(cycle)) == 4
    edit_and_test = [one for n in range(1, 9, 2) for one in (step(n, "edit", n=n), step(n + 1, "test", "1 failed"))]
    assert len(stale_rounds(edit_and_test)) <= 1
    beside = [step(1, "a"), step(2, "a"), step(2, "b"), step(3, "a")]
    assert len(stale_rounds(beside)) == 1
    assert len(stale_rounds([step(1, "x1", error="unknown_tool"), step(2, "x2", error="unknown_tool")])) == 2
    assert stale_rounds(same, frozenset({"a"})) == []


def test_the_same_failure_counts_whatever_the_arguments():
    tries = [step(n, "get", "Tool 'get' failed: OSError", "exception", url=n) for n in range(1, 6)]
    assert same_failures(tries) == 5
    assert same_failures([*tries, step(6, "get", "fine")]) == 0
    assert same_failures([*tries, step(6, "get", "other", "exception")]) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_nudge_then_withdrawal_then_a_forced_answer(dialect: str):
    def stubborn(request: Any) -> Any:
        if any("No more tools" in text for text in user_texts(request.messages)):
            return answer_in(dialect, "all I know is hello")
        return in_dialect(dialect, "echo", text="hello")

    model = ScriptedModel(stubborn, abilities={} if dialect == "native" else TEXT_ONLY)
    run = Agent(model, [echo, add], dialect=dialect).start("q")
    result = await run
    assert result.stop_reason == "stuck"
    assert result.answer == "all I know is hello"
    assert not result.success
    assert set(components(model)) == {"loop"}, "no model call is spent on noticing it"
    assert len(model.requests) == 8
    kinds = [type(record.event) for record in run.records]
    interventions = [kind for kind in kinds if kind in (ReplyConstrained, ToolsChanged, AnswerOnly)]
    assert list(dict.fromkeys(interventions)) == [ReplyConstrained, ToolsChanged, AnswerOnly]
    changed = next(record.event for record in run.records if isinstance(record.event, ToolsChanged))
    assert [offered.name for offered in changed.tools] == ["add"]
    assert [step.error for step in result.steps] == [""] * 5 + ["unknown_tool"] * 2
    assert_paired(result.messages)


def test_a_nudge_is_enough_for_a_sensible_model():
    model = ScriptedModel([*[call("echo", text="hello")] * 3, call("add", a=1, b=2), "3"])
    result = go(Agent(model, [echo, add]).run("q"))
    assert result.answer == "3"
    assert result.stop_reason == "answer"
    assert result.success
    notes = [text for text in user_texts(model.requests[-1].messages) if "nothing new" in text]
    assert len(notes) == 1
    assert "echo(text='hello')" in notes[0]


@pytest.mark.parametrize(
    ("made", "bound"), [(lambda n: call(f"nope{n}"), 10), (lambda n: call("fail", text=str(n)), 16)]
)
def test_unknown_tools_and_failures_are_loops_too(made: Any, bound: int):
    model = ScriptedModel(lambda request: made(len(model.requests)))
    result = go(Agent(model, [fail, echo]).run("q"))
    assert result.stop_reason == "stuck"
    assert len(model.requests) <= bound


def test_work_that_goes_on_is_left_alone():
    model = ScriptedModel([*[call("echo", text=str(n)) for n in range(30)], "done"])
    result = go(Agent(model, [echo]).run("q"))
    assert result.answer == "done"
    assert len(user_texts(model.requests[-1].messages)) == 1


def test_polling_can_be_allowed():
    @tool
    async def status() -> str:
        """Ask how the job is."""
        return "pending"

    model = ScriptedModel([*[call("status")] * 20, "done"])
    result = go(Agent(model, [status], plugins=[LoopGuard(allow=["status"])]).run("q"))
    assert result.answer == "done"
    assert not [step for step in result.steps if step.error]


async def test_it_survives_a_crash_anywhere():
    """Everything is derived from the log: the resumed run ends in the same way, and no action is taken twice."""

    def agent() -> Agent:
        return Agent(ScriptedModel([call("echo", text="hello")], repeat_last=True), [echo, add])

    first = agent()
    first.journal = journal = Batches()
    run = first.start("q")
    whole = await run
    for records in journal.cuts[:-1]:
        again = await restarted(agent(), run, records)
        result = await again
        assert result.stop_reason == "stuck", records
        assert len(result.steps) == len(whole.steps), records
        noted = [record.event.data["steps"] for record in again.records if isinstance(record.event, Noted)]
        assert noted == sorted(set(noted)), records


def test_strict_and_streaming_have_no_guard():
    model = ScriptedModel([*[call("echo", text="hello")] * 6, "done"])
    assert go(Agent(model, [echo], preset="strict").run("q")).answer == "done"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_nudge_keeps_the_repeated_tool_out_of_the_next_reply_where_it_can(dialect: str):
    """Only a constraint of text can be changed for one reply: native tools are part of the prefix a provider keeps."""
    replies = [in_dialect(dialect, "echo", text="hello")] * 3 + [
        in_dialect(dialect, "add", a=1, b=2),
        answer_in(dialect, "3"),
    ]
    model = ScriptedModel(
        replies, abilities={} if dialect == "native" else TEXT_ONLY | {"json_schema": True, "grammar": False}
    )
    go(Agent(model, [echo, add], dialect=dialect).run("q"))
    if dialect == "native":
        assert all(len(request.tools) == 2 for request in model.requests)
    elif model.requests[0].format is not None:
        assert ["echo" in str(request.format) for request in model.requests] == [True, True, True, False, True]


def test_a_tiny_model_that_has_a_result_answers_next():
    for tiny, dialect in ((True, "brief"), (False, "schema")):
        replies = [in_dialect(dialect, "echo", text="hello"), answer_in(dialect, "hello")]
        model = ScriptedModel(replies, abilities={"tool_call": False, "json_schema": True, "tiny": tiny})
        result = go(Agent(model, [echo, add]).run("q"))
        assert result.answer == "hello"
        assert result.metadata["dialect"] == dialect
        for name in ("'echo'", "'add'"):
            assert [name in str(request.format) for request in model.requests] == [True, not tiny]


def test_a_tiny_model_may_poll_on_with_a_tool_that_is_allowed_to_repeat():
    replies = [
        in_dialect("brief", "echo", text="hello"),
        in_dialect("brief", "echo", text="hello"),
        answer_in("brief", "hello"),
    ]
    model = ScriptedModel(replies, abilities={"tool_call": False, "json_schema": True, "tiny": True})
    result = go(Agent(model, [echo, add], plugins=[LoopGuard(allow=["echo"])]).run("q"))
    assert (result.answer, len(result.steps)) == ("hello", 2)
    assert ["'echo'" in str(request.format) for request in model.requests] == [True, True, True]
    assert ["'add'" in str(request.format) for request in model.requests] == [True, False, False]


def test_a_tiny_model_that_repeats_a_failing_call_must_answer_at_once():
    @tool
    def lookup(name: str) -> str:
        """Look something up."""
        raise ToolError(f"there is no {name!r}")

    call = in_dialect("brief", "lookup", name="week")
    model = ScriptedModel(
        [call, call, answer_in("brief", "7 days")], abilities={"tool_call": False, "json_schema": True, "tiny": True}
    )
    result = go(Agent(model, [lookup]).run("How many days has a week?"))
    assert (result.answer, len(result.steps)) == ("7 days", 2)
    assert ["'lookup'" in str(request.format) for request in model.requests] == [True, True, False]
    assert str(model.requests[-1].messages[-1]).count("Answer the question now") == 1


def test_a_small_model_gets_no_second_result_for_a_call_it_repeats():
    call = in_dialect("direct", "echo", text="hello")
    model = ScriptedModel([call, call, answer_in("direct", "hello")], abilities=SMALL)
    result = go(Agent(model, [echo, add]).run("q"))
    assert result.answer == "hello"
    assert result.usage.tool_calls == 1, "the second was not made"
    assert "have its result" in result.steps[1].observation
    assert ["'echo'" in str(request.format) for request in model.requests] == [True, True, False]
    assert_paired(result.messages)


@pytest.mark.parametrize(
    ("abilities", "nudged_after"),
    [
        ({"tool_call": False, "grammar": True}, 3),
        ({"tool_call": False, "grammar": True, "parameters": 8.0}, 3),
        ({"tool_call": False, "json_schema": True, "parameters": 1.5}, 3),
        ({"tool_call": False, "grammar": True, "parameters": 1.5}, 2),
    ],
    ids=["unknown size", "large", "small without grammar", "small"],
)
def test_only_a_model_known_to_be_small_is_interrupted_at_the_first_repetition(
    abilities: dict[str, Any], nudged_after: int
):
    dialect = "direct" if "grammar" in abilities else "schema"
    model = ScriptedModel([in_dialect(dialect, "echo", text="hello")], abilities=abilities, repeat_last=True)
    go(Agent(model, [echo, add]).run("q"))
    assert ["'echo'" in str(request.format) for request in model.requests].index(False) == nudged_after


def test_a_small_model_may_poll_and_may_mean_it():
    call, done = in_dialect("direct", "echo", text="hello"), answer_in("direct", "hello")
    for replies, plugins, made in (
        ([call, call, done], [LoopGuard(allow=["echo"])], 2),
        ([call, call, done], [LoopGuard(nudge=3)], 2),
        ([call, call, call, done], [], 2),
    ):
        result = go(Agent(ScriptedModel(replies, abilities=SMALL), [echo, add], plugins=plugins).run("q"))
        assert result.usage.tool_calls == made
        assert result.answer == "hello"


def test_who_had_to_call_a_tool_still_has_to_after_a_repetition():
    @tool(effect="pure")
    def twice(text: str) -> str:
        """Say it twice."""
        return text + text

    @tool(effect="pure")
    def once(text: str) -> str:
        """Say it once."""
        return text

    call, given_up = in_dialect("direct", "once", text="a"), answer_in("direct", "I cannot").replace("true", "false")
    replies = [call, given_up, call, in_dialect("direct", "twice", text="a"), answer_in("direct", "aa")]
    model = ScriptedModel(replies, abilities=SMALL)
    result = go(Agent(model, [once, twice]).run("q"))
    assert result.answer == "aa"
    assert ["'final_answer'" in str(request.format) for request in model.requests] == [True, True, False, False, True]
