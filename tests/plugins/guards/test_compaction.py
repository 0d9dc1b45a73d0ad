"""Making text shorter with the model's help."""

from __future__ import annotations

from typing import Any

import pytest

from kit import echo, go
from plugins.probe import Probe
from plugins.scenes import CountingModel, request_text
from treadle import Agent, RetryPolicy
from treadle._plugins.guards.compaction import HINTS, chars_for, condense, omission_note, summarise, transcript_of
from treadle._types.errors import TransientModelError
from treadle._types.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage


def with_run(work: Any, summary: Any = "short and exact", **options: Any) -> CountingModel:
    model = CountingModel(
        lambda request: summary if request.component == "compaction" else "done", abilities=options.pop("abilities", {})
    )
    probe = Probe(work)
    agent = Agent(model, [echo], plugins=[probe], retry=RetryPolicy(attempts=1), **options)
    assert go(agent.run("THE TASK")).answer == "done"
    probe.check()
    return model


SUMMARY = UserMessage("Summary of what came before:\nthe sum is 7", kind="summary")


def test_what_is_left_out_adds_up_and_keeps_summaries():
    first = omission_note([AssistantMessage("x"), ToolMessage("1", "look", "y")], 500)
    assert "tools called: look (1)" in first
    again = omission_note([SUMMARY, UserMessage(first, kind="summary"), AssistantMessage("z")], 500)
    assert "the sum is 7" in again
    assert again.count("[") == 1
    assert "[3 earlier messages" in again


def test_condense_gives_text_back_that_fits_and_shortens_what_does_not():
    async def work(run: Any) -> None:
        assert await condense(run, "as it is", hint="general", tokens=50) == "as it is"
        assert await condense(run, "long " * 1000, hint="step_dependency", tokens=50) == "short and exact"

    model = with_run(work)
    assert HINTS["step_dependency"] in request_text(model.requests[1])
    assert "The task:\nTHE TASK" in request_text(model.requests[1])
    assert model.requests[1].max_tokens == 64


def test_a_text_that_cannot_be_summarised_is_cut():
    async def work(run: Any) -> None:
        text = await condense(run, "long " * 1000, hint="general", tokens=50)
        assert "characters left out" in text
        assert len(text) <= chars_for(run, "long " * 1000, 50)

    with_run(work, TransientModelError("down", status=503))


def test_a_summary_that_is_too_long_is_cut():
    async def work(run: Any) -> None:
        assert len(await condense(run, "long " * 1000, hint="general", tokens=50)) <= 400

    with_run(work, "a long summary " * 100)


def test_the_request_for_a_summary_fits_and_a_model_that_thinks_has_no_cap():
    async def work(run: Any) -> None:
        assert await summarise(run, "long " * 5000, hint="of my own", tokens=100) == "short and exact"

    model = with_run(work, context_budget=2_000, abilities={"reasoning": True})
    assert len(request_text(model.requests[1])) < 2_000 * 4
    assert "of my own" in request_text(model.requests[1])
    assert model.requests[1].max_tokens is None


def test_in_a_very_small_window_no_summary_is_asked_for():
    async def work(run: Any) -> None:
        assert await summarise(run, "long " * 100, hint="general", tokens=50) == ""

    model = with_run(work, context_budget=500)
    assert len(model.requests) == 1


def test_the_words_can_be_replaced():
    async def work(run: Any) -> None:
        await summarise(run, "text", hint="general", tokens=300)

    model = with_run(work, prompts={"context_summary": "KURZ, {words} words. {hint}"})
    assert model.requests[1].messages[0] == SystemMessage(f"KURZ, 200 words. {HINTS['general']}")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (UserMessage("hello"), "User: hello"),
        (UserMessage("mind this", kind="note"), "Note: mind this"),
        (SUMMARY, f"Earlier summary: {SUMMARY.content}"),
        (SystemMessage("be brief"), "System: be brief"),
        (ToolMessage("1", "look", "found"), "Result of look: found"),
        (ToolMessage("1", "look", "nothing", error=True), "Error of look: nothing"),
        (AssistantMessage("Let me see.", dialect="json"), "Agent: Let me see."),
        (
            AssistantMessage("Look.", (ToolCall("1", "look", {"n": 1}), ToolCall("2", "go", {}))),
            'Agent: Look. calls look({"n":1}); go({})',
        ),
        (
            AssistantMessage('{"tool": "look"}', (ToolCall("1", "look", {"n": 1}),), dialect="json"),
            'Agent: {"tool": "look"}',
        ),
    ],
    ids=["user", "note", "summary", "system", "result", "error", "text", "native calls", "calls in the text"],
)
def test_each_kind_of_message_as_text(message: Any, text: str):
    assert transcript_of([message], 1_000) == text


def test_long_messages_are_cut_to_a_common_length_short_ones_and_summaries_are_not():
    summary = UserMessage("S" * 400, kind="summary")
    messages = [summary, UserMessage("short"), UserMessage("a" * 3_000), UserMessage("b" * 3_000)]
    text = transcript_of(messages, 2_000)
    assert "S" * 400 in text
    assert "User: short" in text
    assert text.count("characters left out") == 2
    assert len(text) <= 2_100
    assert transcript_of([], 100) == ""
    crowd = transcript_of([UserMessage(str(number) * 500) for number in range(9)], 300)
    assert len(crowd) <= 9 * 100 + 9 * 2, "no message is cut to less than a hundred characters"
