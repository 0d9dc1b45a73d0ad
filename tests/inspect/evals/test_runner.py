"""Tasks run as ordinary runs, in parallel, bounded in time, and are checked when they end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from kit import call, go
from treadle import ScriptedModel, Tool, tool
from treadle._inspect.evals.checks import Check, ToolsCalled
from treadle._inspect.evals.runner import Variant, run_tasks, select_tasks
from treadle._inspect.evals.tasks import Task, TaskSet
from treadle._inspect.evals.tasks import task_set as make_task_set
from treadle._journal import open_journal
from treadle._types.errors import RequestRefusedError


def task(
    name: str,
    *,
    kind: str = "k",
    check: Check | None = None,
    split: Any = "dev",
    tools: tuple[str, ...] = ("double",),
) -> Task:
    return Task(name, kind, f"question {name}", check or Check(answer_contains="right"), tools, split)


@tool(effect="pure")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def make_desk() -> list[Tool]:
    """An order desk that fails on its first call."""
    calls = 0

    @tool
    def order_desk() -> str:
        """The state of the order."""
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("busy: call again")
        return "shipped"

    return [order_desk]


def task_set(*tasks: Task) -> TaskSet:
    return make_task_set("mine", tasks, [double, make_desk])


def test_every_task_runs_with_every_variant_and_every_repeat():
    tasks = task_set(task("a"), task("b"))
    variants = [Variant("good", ScriptedModel(lambda _: "right")), Variant("bad", ScriptedModel(lambda _: "wrong"))]
    seen: list[str] = []
    trials = go(run_tasks(tasks, variants, repeats=2, on_trial=lambda trial: seen.append(trial.variant)))
    assert [(trial.variant, trial.task, trial.repeat, trial.passed) for trial in trials] == [
        (label, name, repeat, label == "good") for label in ("good", "bad") for repeat in (0, 1) for name in ("a", "b")
    ]
    assert len(seen) == 8
    assert len({trial.run_id for trial in trials}) == 8
    assert trials[4].problems == ("the answer lacks 'right'",)


async def test_each_run_is_in_the_journal_under_its_id(tmp_path: Path):
    journal = open_journal(tmp_path / "j.db")
    model = ScriptedModel([call("double", number=1), "right: 2"])
    (trial,) = await run_tasks(task_set(task("a")), [Variant("v", model, {"max_iterations": 5})], journal=journal)
    records = await journal.load(trial.run_id)
    started: Any = records[0].event
    assert (started.question, started.agent, started.settings["max_iterations"]) == ("question a", "eval mine", 5)
    assert (trial.calls, trial.dialect, trial.stop_reason, trial.passed) == (
        ("double",),
        "native",
        "answer",
        True,
    )
    assert trial.usage.requests == 2
    await journal.aclose()


def test_a_failing_model_fails_its_task_and_the_others_still_run():
    model = ScriptedModel([RequestRefusedError("no credit", status=402), "right"])
    first, second = go(run_tasks(task_set(task("a"), task("b")), [Variant("v", model)]))
    assert not first.passed
    assert first.problems[0] == "the run ended with error: no credit"
    assert second.passed
    raising = ScriptedModel([RequestRefusedError("no credit", status=402)])
    (trial,) = go(run_tasks(task_set(task("a")), [Variant("v", raising, preset="strict")]))
    assert (trial.passed, trial.stop_reason) == (False, "error")
    assert "no credit" in trial.problems[0]


def test_a_run_that_ended_with_an_error_does_not_pass():
    check = Check(tools_called=ToolsCalled(none=True))
    (trial,) = go(
        run_tasks(
            task_set(task("a", check=check)), [Variant("v", ScriptedModel([RequestRefusedError("x", status=400)]))]
        )
    )
    assert not trial.passed


def test_a_run_that_waits_for_approval_is_not_solved():
    @tool(approval="ask")
    def send() -> str:
        """Send it."""
        return "sent"

    tasks = make_task_set("mine", [task("a", tools=("send",))], [send])
    (trial,) = go(run_tasks(tasks, [Variant("v", ScriptedModel([call("send")]))]))
    assert (trial.passed, trial.stop_reason) == (False, "paused")
    assert trial.problems[0] == "the run waits for approval of a call, and nobody approves calls during an evaluation"


def test_a_run_that_takes_too_long_is_stopped():
    class Silent(ScriptedModel):
        async def stream(self, request: Any):
            await asyncio.Event().wait()
            yield  # pragma: no cover

    (trial,) = go(run_tasks(task_set(task("a")), [Variant("v", Silent())], task_seconds=0.05))
    assert not trial.passed
    assert (trial.problems[0], trial.stop_reason) == ("stopped after 0.05 s", "cancelled")


def test_parallel_is_bounded_and_runs_do_not_share_tools():
    running = most = 0
    three_at_once = asyncio.Event()

    class Counting(ScriptedModel):
        async def stream(self, request: Any):
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 3:
                three_at_once.set()
            await three_at_once.wait()
            async for part in super().stream(request):
                yield part
            running -= 1

    def reply(request: Any) -> Any:
        results = [message for message in request.messages if type(message).__name__ == "ToolMessage"]
        return call("order_desk") if len(results) < 2 else f"right: {results[1].content}"

    check = Check(answer_contains=("right", "shipped"), tools_called=ToolsCalled(exact={"order_desk": 2}))
    tasks = task_set(*(task(f"t{number}", check=check, tools=("order_desk",)) for number in range(6)))
    trials = go(run_tasks(tasks, [Variant("v", Counting(reply))], parallel=3))
    assert most == 3
    assert all(trial.passed for trial in trials), trials


def test_selecting_tasks():
    names = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c")]
    tasks = task_set(*(task(name, kind=kind, split="held" if name == "a2" else "dev") for name, kind in names))
    assert [t.id for t in select_tasks(tasks, limit=4).tasks] == ["a1", "a2", "b1", "c1"]
    assert [t.id for t in select_tasks(tasks, limit=99).tasks] == ["a1", "a2", "a3", "b1", "c1"]
    assert [t.id for t in select_tasks(tasks, split="held").tasks] == ["a2"]
    assert [t.id for t in select_tasks(tasks, kinds=["b", "c"]).tasks] == ["b1", "c1"]


def test_a_trial_can_be_written_and_read():
    (trial,) = go(run_tasks(task_set(task("a")), [Variant("v", ScriptedModel(["right"]))]))
    assert msgspec.json.decode(msgspec.json.encode(trial), type=type(trial)) == trial
