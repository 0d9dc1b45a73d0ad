"""Dialects, seen from the loop: whatever a model wrote, the run is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import add, call, echo, go
from treadle import Agent, RepairPolicy, Reply, ScriptedModel, tool
from treadle._types.messages import AssistantMessage, UserMessage, text_of

PLAIN = {"tool_call": False, "json_mode": False, "json_schema": False}
WRITTEN = {
    "native": ([{"name": "add", "args": {"a": 1, "b": 2}}], "3"),
    "json": (
        '{"type": "tool_call", "reasoning": "sum", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}',
        '{"type": "final_answer", "reasoning": "done", "answer": "3"}',
    ),
    "action": (
        'I add.\nAction: {"tool": "add", "inputs": {"a": 1, "b": 2}, "final_answer": false}',
        "<__final_answer__>3</__final_answer__>",
    ),
    "array": (
        '[{"name": "add", "arguments": {"a": 1, "b": 2}}]',
        '[{"name": "__complete_task__", "arguments": {"answer": "3"}}]',
    ),
    "schema": (
        '{"thought": "sum", "action": "add", "args": {"a": 1, "b": 2}}',
        '{"thought": "done", "action": "final_answer", "final_answer": "3", "task_successful": true}',
    ),
}


def run(dialect: str, script: list[Any], **options: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(script, abilities={} if dialect.startswith("native") else PLAIN)
    return go(Agent(model, [add, echo], dialect=dialect, **options).run("What is 1+2?")), model


def test_native_when_allowed_and_able_else_json():
    able, unable = ScriptedModel(["x"]), ScriptedModel(['{"type": "final_answer", "answer": "x"}'] * 2, abilities=PLAIN)
    go(Agent(able, [add], dialect="auto:json").run("q"))
    assert able.requests[0].tools
    result = go(Agent(unable, [add], dialect="auto:json").run("q"))
    assert not unable.requests[0].tools
    assert result.metadata["dialect"] == "json"


@pytest.mark.parametrize(
    "shape",
    [
        {"name": "add", "arguments": {"a": 1, "b": 2}},
        {"tool": "add", "inputs": {"a": 1, "b": 2}},
        {"action": "add", "args": {"a": 1, "b": 2}},
        {"tool_name": "add", "tool_args": {"a": 1, "b": 2}},
        {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}},
        {"function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}},
    ],
    ids=lambda shape: "/".join(shape),
)
@pytest.mark.parametrize("dialect", ["json", "action", "array", "schema"])
def test_every_common_shape_of_a_call_is_read_in_every_dialect(shape: dict[str, Any], dialect: str):
    text = json.dumps(shape)
    result, _ = run(dialect, [f"Action: {text}" if dialect == "action" else text, WRITTEN[dialect][1]])
    assert [step.observation for step in result.steps] == ["3"]
    assert result.answer == "3"


def test_observations_go_back_as_user_messages():
    _, model = run("json", list(WRITTEN["json"]))
    last = model.requests[1].messages[-1]
    assert isinstance(last, UserMessage)
    assert "add" in text_of(last.content)
    assert "3" in text_of(last.content)


def test_the_final_answer_flag_of_an_action_never_ends_the_run():
    result, model = run(
        "action", ['Action: {"tool": "echo", "inputs": {"text": "x"}, "final_answer": true}', "All done, no action."]
    )
    assert len(model.requests) == 2
    assert result.answer == "All done, no action."
    nothing, _ = run("action", ['Just talk.\nAction: {"tool": null, "inputs": {}, "final_answer": true}', "end"])
    assert nothing.stop_reason == "answer"


def test_completion_beside_other_calls_ends_the_run_after_them():
    both = '[{"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "finish", "arguments": {"answer": "early"}}]'
    result, model = run("array", [both], complete_name="finish")
    assert [step.tool for step in result.steps] == ["add"]
    assert result.answer == "early"
    assert len(model.requests) == 1


def test_schema_constrains_where_the_model_can():
    model = ScriptedModel(list(WRITTEN["schema"]), abilities={"tool_call": False, "json_schema": True})
    result = go(Agent(model, [add], dialect="schema").run("q"))
    assert result.answer == "3"
    assert result.task_successful is True
    assert model.requests[0].format.kind == "schema"
    assert '"add"' in json.dumps(model.requests[0].format.schema)


@pytest.mark.parametrize("dialect", list(WRITTEN))
def test_every_dialect_gives_the_same_run(dialect: str):
    result, _ = run(dialect, list(WRITTEN[dialect]))
    assert result.answer == "3"
    assert [(step.tool, step.args, step.observation) for step in result.steps] == [("add", {"a": 1, "b": 2}, "3")]
    assert result.iterations == 2
    assert result.stop_reason == "answer"


CALL = '{"name": "add", "arguments": {"a": 1, "b": 2}}'


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL}\n```",
        '{"name": "add", "arguments": {"a": 1, "b": 2,},}',
        "{'name': 'add', 'arguments': {'a': 1, 'b': 2}}",
        '{"name": "add", "arguments": {"a": 1, "b": 2}} // done',
        f"Sure, I will do that: {CALL} and then answer.",
        '{"name": "add", "arguments": {"a": 1, "b": 2}',
        '{"name": "add", "arguments": {"a": "1", "b": 2}}',
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        f"<think>hmm</think>{CALL}",
    ],
)
def test_tolerant_reading(text: str):
    result, _ = run("json", [text, WRITTEN["json"][1]])
    assert [step.observation for step in result.steps] == ["3"], text


def test_a_call_cut_by_length_is_not_executed():
    for cut in ('{"name": "add", "arguments": {"a": 1, "b": 2', '{"name": "add", "arguments": {"a": 1, "b": 2}'):
        result, _ = run("json", [Reply(cut, finish="length"), WRITTEN["json"][1]])
        assert result.steps == []


def test_repair_policies():
    once = RepairPolicy(max_parse=1)
    result, model = run("json", ["words", "more words", "never asked"], repair=once)
    assert (result.answer, result.success, len(model.requests), result.iterations) == ("more words", False, 2, 2)
    within = RepairPolicy(max_parse=2, counts_as_iteration=False)
    result, model = run("json", ["words", "words", WRITTEN["json"][1]], repair=within)
    assert (result.answer, result.success, result.iterations) == ("3", True, 1)
    sent = [m for m in model.requests[-1].messages if isinstance(m, AssistantMessage)]
    assert [m.text for m in sent] == ["words", "words"]
    assert model.requests[-1].messages[-1].kind == "reformat"


def test_a_repaired_call_that_names_another_tool_runs_that_tool():
    policy = RepairPolicy(max_parse=1, separate_call=True, counts_as_iteration=False)
    broken = 'Action: {"tool": "add", "inputs": {"a": 1, '
    fixed = 'Action: {"tool": "echo", "inputs": {"text": "instead"}, "final_answer": false}'
    result, model = run("action", [broken, fixed, WRITTEN["action"][1]], repair=policy)
    assert [request.component for request in model.requests] == ["loop", "repair", "loop"]
    assert model.requests[1].temperature == 0.1
    assert [step.tool for step in result.steps] == ["echo"]


@pytest.mark.parametrize("dialect", ["json", "array", "schema"])
def test_text_dialects_use_constraints_where_there_are_some(dialect: str):
    model = ScriptedModel([WRITTEN[dialect][1]], abilities={"tool_call": False, "json_schema": True})
    go(Agent(model, [add], dialect=dialect).run("q"))
    assert model.requests[0].format is not None
    free = ScriptedModel([WRITTEN[dialect][1]], abilities=PLAIN)
    go(Agent(free, [add], dialect=dialect).run("q"))
    assert free.requests[0].format is None


def test_native_dialect_reads_calls_that_arrive_as_text():
    model = ScriptedModel([f"```json\n{CALL}\n```", "3"])
    result = go(Agent(model, [add]).run("q"))
    assert [step.tool for step in result.steps] == ["add"]
    quoted = ScriptedModel([f"You could write {CALL} to add."])
    assert go(Agent(quoted, [add]).run("q")).steps == []


def test_a_dialect_that_keeps_failing_is_demoted():
    script = ["", "", '{"thought": "t", "action": "final_answer", "final_answer": "ok", "task_successful": true}']
    model = ScriptedModel(script, abilities={"tool_call": True})
    result = go(Agent(model, [add]).run("q"))
    assert result.answer == "ok"
    assert any("demoted" in why for why in result.metadata["breaks"])


def test_a_provider_that_refuses_tools_is_spoken_to_in_text():
    from treadle._types.errors import RequestRefusedError

    script = [
        RequestRefusedError("this model does not support tools", status=400),
        WRITTEN["schema"][0],
        WRITTEN["schema"][1],
    ]
    result = go(Agent(ScriptedModel(script), [add]).run("q"))
    assert result.answer == "3"
    assert result.metadata["dialect"] == "schema"


def test_prompts_can_be_replaced_by_name():
    model = ScriptedModel(['{"type": "final_answer", "answer": "x"}'], abilities=PLAIN)
    go(
        Agent(
            model, [add], dialect="json", prompts={"dialect.json": "MY OWN WORDS {tools}"}, instructions="BE KIND"
        ).run("q")
    )
    text = model.requests[0].messages[0].text
    assert "MY OWN WORDS" in text
    assert "BE KIND" in text
    assert "add" in text


def test_tool_named_like_the_answer_is_no_trap():
    @tool
    async def final_answer(text: str) -> str:
        """A tool with an unlucky name."""
        return text

    result = go(Agent(ScriptedModel([call("final_answer", text="x"), "end"]), [final_answer]).run("q"))
    assert result.answer == "end"
    written = ['{"name": "final_answer", "arguments": {"text": "x"}}', '{"type": "final_answer", "answer": "end"}']
    result = go(Agent(ScriptedModel(written, abilities=PLAIN), [final_answer], dialect="json").run("q"))
    assert ([step.observation for step in result.steps], result.answer) == (["x"], "end")
