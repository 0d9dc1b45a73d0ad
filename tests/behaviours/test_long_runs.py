"""Context, loops, citations and thinking aids: one test for each behaviour. More of them are in tests/plugins."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kit import assert_paired, call, echo, go, user_texts
from plugins.aids import run_of
from plugins.scenes import CountingModel, components, count, request_text, structured
from treadle import Agent, ScriptedModel, tool
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.memory.citations import Citations
from treadle._plugins.memory.plugin import Memory
from treadle._plugins.memory.store import MemoryStore
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.observer import Observer
from treadle._plugins.thinking.planner import Planner
from treadle._plugins.thinking.reflection import Reflection
from treadle._plugins.thinking.rewrite import QuestionRewrite
from treadle._types.errors import ContextOverflowError
from treadle._types.events import ContextCompacted, Observed, PlanChanged
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.request import Request, ToolSchema

QUESTION = "What is it?"


@tool(effect="pure")
async def look(number: int, size: int = 400) -> str:
    """Look something up."""
    return f"fact {number} " + "x" * size


def worker(steps: int, **advisers: Any) -> Any:
    made = 0

    def reply(request: Request) -> Any:
        nonlocal made
        if request.component in advisers:
            given = advisers[request.component]
            return given(request) if callable(given) else given
        if request.component != "loop":
            return f"{request.component}: so it is"
        made += 1
        return call("look", number=made) if made <= steps else "done"

    return reply


def history(count: int) -> list[dict[str, str]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": f"turn {n}"} for n in range(count)]


@pytest.mark.parametrize(("messages", "rewritten"), [(2, False), (3, True)])
def test_the_question_is_rewritten_to_stand_alone(messages: int, rewritten: bool):
    model = ScriptedModel(worker(0, rewrite="a question that stands alone"))
    run_of(Agent(model, [look], plugins=[QuestionRewrite()]), history=history(messages))
    assert components(model) == (["rewrite", "loop"] if rewritten else ["loop"])
    assert ("a question that stands alone" in request_text(model.requests[-1])) is rewritten
    failing = ScriptedModel(worker(0, rewrite=ContextOverflowError("no", status=400)))
    result, _ = run_of(Agent(failing, [look], plugins=[QuestionRewrite()]), history=history(messages))
    assert result.answer == "done"
    assert user_texts(failing.requests[-1].messages)[-1] == QUESTION


def test_the_same_call_over_and_over_ends_as_stuck():
    model = ScriptedModel([call("look", number=1)], repeat_last=True)
    result, _ = run_of(Agent(model, [look]))
    assert (result.stop_reason, result.success) == ("stuck", False)
    assert "look" in result.answer
    assert len(model.requests) <= 11
    assert set(components(model)) == {"loop"}
    assert any("nothing new" in text for text in user_texts(model.requests[4].messages))


def test_citations_exist_and_are_resolved():
    @tool
    async def search(query: str) -> Any:
        """Search."""
        return {"query": query, "chunks": [{"id": 5, "document": "a.md", "position": 2, "text": "It rains."}]}

    model = ScriptedModel([call("search", query="rain"), "It rains [ID:5]. It snows [ID:6]."])
    result, _ = run_of(Agent(model, [search], plugins=[Citations()]))
    assert result.answer == "It rains [ID:5]. It snows."
    report = result.metadata["reports"]["citations"]
    assert [(cited["id"], cited["document"], cited["position"], cited["chunk"]) for cited in report["cited"]] == [
        (5, "a.md", 2, 5)
    ]
    assert report["removed"] == ["6"]


def test_messages_are_cut_then_compacted_and_the_latest_four_stay():
    model = CountingModel(worker(60))
    result, run = run_of(Agent(model, [look], max_iterations=80, context_budget=3_000))
    assert result.answer == "done"
    assert components(model).count("compaction") >= 1
    assert all(count(request) <= 3_000 for request in model.requests)
    for request in model.requests:
        assert_paired(request.messages)
    for before, after in pairwise(request for request in model.requests if request.component == "loop"):
        tail = [m for m in before.messages if isinstance(m, AssistantMessage | ToolMessage)][-3:]
        assert all(message in after.messages for message in tail)  # and the result that has come is the fourth
    assert {record.event.reason for record in run.records if isinstance(record.event, ContextCompacted)} == {
        "compacted"
    }


async def test_pins_survive_in_order_and_the_question_always():
    work = worker(60)
    sent = False

    def reply(request: Request) -> Any:
        nonlocal sent
        if request.component == "loop" and len(model.requests) > 5 and not sent:
            sent = True
            held[0].send("and in euros, please")
        return work(request)

    model = CountingModel(reply)
    held: list[Any] = []
    held.append(Agent(model, [look], max_iterations=90, context_budget=2_500).start(QUESTION))
    await held[0]
    pinned = [text_of(m.content) for m in model.requests[-1].messages if isinstance(m, UserMessage) and m.pinned]
    assert pinned == [QUESTION, "[USER INTERRUPT]\nand in euros, please"]


def test_trimming_keeps_the_prompt_and_whole_groups():
    model = CountingModel(worker(40))
    run_of(Agent(model, [look], system="S", max_iterations=60, max_history_messages=10))
    for request in model.requests:
        assert isinstance(request.messages[0], SystemMessage)
        assert QUESTION in user_texts(request.messages)
        assert_paired(request.messages)
        assert len(request.messages) <= 10 + 3
    assert min(len(request.messages) for request in model.requests[10:]) >= 10, "no more than is needed"


def test_the_estimate_counts_everything_and_learns():
    from treadle._engine.requests.estimate import Estimator, size_of
    from treadle._types.usage import Usage

    assert size_of(AssistantMessage("", (ToolCall("1", "t", {"a": "y" * 900}),))) > 900
    assert size_of(UserMessage((TextPart("a"), ImagePart(url="u")))) > 1_000
    estimator = Estimator()
    messages: list[Any] = [UserMessage("word " * 1_000)]
    plain = Request(messages=messages)
    with_tool = Request(messages=messages, tools=(ToolSchema("t", "d" * 900, {"type": "object"}),))
    assert estimator.tokens(with_tool) > estimator.tokens(plain) + 200
    estimator.learn(plain, Usage(input_tokens=1_000))
    assert estimator.tokens(plain) == pytest.approx(1_000, abs=10)
    messages.append(UserMessage("more " * 100))
    assert 1_090 < estimator.tokens(plain) < 1_250


def test_an_overflow_is_one_compaction_and_one_retry():
    work = worker(50)
    model = CountingModel(
        lambda request: ContextOverflowError("long", status=400) if count(request) > 2_500 else work(request)
    )
    result, _ = run_of(Agent(model, [look], max_iterations=70))
    assert result.answer == "done"
    assert result.metadata["attempts_failed"] == 1


def test_requests_extend_each_other_between_declared_breaks():
    plan = {"steps": [{"text": "look", "done": False}]}
    model = CountingModel(worker(40, planner=lambda request: structured(request, plan)))
    result, run = run_of(
        Agent(model, [look], max_iterations=60, context_budget=3_000, plugins=[Planner(), Reflection()])
    )
    assert result.answer == "done"
    assert prefix_breaks(model.requests, run.records) == []
    assert 1 <= len(run.state.conversation.breaks) <= 10
    assert "cached_share" in result.metadata


def test_the_task_is_analysed_before_the_loop():
    model = ScriptedModel(worker(1))
    run_of(Agent(model, [look], plugins=[TaskAnalysis()]))
    assert components(model) == ["analysis", "loop", "loop"]
    assert "analysis: so it is" in request_text(model.requests[1])


def test_reflection_after_each_rounds_results():
    model = ScriptedModel(worker(2))
    run_of(Agent(model, [look], plugins=[Reflection()]))
    assert components(model) == ["loop", "reflection", "loop", "reflection", "loop"]
    assert "reflection: so it is" in request_text(model.requests[2])


def test_the_plan_is_made_shown_and_kept_up_to_date():
    def planner(request: Request) -> Any:
        done = components(model).count("loop")
        return structured(request, {"steps": [{"text": f"step {n}", "done": n <= done} for n in (1, 2)]})

    model = ScriptedModel(worker(1, planner=planner))
    _, run = run_of(Agent(model, [look], plugins=[Planner()]))
    assert components(model) == ["planner", "loop", "planner", "loop", "planner", "planner"]
    assert "[ ] 1. step 1" in request_text(model.requests[1])
    assert "[x] 1. step 1" in request_text(model.requests[3])
    assert len([record for record in run.records if isinstance(record.event, PlanChanged)]) == 4
    assert all(step.done for step in run.state.plan)


def test_the_observer_from_iteration_two_every_three_after_a_correction():
    def observer(request: Request) -> Any:
        return structured(
            request,
            {"is_progressing": False, "is_in_loop": True, "reasoning": "r", "correction_message": "Turn round."},
        )

    model = ScriptedModel(worker(7, observer=observer))
    _, run = run_of(Agent(model, [look, echo], plugins=[Observer()]))
    assert [record.event.iteration for record in run.records if isinstance(record.event, Observed)] == [3, 6]
    assert user_texts(model.requests[-1].messages).count("Turn round.\nTools: echo, look.") == 2


def test_memory_is_persistent_and_per_user(tmp_path: Path):
    store = tmp_path / "memory.db"
    go(Agent(ScriptedModel(worker(1)), [look], plugins=[Memory(MemoryStore(store))]).run(QUESTION, user="ann"))
    for user, knows in (("ann", True), ("bob", False)):
        model = ScriptedModel(worker(0, memory_rank=lambda request: structured(request, {"ranking": [0]})))
        go(Agent(model, [look], plugins=[Memory(MemoryStore(store))]).run(QUESTION, user=user))
        assert ("memory_summary: so it is" in request_text(model.requests[-1])) is knows
