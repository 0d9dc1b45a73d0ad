"""However a run ends: the answer is true, never a thought, and streams in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.samples import NAMES
from engine.executions import started
from kit import call, go
from treadle import Agent, ScriptedModel, tool
from treadle._engine.answering.writer import write_answer
from treadle._types.events import AnswerDelta, ContextCompacted, MessageAdded
from treadle._types.messages import UserMessage
from treadle._types.request import Request

TEXT = {"tool_call": False, "json_schema": False, "json_mode": False}
ACTION = 'SECRET\nAction: {{"tool": "price", "inputs": {{"item": "{}"}}, "final_answer": false}}'
EMPTY_ANSWER = '{"type": "final_answer", "answer": ""}'
CALL = '{"reasoning": "SECRET", "type": "tool_call", "tool_name": "price", "tool_args": {"item": "tea"}}'


@tool(effect="pure")
async def price(item: str) -> str:
    """Look up a price."""
    return "EUR 12"


def agent(*script: Any, **options: Any) -> Agent[Any, Any]:
    text = options.pop("text", True)
    return Agent(ScriptedModel(script, repeat_last=True, abilities=TEXT if text else {}), [price], **options)


def by_component(**replies: str) -> Any:
    """A model that goes on as its first words say, whatever it is asked, unless this component asks."""

    def reply(request: Request) -> str:
        return replies.get(request.component, CALL)

    return reply


def test_a_loop_that_ends_without_words_after_a_result_is_written_up_in_both_modes():
    def answer(request: Request) -> str:
        return "Tea costs EUR 12." if request.component == "synthesis" else ""

    def quiet(request: Request) -> str:
        return answer(request) or EMPTY_ANSWER

    native = go(agent(call("price", item="tea"), answer, preset="two_phase", text=False).run("q"))
    as_json = go(agent(CALL, quiet, preset="two_phase").run("q"))
    for result in (native, as_json):
        assert (result.answer, result.success, result.stop_reason) == ("Tea costs EUR 12.", True, "answer")


@pytest.mark.parametrize("last", [ACTION.format("x"), CALL, CALL.replace("reasoning", "thought")])
def test_a_thought_is_not_published_at_the_limit(last: str):
    script = [*(ACTION.format(item) for item in range(2)), last]
    shown = "".join(agent(*script, preset="streaming", max_iterations=2).text("q"))
    answer = shown.partition("<__final_answer__>")[2]
    assert "EUR 12" in answer
    assert "SECRET" not in answer


@pytest.mark.parametrize(("written", "answer"), [("Tea costs EUR 12.", "Tea costs EUR 12."), (CALL, "EUR 12")])
def test_a_thought_is_not_published_when_the_loop_guard_stops_the_run(written: str, answer: str):
    result = go(agent(by_component(synthesis=written), preset="two_phase").run("q"))
    assert (result.success, result.stop_reason) == (False, "stuck")
    assert answer in result.answer
    assert "SECRET" not in result.answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"reasoning": "SECRET", "type": "final_answer", "answer": "Tea costs', "Tea costs"),
        ("Tea costs EUR 12.", "Tea costs EUR 12."),
        (by_component(loop='{"reasoning": "SECRET", "type"', final="I cannot say."), "I cannot say."),
    ],
)
def test_an_unreadable_last_reply_still_gives_its_words(reply: Any, answer: str):
    result = go(agent(reply, preset="two_phase", max_iterations=1).run("q"))
    assert (result.answer, result.success, result.stop_reason) == (answer, False, "limit")


def test_silence_after_results_leaves_what_was_found():
    result = go(agent(call("price", item="tea"), "", text=False).run("q"))
    assert (result.success, result.stop_reason) == (False, "empty")
    assert "EUR 12" in result.answer


@pytest.mark.parametrize("dialect", [*NAMES, "code"])
async def test_a_forced_answer_streams_in_every_dialect(dialect: str):
    run = await started(ScriptedModel(["Tea costs EUR 12 today."]), [price], dialect=dialect)
    seen: list[Any] = []
    run.log.subscribe(lambda record: seen.append(record.event))
    assert await write_answer(run, "limit", "") == ("Tea costs EUR 12 today.", "loop")
    pieces = [event.text for event in seen if isinstance(event, AnswerDelta)]
    assert len(pieces) > 1
    assert "".join(pieces) == "Tea costs EUR 12 today."


BOTH = '[{"name": "price", "arguments": {"item": "tea"}}, {"name": "__complete_task__", "arguments": {"answer": "12"}}]'


def test_a_task_that_is_completed_beside_a_call_ends_after_the_call():
    direct = agent(BOTH, dialect="array")
    assert isinstance(direct.model, ScriptedModel)
    result = go(direct.run("q"))
    assert (result.answer, result.stop_reason, len(result.steps), len(direct.model.requests)) == ("12", "answer", 1, 1)
    written = agent(by_component(loop=BOTH, complete="Tea costs EUR 12."), dialect="array", answer="complete")
    assert isinstance(written.model, ScriptedModel)
    assert go(written.run("q")).answer == "Tea costs EUR 12."
    assert len(written.model.requests) == 2


async def test_the_summary_of_a_compaction_reaches_the_writer():
    model = ScriptedModel(["Tea."])
    run = await started(model, [price], answer="synthesize")
    await run.emit(MessageAdded(UserMessage("old", kind="note"), "x"), ContextCompacted((1,), "SUMMARY"))
    await write_answer(run, "answer", "tea")
    assert "SUMMARY" in str(model.requests[0].messages[1])
