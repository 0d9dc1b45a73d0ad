"""What a run gives back, from the state it folds to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kit import add, call, fail
from treadle import Agent, ModelError, RunResult, ScriptedModel
from treadle._engine.result import metadata_of, result_of
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, SystemMessage, ToolCall
from treadle._types.state import RunState, fold
from treadle._types.usage import Usage

ADD, ECHO = ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "echo")
CHART = ev.Artifact("chart.svg", "<svg/>")


def state_of(*events: Any) -> RunState:
    return fold(
        ev.Record("run", n, 100.0 + n, event) for n, event in enumerate((ev.RunStarted("q", model="m"), *events))
    )


WORK = (
    ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD, ECHO)), usage=Usage(100, 10, cached_tokens=25, requests=1)),
    ev.ToolDone("c1", "add", 1, "3", artifacts=(CHART,)),
    ev.ToolDone("c2", "echo", 1, "x", error="boom"),
    ev.ThinkDone("loop", 2, AssistantMessage("done"), answer="done"),
)
END = ev.RunFinished("answer", "long answer", brief="done", task_successful=True, output={"n": 3})


def test_a_finished_run():
    result = result_of(state_of(*WORK, END), "run")
    assert (result.answer, result.brief, result.output) == ("long answer", "done", {"n": 3})
    assert (result.stop_reason, result.success, result.task_successful) == ("answer", True, True)
    assert (result.iterations, result.run_id, result.created, result.elapsed) == (2, "run", 100.0, 5.0)
    assert [step.tool for step in result.steps] == ["add", "echo"]
    assert result.artifacts == (CHART,)


def test_tools_are_named_once_in_the_order_of_their_first_use():
    again = (
        ev.ThinkDone("loop", 3, AssistantMessage(calls=(ToolCall("c3", "add"),))),
        ev.ToolDone("c3", "add", 3, "4"),
    )
    assert result_of(state_of(*WORK, *again), "run").tools_used == ["add", "echo"]


def test_the_answer_stands_in_for_a_brief_that_was_not_given():
    assert result_of(state_of(ev.RunFinished("answer", "42")), "run").brief == "42"


def test_a_value_made_in_this_process_wins_over_its_stored_form():
    assert result_of(state_of(END), "run", output=(1, 2)).output == (1, 2)
    assert result_of(state_of(END), "run").output == {"n": 3}


@pytest.mark.parametrize(("events", "reason"), [((), "error"), ((ev.Paused("approval"),), "paused")])
def test_a_run_without_an_end_has_no_answer_and_no_success(events: tuple[Any, ...], reason: str):
    result = result_of(state_of(*events), "run")
    assert (result.stop_reason, result.success, result.answer, result.brief) == (reason, False, "", "")


def test_an_end_that_is_not_recorded_yet_can_be_given():
    result = result_of(state_of(), "run", finished=ev.RunFinished("cancelled", "so far", success=False))
    assert (result.stop_reason, result.answer) == ("cancelled", "so far")


def test_the_system_prompt_comes_first_and_is_marked_as_the_runs_own():
    state = state_of()
    assert result_of(state, "run", system="be brief").messages[0] == SystemMessage("be brief", rendered=True)
    assert not isinstance(result_of(state, "run").messages[0], SystemMessage)
    assert len(state.messages()) == 1


def test_a_result_is_a_copy_the_state_does_not_see():
    state = state_of(*WORK)
    result_of(state, "run").steps.clear()
    assert len(state.steps) == 2


def test_metadata_counts():
    facts = metadata_of(
        state_of(*WORK, ev.ContextCompacted(reason="trim"), ev.ContextCompacted(), ev.Injected(("m",), ("x",)))
    )
    assert (facts["rounds"], facts["tool_calls_made"], facts["failed_calls"]) == (2, 2, 1)
    assert (facts["messages_trimmed"], facts["compactions"], facts["interrupts"]) == (1, 1, 1)
    assert facts["components"]["loop"]["calls"] == 2
    assert facts["cached_share"] == 0.25
    assert facts["breaks"] == ["context trim", "context compacted"]
    assert metadata_of(state_of())["cached_share"] == 0.0


def test_reports_of_plug_ins_are_part_of_the_metadata():
    state = state_of(ev.Noted("citations", {"report": {"cited": 2}}), ev.Noted("memory", {"stored": 1}))
    assert metadata_of(state)["reports"] == {"citations": {"cited": 2}}


def test_a_long_answer_is_cut_in_the_representation_only():
    result = result_of(state_of(ev.RunFinished("answer", "x" * 500)), "run")
    assert repr(result) == f"RunResult(answer, answer={'x' * 200 + '...'!r}, iterations=0, run_id='run')"
    assert len(result.answer) == 500


async def test_a_result_is_plain_data_and_back():
    @dataclass
    class City:
        name: str

    model = ScriptedModel([call("add", a=1, b=2), call("fail"), '{"name": "Lima"}'])
    result = await Agent(model, [add, fail], output_type=City).run("q", history=[{"role": "user", "content": "hi"}])
    again = RunResult.from_json(result.to_json())
    assert again.output == {"name": "Lima"}
    assert again.to_dict() == result.to_dict()
    names = [name for name in RunResult.__struct_fields__ if name not in ("output", "steps", "metadata")]
    assert all(getattr(again, name) == getattr(result, name) for name in names)
    failed = await Agent(ScriptedModel([ModelError("gone")]), None).start("q")
    assert str(RunResult.from_dict(failed.to_dict()).error) == "gone"
