"""How runs end: always with a reason, with the best answer there is."""

from __future__ import annotations

from typing import Any

import pytest

from engine.executions import finished, recorded, started
from kit import add, go
from treadle import Budget, ScriptedModel
from treadle._engine.answering.ends import conclude, end, finish, limit_reached, out_of_budget
from treadle._engine.core.execution import Execution
from treadle._engine.plugin import Plugin
from treadle._types import events as ev
from treadle._types.errors import BudgetExhaustedError, LimitError, MaxIterationsError, ModelError
from treadle._types.messages import AssistantMessage, ToolCall, UserMessage

ADD = ToolCall("c1", "add", {"a": 1, "b": 2})


async def ready(*args: Any, **options: Any) -> Execution:
    run = await started(*args, **options)
    run.partial_answer = lambda run: "so far"
    return run


# ---- concluding


class Before(Plugin):
    def __init__(self, verdict: Any, name: str = "judge") -> None:
        self.verdict, self.name = verdict, name

    async def before_finish(self, run: Any, answer: str) -> Any:
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict(answer) if callable(self.verdict) else self.verdict


async def test_plug_ins_improve_it_in_order_and_those_that_fail_have_no_say():
    plugins = [
        Before(lambda answer: answer + "!"),
        Before(ValueError()),
        Before(BudgetExhaustedError("x")),
        Before(lambda answer: answer + "?"),
    ]
    run = await ready(plugins=plugins)
    await conclude(run, "42", "answer")
    assert finished(run).answer == "42!?"


async def test_a_message_sends_the_loop_on_while_there_are_iterations_left():
    for limit, ends in ((2, False), (1, True)):
        run = await ready(plugins=[Before(UserMessage("are you sure?", kind="note"))], max_iterations=limit)
        await run.emit(ev.ThinkDone("loop", 1, AssistantMessage("42"), answer="42"))
        await conclude(run, "42", "answer")
        assert (run.state.finished is not None) is ends
        if not ends:
            assert recorded(run, ev.MessageAdded)[0].component == "judge"


async def test_a_limit_that_a_plug_in_sets_is_passed_on():
    run = await ready(plugins=[Before(LimitError("enough"))])
    with pytest.raises(LimitError):
        await conclude(run, "42", "answer")


async def test_who_was_told_to_answer_is_stuck_though_it_has_answered():
    run = await ready()
    await run.emit(ev.AnswerOnly("looping"))
    await conclude(run, "42", "answer")
    assert (finished(run).stop_reason, finished(run).success) == ("stuck", False)


# ---- finishing


async def test_what_the_model_says_about_its_own_success_counts():
    run = await ready()
    await run.emit(ev.ThinkDone("loop", 1, AssistantMessage("x"), answer="x", task_successful=False))
    await finish(run, "x", "answer")
    assert (finished(run).success, finished(run).task_successful) == (False, False)


async def test_an_answer_that_is_in_the_log_is_not_written_again():
    run = await ready(ScriptedModel([]), answer="synthesize")
    await run.emit(ev.AnswerStarted("synthesis"), ev.AnswerDone("The long answer.", "synthesis"))
    await finish(run, "short", "answer")
    assert (finished(run).answer, finished(run).brief) == ("The long answer.", "short")


@pytest.mark.parametrize(
    ("reason", "source"), [("answer", "loop"), ("final_tool", "tool"), ("error", "error"), ("limit", "loop")]
)
async def test_the_record_says_where_an_answer_comes_from(reason: Any, source: str):
    run = await ready()
    await finish(run, "x", reason)
    assert recorded(run, ev.AnswerDone)[0].source == source


class Polish(Plugin):
    async def on_answer(self, run: Any, answer: str) -> str:
        return answer.upper()


async def test_plug_ins_polish_answers_but_not_reports_of_errors():
    for reason, text in (("answer", "FINE"), ("error", "fine")):
        run = await ready(plugins=[Polish()])
        await finish(run, "fine", reason)  # type: ignore[arg-type]
        assert finished(run).answer == text


def test_plug_ins_see_the_result_before_it_is_recorded_and_cannot_keep_it_from_being():
    seen: list[Any] = []

    class Last(Plugin):
        async def on_end(self, run: Any, result: Any) -> None:
            seen.append((result.answer, run.state.finished))
            raise LimitError("no room for my notes")

    async def main() -> None:
        run = await ready(plugins=[Last()])
        await end(run, ev.RunFinished("answer", "42"))
        assert finished(run).answer == "42"

    go(main())
    assert seen == [("42", None)]


# ---- limits


@pytest.mark.parametrize(
    ("settings", "script", "answer"),
    [
        ({"on_limit": "fallback"}, [], "so far"),
        ({"on_limit": "force_answer"}, ["best guess"], "best guess"),
        ({"on_limit": "force_answer"}, [ModelError("busy")], "so far"),
        ({"on_limit": "force_answer"}, [""], "so far"),
        ({"on_limit": "salvage"}, [], "so far"),
        ({"on_limit": "salvage", "summarize_progress": True}, ["what was tried"], "what was tried"),
        ({"on_limit": "salvage", "summarize_progress": True}, [ModelError("busy")], "so far"),
    ],
    ids=["fallback", "forced", "forced fails", "forced is empty", "salvage", "summary", "summary fails"],
)
async def test_at_the_limit_the_setting_says_what_the_user_gets(settings: Any, script: list[Any], answer: str):
    run = await ready(ScriptedModel(script), [add], **settings)
    await limit_reached(run)
    assert (finished(run).answer, finished(run).stop_reason, finished(run).success) == (answer, "limit", False)
    assert isinstance(run.ending.error, MaxIterationsError)
    assert run.ending.raises is None


async def test_out_of_budget_every_call_is_answered_first():
    error = BudgetExhaustedError("used up")
    run = await ready(
        ScriptedModel(["in short: 3"]), [add], calls=[ADD], on_budget="force_answer", budget=Budget(requests=9)
    )
    await out_of_budget(run, error)
    assert run.state.calls.open == {}
    assert (finished(run).answer, finished(run).stop_reason) == ("in short: 3", "budget")
    assert error.metadata["dialect"] == "native"
    raising = await ready(ScriptedModel([]), [add], calls=[ADD], budget=Budget(requests=9))
    await out_of_budget(raising, error)
    assert raising.ending.raises is error
    assert finished(raising).answer == "so far"


async def test_a_message_that_arrived_meanwhile_is_answered_first():
    run = await ready()
    run.inbox.send("and in euros?")
    await conclude(run, "42", "answer")
    assert run.state.finished is None
    assert len(recorded(run, ev.Injected)) == 1
