"""One turn: it looks at the state only, and does the one thing that is due."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from engine.executions import execution, finished, recorded, started
from kit import add, call, echo, go
from treadle import Agent, ScriptedModel
from treadle._dialects.base import Decision
from treadle._dialects.code import CodeDialect
from treadle._dialects.registry import add_dialect
from treadle._engine.answering.progress import progress
from treadle._engine.core.execution import Execution
from treadle._engine.loop.turn import read, turn
from treadle._engine.plugin import Plugin
from treadle._engine.settings import RepairPolicy
from treadle._safety.beside import LONG
from treadle._types import events as ev
from treadle._types.errors import ContextOverflowError, ModelError, RequestRefusedError
from treadle._types.messages import AssistantMessage, ToolCall, UserMessage
from treadle._types.request import RawCall, Reply, ToolSchema
from virtual_time import go_virtual

ADD = ToolCall("c1", "add", {"a": 1, "b": 2})
TEXT_ONLY = {"tool_call": False, "json_schema": False}


async def ready(*args: Any, **options: Any) -> Execution:
    """One that a driver would have put to work."""
    run = await started(*args, **options)
    run.partial_answer = lambda run: progress(run.state)
    return run


# ---- what is due


async def test_then_a_final_result_or_a_proposed_answer_is_concluded_with():
    for events, reason in (
        ([ev.ThinkDone("loop", 1, AssistantMessage("42"), answer="42")], "answer"),
        (
            [ev.ThinkDone("loop", 1, AssistantMessage("", (ADD,))), ev.ToolDone("c1", "add", 1, "42", final=True)],
            "final_tool",
        ),
    ):
        run = await ready(ScriptedModel([]), [add])
        await run.emit(*events)
        await turn(run)
        assert (finished(run).answer, finished(run).stop_reason) == ("42", reason)


async def test_a_final_result_that_was_cut_for_the_model_is_the_answer_in_full():
    run = await ready(ScriptedModel([]), [add], calls=[ADD])
    await run.emit(ev.ToolDone("c1", "add", 1, "sh...", full="short and long", final=True))
    await turn(run)
    assert finished(run).answer == "short and long"


def test_rounds_are_reviewed_once_also_when_the_model_has_to_be_asked_twice():
    reviewed: list[int] = []

    class Reviewer(Plugin):
        async def after_round(self, run: Any) -> None:
            reviewed.append(len(run.state.steps))

    async def main() -> None:
        model = ScriptedModel([RequestRefusedError("tools are not supported", status=400), "done"])
        run = await ready(model, [add], plugins=[Reviewer()], calls=[ADD])
        await turn(run)
        await turn(run)  # refused: another dialect is tried
        await turn(run)
        assert reviewed == [1]

    go(main())


# ---- reading replies


def decision(reply: Reply, **options: Any) -> Any:
    run = execution(options.pop("model", None), [add, echo], **options)
    return read(run, reply, 4)


def test_calls_keep_ids_that_are_new_and_get_one_where_they_are_not():
    run = execution(tools=[add])
    run.calls.used_ids.add("old")
    asked = ("new", "old", "", "new")
    given: list[str] = []
    for _ in range(3):
        reply = Reply(calls=tuple(RawCall(call_id, "add", "{}") for call_id in asked), finish="calls")
        given += [one.id for one in read(run, reply, 4).calls]
    assert given[0] == "new"
    assert len(set(given)) == 12
    assert not {"old", ""} & set(given)


def test_what_cannot_be_read_decides_nothing():
    model = ScriptedModel([], abilities=TEXT_ONLY)
    found = decision(Reply('{"type": "tool_call"}'), model=model, dialect="json")
    assert found.problem
    assert (found.calls, found.answer) == ((), None)


@pytest.mark.parametrize("text", ["I had better look it up", ""])
def test_who_has_to_answer_may_not_call_and_what_is_said_beside_it_is_a_thought(text: str):
    run = execution(tools=[add])
    run.state.constraints.answer_only = "the budget is used up"
    found = read(run, Reply(text, calls=(RawCall("c", "add", "{}"),)), 1)
    assert (found.calls, found.answer, found.problem) == ((), None, "an answer was wanted, not a tool call")


# ---- unreadable replies


def unreadable(count: int, text: str = "It is 3.") -> list[ev.ThinkDone]:
    return [ev.ThinkDone("loop", n + 1, AssistantMessage(text), problem="it is not JSON") for n in range(count)]


async def test_after_as_many_as_are_allowed_its_words_are_the_unsuccessful_answer():
    for text, answer, reason in (("It is 3.", "It is 3.", "answer"), ('{"reasoning": "SECRET', "", "empty")):
        run = await ready(ScriptedModel([], abilities=TEXT_ONLY), [add], repair=RepairPolicy(max_parse=1))
        await run.emit(*unreadable(2, text))
        await turn(run)
        end = run.state.finished
        assert end is not None
        assert (end.answer, end.stop_reason, end.success) == (answer, reason, False)


async def test_who_has_to_answer_and_cannot_be_read_is_stuck():
    run = await ready(ScriptedModel([], abilities=TEXT_ONLY), [add], repair=RepairPolicy(max_parse=0))
    await run.emit(ev.AnswerOnly("looping"), *unreadable(1))
    await turn(run)
    assert finished(run).stop_reason == "stuck"


async def test_a_repair_counts_as_an_iteration_unless_the_policy_says_otherwise():
    run = await ready(ScriptedModel([], abilities=TEXT_ONLY), [add], max_iterations=1, on_limit="fallback")
    await run.emit(*unreadable(1))
    await turn(run)
    assert finished(run).stop_reason == "limit"
    policy = RepairPolicy(counts_as_iteration=False)
    readable = '{"type": "final_answer", "answer": "fine"}'
    free = await ready(ScriptedModel([readable], abilities=TEXT_ONLY), [add], max_iterations=1, repair=policy)
    await free.emit(*unreadable(1))
    await turn(free)
    assert (free.state.answer.candidate, free.state.iteration) == ("fine", 1)


def test_a_repair_of_its_own_waits_a_little_longer_each_time():
    async def main() -> None:
        policy = RepairPolicy(separate_call=True, backoff=2.0)
        run = await ready(ScriptedModel(["{", "fine"], abilities=TEXT_ONLY), [add], repair=policy, dialect="json")
        await run.emit(*unreadable(2))
        await turn(run)
        assert [event.component for event in recorded(run, ev.ThinkStarted)] == ["repair"]

    assert go_virtual(main())[1] == pytest.approx(4.0)


async def test_native_calls_that_cannot_be_read_twice_lead_to_a_dialect_that_asks_less():
    run = await ready(ScriptedModel([]), [add])
    await run.emit(*unreadable(2))
    await turn(run)
    assert run.current.dialect.name != "native"
    chosen = await ready(ScriptedModel([]), [add], dialect="native")
    await chosen.emit(*unreadable(2))
    await turn(chosen)
    assert chosen.current.dialect.name == "native"


# ---- failed calls


def failed(name: str = "add") -> list[Any]:
    return [
        ev.ThinkDone("loop", 1, AssistantMessage("", (ToolCall("c1", name),))),
        ev.ToolDone("c1", name, 1, "no such thing", error="exception"),
    ]


async def test_a_failed_call_is_given_back_for_repair_where_the_policy_says_so():
    model = ScriptedModel([[call("add", a=1, b=2)]])
    run = await ready(model, [add], repair=RepairPolicy(max_tool=1), prompts={"repair_call": "FIX {tool}"})
    await run.emit(*failed())
    await turn(run)
    assert model.requests[-1].messages[-1] == UserMessage("FIX add", kind="reformat")
    assert [event.component for event in recorded(run, ev.ThinkStarted)] == ["repair"]
    assert run.state.iteration == 1


@pytest.mark.parametrize(("policy", "rounds"), [(RepairPolicy(), 1), (RepairPolicy(max_tool=1), 2)])
async def test_otherwise_the_loop_goes_on(policy: RepairPolicy, rounds: int):
    run = await ready(ScriptedModel(["done"]), [add], repair=policy)
    for _ in range(rounds):
        await run.emit(*failed())
    await turn(run)
    assert [event.component for event in recorded(run, ev.ThinkStarted)] == ["loop"]


# ---- a model that fails for good


class Smaller(Plugin):
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def on_overflow(self, run: Any, error: ContextOverflowError) -> bool:
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


async def test_a_request_that_is_too_long_is_made_smaller_once():
    too_long = ContextOverflowError("too long", status=400)
    run = await ready(
        ScriptedModel([too_long, too_long]), [add], plugins=[Smaller(ModelError("busy")), Smaller(True, True)]
    )
    await turn(run)
    assert run.state.finished is None
    assert run.overflows == 1
    await turn(run)
    assert finished(run).error_type == "ContextOverflowError"


async def test_when_nobody_can_make_it_smaller_the_next_model_is_taken():
    too_long = ContextOverflowError("too long", status=400)
    run = await ready(
        ScriptedModel([too_long]), [add], plugins=[Smaller(False)], fallbacks=[ScriptedModel([], name="big")]
    )
    await turn(run)
    assert run.current.model.name == "big"


@pytest.mark.parametrize(("text", "status"), [("tools are not supported", 400), ("unknown field: functions", 422)])
async def test_a_provider_without_native_tools_is_spoken_to_in_text(text: str, status: int):
    run = await ready(ScriptedModel([RequestRefusedError(text, status=status), "fine"]), [add])
    await turn(run)
    assert run.current.dialect.name != "native"
    await turn(run)
    assert run.state.iteration == 1


@pytest.mark.parametrize(
    "error",
    [RequestRefusedError("no credit", status=402), RequestRefusedError("tools?", status=403), ModelError("tool")],
)
async def test_any_other_refusal_ends_the_run(error: ModelError):
    run = await ready(ScriptedModel([error]), [add])
    await turn(run)
    assert (finished(run).stop_reason, run.current.dialect.name) == ("error", "native")


class ReadWhere(CodeDialect, frozen=True):
    """Notes in which thread it reads."""

    name: ClassVar[str] = "read_where"
    threads: ClassVar[list[threading.Thread]] = []

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        self.threads.append(threading.current_thread())
        return super().decode(reply, tools)


@pytest.mark.parametrize(("size", "here"), [(10, True), (LONG, False)])
async def test_a_long_reply_is_read_beside_the_event_loop(size: int, here: bool):
    add_dialect(ReadWhere())  # pyright: ignore[reportArgumentType] - frozen, like every dialect
    ReadWhere.threads.clear()
    result = await Agent(ScriptedModel(["x" * size]), [add], dialect="read_where").run("?")
    assert len(result.answer) == size
    assert (ReadWhere.threads[0] is threading.current_thread()) is here
