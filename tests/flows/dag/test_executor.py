"""Running a plan: as much at once as its dependencies and the settings allow, each step with an outcome."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.executions import execution, recorded, started
from kit import call, echo
from treadle import Agent, ScriptedModel, tool
from treadle._flows.dag.executor import Executed, StepRunner, execute
from treadle._flows.dag.plan import DagStep, Plan
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import ModelError
from virtual_time import go_virtual


@tool(timeout=None, effect="pure")
async def nap() -> str:
    """Take a second."""
    await asyncio.sleep(1)
    return "slept"


def sleeper(request: Any) -> Any:
    return "awake" if "slept" in str(request.messages[-1]) else call("nap")


def runner(
    script: Any, *, at_once: int = 5, timeout: float = 600.0, tokens: int = 2_000, tools: Any = (echo, nap)
) -> StepRunner:
    return StepRunner(lambda step: Agent(ScriptedModel(script), tools, name=step.id), at_once, timeout, tokens)


def answering(request: Any) -> str:
    return f"did: {request.messages[-1].content}"


def plan(**steps: str) -> Plan:
    """`plan(a="", b="a", c="a b")`: each step and what it depends on."""
    return Plan(tuple(DagStep(name, f"do {name}", tuple(needs.split())) for name, needs in steps.items()))


async def executed(run: Any, steps: Plan, how: StepRunner) -> Executed:
    return await execute(how, run, steps, 1)


@pytest.mark.parametrize(
    ("steps", "at_once", "seconds"),
    [
        ({"a": "", "b": "", "c": ""}, 5, 1),
        ({"a": "", "b": "a", "c": "b"}, 5, 3),
        ({"a": "", "b": "a", "c": "a", "d": "b c"}, 5, 3),
        ({"a": "", "b": "", "c": "", "d": ""}, 2, 2),
        ({"a": "", "b": "", "c": ""}, 1, 3),
    ],
    ids=["independent", "chain", "diamond", "two at a time", "one at a time"],
)
def test_a_plan_takes_the_time_of_its_critical_path(steps: dict[str, str], at_once: int, seconds: float):
    async def main() -> None:
        done = await executed(await started(), plan(**steps), runner(sleeper, at_once=at_once))
        assert {name: step.status for name, step in done.done.items()} == dict.fromkeys(steps, "completed")

    assert go_virtual(main())[1] == pytest.approx(seconds)


async def test_a_step_sees_its_task_and_the_results_it_depends_on():
    run = await started()
    done = (await executed(run, plan(a="", b="", c="a"), runner(answering))).done
    assert done["a"].result == "did: do a"
    assert done["c"].result == "did: do c\n\nResults of the steps this one depends on:\n\n[a]\ndid: do a"
    begun = {event.step: event for event in recorded(run, ev.StepStarted)}
    assert (begun["a"].run, begun["a"].task, begun["a"].round) == ("run.1.a", "do a", 1)
    assert [event.step for event in recorded(run, ev.StepDone)] == ["a", "b", "c"]


async def test_references_are_replaced_before_the_step_is_asked():
    steps = Plan((DagStep("a", "find"), DagStep("b", "double $a.n", ("a",))))
    done = await executed(
        await started(), steps, runner(lambda r: '{"n": 21}' if "find" in str(r.messages) else answering(r))
    )
    assert done.done["b"].result.startswith("did: double 21")


async def test_a_failure_skips_what_depends_on_it_and_nothing_else():
    def script(request: Any) -> Any:
        return ModelError("broke") if "do a" in str(request.messages[-1]) else answering(request)

    run = await started()
    done = (await executed(run, plan(a="", b="a", c="b", d=""), runner(script))).done
    assert {name: step.status for name, step in done.items()} == {
        "a": "failed", "b": "skipped", "c": "skipped", "d": "completed",
    }  # fmt: skip
    assert done["c"].error == "depends on b"
    assert "broke" in done["a"].error
    assert [event.step for event in recorded(run, ev.StepStarted)] == ["a", "d"]


async def test_the_same_work_on_the_same_inputs_is_not_done_again():
    journal = MemoryJournal()
    first = await started(journal=journal)
    await executed(first, plan(a="", b="a"), runner(answering))
    again = execution(journal=journal, records=await journal.load("run"))
    silent = runner([])
    renamed = Plan((DagStep("other", "do a"), DagStep("b", "do b", ("other",))))
    done = (await execute(silent, again, renamed, 2)).done
    assert {name: step.status for name, step in done.items()} == {"other": "reused", "b": "reused"}
    assert done["other"].result == "did: do a"


async def test_work_that_failed_is_tried_again():
    run = await started()
    await executed(run, plan(a=""), runner([ModelError("broke")]))
    done = (await execute(runner(answering), run, plan(a=""), 2)).done
    assert done["a"].status == "completed"


async def test_results_too_long_for_a_step_are_shortened_for_it():
    def script(request: Any) -> Any:
        return "long " * 5_000 if "do a" in str(request.messages[-1])[:60] else f"{len(str(request.messages[-1]))}"

    run = await started(ScriptedModel(["in short"], repeat_last=True))
    done = (await executed(run, plan(a="", b="a"), runner(script, tokens=100))).done
    assert len(done["a"].result) > 20_000
    assert int(done["b"].result) < 5_000
