"""A model that says nothing: asked again a bounded number of times, then `empty`; never our own words as an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.samples import NAMES
from kit import call, echo, go
from treadle import Agent, DagAgent, ScriptedModel
from treadle._agent import presets
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._engine.run import Run
from treadle._types import events as ev
from treadle._types.errors import BadReplyError
from treadle._types.messages import ToolMessage, UserMessage, text_of
from treadle._types.request import Reply

TEXT = {"tool_call": False, "json_schema": False, "json_mode": False}
SILENT: dict[str, Any] = {
    "empty": "",
    "blank": " \n\t",
    "null": "null",
    "invisible": "\u200b\ufeff \u2060",
    "reasoning": Reply("", (), "I should think about this."),
    "thinking": "<think>I should think about this.</think>",
    "unfinished thinking": Reply("<think>I should think", finish="length"),
    "end token": "<|im_end|>",
    "filtered": Reply("", finish="filter"),
}


def silent(entry: Any, dialect: str = "auto") -> ScriptedModel:
    return ScriptedModel([entry], repeat_last=True, abilities=TEXT if dialect not in ("auto", "native") else {})


def own_words(run: Run) -> list[str]:
    """Every sentence with which this run asked its model again, and every reason why a reply could not be read."""
    said: list[str] = []
    for record in run.records:
        if isinstance(record.event, ev.ThinkDone) and record.event.problem:
            said.append(record.event.problem)
        if isinstance(record.event, ev.MessageAdded) and isinstance(record.event.message, UserMessage):
            said.append(text_of(record.event.message.content))
    return said


async def ended(agent: Any, question: str = "q") -> tuple[Any, Run]:
    run = agent.start(question)
    return await run, run


@pytest.mark.parametrize("dialect", [*NAMES, "code", "auto"])
@pytest.mark.parametrize("kind", SILENT)
def test_silence_in_every_dialect_is_asked_about_again_and_ends_as_empty(kind: str, dialect: str):
    model = silent(SILENT[kind], dialect)
    result, run = go(ended(Agent(model, [echo], dialect=dialect)))
    assert (result.stop_reason, result.success, result.answer, result.brief) == ("empty", False, "", "")
    assert isinstance(result.error, BadReplyError)
    assert "gave no answer" in str(result.error)
    assert len(model.requests) == 3
    assert run.state.finished is not None
    assert run.state.finished.error == str(result.error)


@pytest.mark.parametrize("kind", SILENT)
@pytest.mark.parametrize("preset", presets.names())
def test_silence_in_every_preset_is_no_success_and_gives_no_words_of_ours(preset: str, kind: str):
    model = silent(SILENT[kind])
    result, run = go(ended(Agent(model, [echo], preset=preset, raise_errors=False, on_limit="fallback")))
    assert not result.success
    assert result.error is not None
    assert result.stop_reason in ("empty", "error")
    assert len(model.requests) <= 12
    assert not [text for text in own_words(run) if text in result.answer]


def test_an_answer_at_the_second_attempt_counts():
    result = go(Agent(ScriptedModel(["", "Paris."]), [echo]).run("q"))
    assert (result.answer, result.stop_reason, result.success) == ("Paris.", "answer", True)


def test_an_empty_answer_in_the_right_form_is_no_answer_either():
    for dialect, text in (
        ("json", '{"type": "final_answer", "answer": ""}'),
        ("array", '[{"name": "__complete_task__", "arguments": {}}]'),
        ("schema", '{"action": "final_answer", "final_answer": " ", "task_successful": true}'),
        ("action", "<__final_answer__></__final_answer__>"),
    ):
        result = go(Agent(silent(text, dialect), [echo], dialect=dialect).run("q"))
        assert (result.stop_reason, result.success, result.answer) == ("empty", False, ""), dialect


def test_at_the_last_iteration_silence_is_empty_and_not_a_summary_of_ours():
    result = go(Agent(silent(""), [echo], max_iterations=1, on_limit="fallback").run("q"))
    assert (result.stop_reason, result.success, result.answer) == ("empty", False, "")


def test_work_that_was_done_before_the_silence_is_in_the_result():
    result = go(Agent(ScriptedModel([call("echo", text="x"), ""], repeat_last=True), [echo]).run("q"))
    assert result.stop_reason == "empty"
    assert [step.tool for step in result.steps] == ["echo"]


def test_a_second_phase_that_says_nothing_leaves_the_loops_own_answer():
    for entry in ("", "<think>hm</think>"):
        model = ScriptedModel(["Paris.", entry], repeat_last=True)
        assert go(Agent(model, [echo], answer="synthesize").run("q")).answer == "Paris."
    both = ScriptedModel(['{"type": "final_answer", "answer": ""}', ""], repeat_last=True, abilities=TEXT)
    result = go(Agent(both, [echo], dialect="json", answer="synthesize").run("q"))
    assert (result.stop_reason, result.success, result.answer) == ("empty", False, "")


def test_a_typed_answer_that_never_comes_is_empty():
    result = go(Agent(silent(""), [echo], output_type=int).run("q"))
    assert (result.stop_reason, result.output, result.success) == ("empty", None, False)


def test_errors_are_raised_where_that_is_asked_for():
    with pytest.raises(BadReplyError, match="gave no answer"):
        go(Agent(silent(""), [echo], raise_errors=True).run("q"))


def test_the_silence_of_a_child_is_a_failure_its_parent_is_told_of():
    child = Agent(silent(""), None, name="helper").as_tool(name="helper", description="Helps.")
    model = ScriptedModel([_order, "The helper said nothing."])
    result = go(Agent(model, [child]).run("q"))
    assert result.answer == "The helper said nothing."
    (told,) = [message for message in result.messages if isinstance(message, ToolMessage)]
    assert told.error
    assert "gave no answer" in str(told.content)


def _order(request: Any) -> dict[str, Any]:
    """A call of the helper, with something for each parameter it asks for."""
    return call("helper", **dict.fromkeys(request.tools[0].parameters["required"], "help"))


def test_a_plan_and_a_document_of_silent_agents_fail_without_words_of_ours():
    document = parse_document({"Agent:A": {"obj": {"component_name": "Agent"}}})
    for agent in (DagAgent(silent(""), [echo]), GraphAgent(document, Path(), model=silent(""))):
        result, run = go(ended(agent))
        assert not result.success
        assert result.stop_reason in ("error", "empty")
        assert result.error is not None
        assert not [text for text in own_words(run) if text in result.answer]


RUBBISH = st.one_of(
    st.sampled_from(
        ["{", "}", "[]", "{}", "null", '""', "```json", "Action:", "<tool_call>", '{"tool": 1}', "...", "?"]
    ),
    st.text(max_size=20),
    st.text(alphabet='{}[]":,`<>/\\ \naA0', max_size=30),
    st.just(Reply("", (), "thinking")),
)


@settings(max_examples=100)
@given(script=st.lists(RUBBISH, min_size=1, max_size=5), dialect=st.sampled_from([*NAMES, "code", "auto"]))
def test_whatever_a_model_writes_the_answer_holds_no_words_of_ours(script: list[Any], dialect: str):
    model = ScriptedModel(script, repeat_last=True, abilities=TEXT if dialect not in ("auto", "native", "code") else {})
    result, run = go(ended(Agent(model, [echo], dialect=dialect, max_iterations=6, on_limit="fallback")))
    written = [entry if isinstance(entry, str) else entry.text for entry in script]
    if not result.steps:
        assert not result.answer or any(result.answer in text for text in written)
    assert not [text for text in own_words(run) if text in result.answer]
    assert result.answer or result.error is not None
    assert result.stop_reason != "empty" or not result.success
