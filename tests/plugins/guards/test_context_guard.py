"""The context guard keeps every request within its limit of tokens."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from kit import assert_paired, call, echo, go
from plugins.long_work import QUESTION, check, compactions, look, worker
from plugins.scenes import (
    DIALECTS,
    TEXT_ONLY,
    CountingModel,
    components,
    count,
    request_text,
)
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.guards.compaction import HINTS
from treadle._types.errors import ContextOverflowError, TransientModelError
from treadle._types.events import ContextCompacted
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.request import Request


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_every_dialect_stays_within_its_limit(dialect: str):
    model = CountingModel(worker(60, lambda number: 900, dialect), abilities={} if dialect == "native" else TEXT_ONLY)
    agent = Agent(model, [look], dialect=dialect, system="S", max_iterations=80, context_budget=4_000)
    run = agent.start(QUESTION)
    result = await run
    assert result.answer == "the answer"
    check(model.requests, 4_000)
    assert len(compactions(run)) >= 2
    assert prefix_breaks(model.requests, run.records) == []


async def test_a_long_message_is_cut_before_anything_is_summarised():
    model = CountingModel(worker(3, lambda number: 9_000 if number == 2 else 300))
    run = Agent(model, [look], context_budget=2_500).start(QUESTION)
    result = await run
    assert components(model).count("compaction") == 0
    assert [event.reason for event in compactions(run)] == ["cut"]
    seen = next(m for m in model.requests[-1].messages if isinstance(m, ToolMessage) and "#2#" in m.content)
    assert "characters left out" in seen.content
    assert len(seen.content) < 1_500
    assert len(result.steps[1].observation) > 6_000, "only the window forgets, not the run"


async def grown(tool: Any, script: Any, **settings: Any) -> tuple[Any, CountingModel]:
    model = CountingModel(script)
    run = Agent(model, [tool], system="S", max_iterations=80, context_budget=6_000, **settings).start(QUESTION)
    assert (await run).answer == "the answer"
    assert max(map(count, model.requests)) <= 6_000
    assert prefix_breaks(model.requests, run.records) == []
    return run, model


def test_old_results_that_can_be_had_again_go_first():
    """As long as that is enough: then a summary is made of the rest."""
    run, model = go(grown(look, worker(60, lambda number: 2_000)))
    check(model.requests, 6_000)
    first = compactions(run)[0]
    assert (first.reason, first.covers, len(first.replaced) > 4) == ("old results", (), True)
    assert all("cut to save room: call look again" in text for text in first.replaced.values())
    reasons = [event.reason for event in compactions(run)]
    assert reasons.count("old results") > reasons.count("compacted") == components(model).count("compaction") > 0
    before, after = next(pair for pair in pairwise(model.requests) if len(pair[1].messages[3].content) < 300)
    assert before.tools == after.tools
    assert before.messages[:3] == after.messages[:3]
    assert before.messages[-1] == after.messages[len(before.messages) - 1], "the latest stay whole"
    assert "#1# fact 1 is 7" in after.messages[3].content, "and so does a beginning"


def test_whoever_gets_old_results_again_is_not_told_to_use_them():
    again, work = list(range(1, 7)), worker(30, lambda number: 2_000)

    def script(request: Request) -> Any:
        cut = any("call look again" in text_of(m.content) for m in request.messages if isinstance(m, ToolMessage))
        if cut and again and request.component == "loop":
            return call("look", number=again.pop(0), size=2_000)
        return work(request)

    _, model = go(grown(look, script))
    assert not again
    assert not any(isinstance(m, UserMessage) and m.kind == "note" for m in model.requests[-1].messages)
    assert [schema.name for schema in model.requests[-1].tools] == ["look"]


def test_a_result_that_cannot_be_had_again_is_summarised():
    acting = look.replace(effect="unsafe")
    run, model = go(grown(acting, worker(30, lambda number: 2_000)))
    assert {event.reason for event in compactions(run)} == {"compacted"}
    assert components(model).count("compaction") == len(compactions(run)) > 0


def test_an_old_result_is_read_again_where_the_model_has_the_tool_for_it():
    sizes = iter([20_000, *[1_500] * 40])
    work, asked = worker(25, lambda number: next(sizes)), []

    def script(request: Request) -> Any:
        notes = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
        found = [match[1] for text in notes if (match := re.search(r'room: read_more\(result="(.+)"\)', text))]
        if len(found) > 3 and not asked and request.component == "loop":
            asked.append(found[3])
            return call("read_more", result=found[3])
        return work(request)

    run, _ = go(grown(look.replace(effect="unsafe"), script))
    read = next(step for step in run.state.calls.steps if step.tool == "read_more")
    assert "of 1" in read.observation
    assert read.observation.count("fact") > 50


async def test_summaries_replace_what_they_cover_and_never_pile_up():
    seen: list[str] = []
    work = worker(80)

    def reply(request: Request) -> Any:
        if request.component == "compaction":
            seen.append(request_text(request))
            return f"SUMMARY {len(seen)}"
        return work(request)

    model = CountingModel(reply)
    run = Agent(model, [look], max_iterations=100, context_budget=3_000).start(QUESTION)
    await run
    assert len(seen) >= 3
    for number, text in enumerate(seen[1:], 1):
        assert f"SUMMARY {number}\n" in text + "\n", "the earlier summary goes into the later one"
    for request in model.requests:
        assert sum(isinstance(m, UserMessage) and m.kind == "summary" for m in request.messages) <= 1
    summary = next(m for m in model.requests[-1].messages if isinstance(m, UserMessage) and m.kind == "summary")
    assert f"SUMMARY {len(seen)}" in summary.content
    last = compactions(run)[-1]
    assert last.kept_messages == last.original_messages - len(last.covers) + 1
    assert run.state.messages()[1].calls[0].args["number"] == 1, "the transcript keeps everything"


async def test_large_steps_keep_the_prefix_for_many_rounds():
    model = CountingModel(worker(100))
    run = Agent(model, [look], max_iterations=120, context_budget=4_000).start(QUESTION)
    await run
    assert len(run.state.conversation.breaks) <= 100 / 8
    assert count(model.requests[-1]) < 4_000


async def test_a_summary_that_cannot_be_had_is_replaced_by_leaving_out():
    work = worker(40)

    def reply(request: Request) -> Any:
        return (
            TransientModelError("no summaries today", status=503)
            if request.component == "compaction"
            else work(request)
        )

    model = CountingModel(reply)
    run = None
    agent = Agent(model, [look], system="S", max_iterations=60, context_budget=2_000, retry=RetryPolicy(attempts=1))
    run = agent.start(QUESTION)
    result = await run
    assert result.answer == "the answer"
    check([request for request in model.requests if request.component == "loop"], 2_000)
    assert {event.reason for event in compactions(run)} == {"truncated"}
    summaries = [m for m in model.requests[-1].messages if isinstance(m, UserMessage) and m.kind == "summary"]
    assert len(summaries) == 1
    assert "earlier messages were left out" in summaries[0].content
    assert "look (" in summaries[0].content
    assert summaries[0].content.count("left out to save room") == 1, "markers are added up, not collected"


async def test_pins_over_half_the_limit_are_unpinned_but_the_newest_and_the_question():
    work = worker(40, lambda number: 200)
    rounds = 0

    def reply(request: Request) -> Any:
        nonlocal rounds
        if request.component == "loop":
            rounds += 1
            if rounds in (3, 5, 7):
                held[0].send(f"PIN {rounds} " + "please mind this too " * 60)
        return work(request)

    model = CountingModel(reply)
    held: list[Any] = []
    held.append(Agent(model, [look], system="S", max_iterations=60, context_budget=1_600).start(QUESTION))
    await held[0]
    events = compactions(held[0])
    assert [len(event.unpinned) for event in events if event.unpinned] == [2]
    pinned = [m for m in model.requests[-1].messages if isinstance(m, UserMessage) and m.pinned]
    assert [text_of(m.content)[:24] for m in pinned] == [QUESTION[:24], "[USER INTERRUPT]\nPIN 7 p"]
    check(model.requests, 1_600)


async def test_an_overflow_is_answered_by_one_compaction_to_half_and_one_retry():
    work = worker(40)
    limit = 2_000

    def reply(request: Request) -> Any:
        return ContextOverflowError("too long", status=400) if count(request) > limit else work(request)

    model = CountingModel(reply)  # no window in the profile: only the provider knows it
    run = Agent(model, [look], max_iterations=60).start(QUESTION)
    result = await run
    assert result.answer == "the answer"
    sizes = [count(request) for request in model.requests if request.component == "loop"]
    overflown = [index for index, size in enumerate(sizes) if size > limit]
    assert len(overflown) == 1, "the first overflow teaches the limit"
    assert sizes[overflown[0] + 1] <= sizes[overflown[0]] * 0.6
    assert result.metadata["attempts_failed"] == 1


def test_a_request_that_cannot_be_made_shorter_ends_with_the_error():
    model = ScriptedModel([ContextOverflowError("too long", status=400)], repeat_last=True)
    result = go(Agent(model, [echo], on_error="result").run("q"))
    assert result.stop_reason == "error"
    assert isinstance(result.error, ContextOverflowError)
    assert len(model.requests) <= 2


async def test_a_long_history_is_compacted_on_load():
    history = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"#{n}# " + "talk " * 150} for n in range(30)]
    model = CountingModel(lambda request: "SUMMARY" if request.component == "compaction" else "done", window=8_000)
    events: list[Any] = []
    events.extend(
        [event async for event in Agent(model, [echo], system="S", max_tokens=500).stream(QUESTION, history=history)]
    )
    found = [event for event in events if isinstance(event, ContextCompacted)]
    assert len(found) == 1
    assert found[0].original_messages == 31
    assert found[0].kept_messages < 20
    assert components(model) == ["compaction", "loop"]
    assert HINTS["general"] in request_text(model.requests[0])
    check(model.requests, 7_500)
    assert "#29#" in request_text(model.requests[1])


def test_the_loops_hint_is_react_iteration_and_the_words_can_be_replaced():
    model = CountingModel(worker(30))
    go(
        Agent(model, [look], max_iterations=60, context_budget=2_000, prompts={"context_summary": "KURZ! {hint}"}).run(
            QUESTION
        )
    )
    first = next(request for request in model.requests if request.component == "compaction")
    assert text_of(first.messages[-1].content).startswith(f"KURZ! {HINTS['react_iteration']}\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_summary_is_asked_for_as_the_next_message_of_the_same_request(dialect: str):
    """A provider that keeps prefixes has read all of it before, but for its last message."""
    model = CountingModel(worker(60, dialect=dialect), abilities={} if dialect == "native" else TEXT_ONLY)
    go(Agent(model, [look], dialect=dialect, max_iterations=80, context_budget=4_000).run(QUESTION))
    pairs = [(a, b) for a, b in pairwise(model.requests) if b.component == "compaction"]
    assert pairs
    for before, summary in pairs:
        *prefix, note = summary.messages
        assert prefix == list(before.messages)[: len(prefix)]
        assert summary.tools == before.tools
        assert isinstance(note, UserMessage)
        assert QUESTION in text_of(note.content)


@pytest.mark.parametrize("reply", [{"name": "look", "args": {"number": 1}}, ""], ids=["a call", "nothing"])
def test_a_model_that_goes_on_instead_is_asked_about_the_record_alone(reply: Any):
    work = worker(60)

    def answer(request: Request) -> Any:
        return reply if request.component == "compaction" and request.tools else work(request)

    model = CountingModel(answer)
    run = None

    async def main() -> Any:
        nonlocal run
        run = Agent(model, [look], max_iterations=80, context_budget=4_000).start(QUESTION)
        return await run

    assert go(main()).answer == "the answer"
    assert all("SUMMARY of the work" in event.summary for event in compactions(run) if event.reason == "compacted")
    assert [bool(r.tools) for r in model.requests if r.component == "compaction"][:2] == [True, False]


def test_without_a_known_window_nothing_happens():
    model = CountingModel(worker(60))
    result = go(Agent(model, [look], max_iterations=80).run(QUESTION))
    assert result.metadata["compactions"] == 0
    assert set(components(model)) == {"loop"}


def test_the_forced_answer_and_the_complete_answer_fit_too():
    for options in (
        {"max_iterations": 25},
        {"answer": "complete", "max_iterations": 40},
        {"answer": "synthesize", "max_iterations": 40},
    ):
        model = CountingModel(worker(30, lambda number: 1_500))
        result = go(Agent(model, [look], context_budget=3_000, **options).run(QUESTION))
        assert result.answer
        assert model.requests[-1].component in ("final", "complete", "synthesis")
        for request in model.requests:
            assert count(request) <= 3_000, (request.component, count(request))
            assert_paired(request.messages)


def test_the_cost_of_compaction_is_counted_on_its_own():
    model = CountingModel(worker(40))
    result = go(Agent(model, [look], max_iterations=60, context_budget=2_500).run(QUESTION))
    spent = result.metadata["components"]
    assert spent["compaction"]["calls"] == components(model).count("compaction") > 0
    assert spent["compaction"]["usage"].input_tokens == sum(
        count(r) for r in model.requests if r.component == "compaction"
    )
    assert result.usage.input_tokens == sum(count(request) for request in model.requests)


def test_a_long_message_with_an_image_keeps_the_image():
    history = [UserMessage((TextPart("talk " * 4_000), ImagePart(data="aGk="))), AssistantMessage("I see.")]
    model = CountingModel(lambda request: "done", window=6_000)
    go(Agent(model, [echo], max_tokens=500).run(QUESTION, history=history))
    first = model.requests[-1].messages[0].content
    assert [type(part) for part in first] == [TextPart, ImagePart]
    assert len(first[0].text) < 4_000
