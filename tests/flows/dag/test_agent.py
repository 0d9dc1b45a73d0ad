"""The DAG agent: rounds of planning, working and judging, and where each of them ends."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, echo, go
from treadle import DagAgent, ScriptedModel
from treadle._flows.dag.agent import MAX_FREE_REPLANS
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev


def step(name: str, task: str = "", *needs: str) -> dict[str, Any]:
    return {"id": name, "task": task or f"do {name}", "dependencies": list(needs)}


def verdict(
    achieved: bool = True, confidence: float = 0.9, answer: str = "the answer", why: str = ""
) -> dict[str, Any]:
    return {"achieved": achieved, "confidence": confidence, "final_answer": answer, "reasoning": why}


NO = verdict(False, 0.1, "", "too little")


class Brain(ScriptedModel):
    """Plans and judges as it is told; steps answer with what they were asked unless told otherwise."""

    def __init__(self, plans: list[Any], verdicts: list[Any], steps: Any = None, mode: str = "dag") -> None:
        self.plans, self.verdicts = list(plans), list(verdicts)

        def reply(request: Any) -> Any:
            match request.component:
                case "planner":
                    return call("make_plan", steps=self.plans.pop(0))
                case "analyzer":
                    return call("judge", **self.verdicts.pop(0))
                case "mode":
                    return call("choose_mode", mode=mode)
                case _:
                    question = str(request.messages[-1].content)
                    return steps(question) if steps is not None else f"did: {question}"

        super().__init__(reply)

    @property
    def components(self) -> list[str]:
        return [request.component for request in self.requests]


TWO = [step("a"), step("b")]


@pytest.mark.parametrize(
    ("verdicts", "rounds", "success", "reason"),
    [
        ([NO, verdict()], 2, True, "answer"),
        ([verdict(False, 0.8)], 1, False, "answer"),
        ([NO, NO, NO], 3, False, "limit"),
        ([verdict(True, 0.0)], 1, True, "answer"),
    ],
    ids=["second round", "sure that it cannot be answered", "no round left", "achieved is enough"],
)
def test_rounds_go_on_until_it_is_enough_or_there_are_none_left(
    verdicts: list[Any], rounds: int, success: bool, reason: str
):
    result = go(DagAgent(Brain([TWO] * 3, verdicts), [echo]).run("q"))
    assert (result.metadata["dag"]["rounds"], result.success, result.stop_reason) == (rounds, success, reason)


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [
        (
            [verdict(False, 0.3, "a guess"), verdict(False, 0.6, "a better guess"), verdict(False, 0.1, "no idea")],
            "a better guess",
        ),
        ([NO, NO, NO], "do a\ndid: do a"),
    ],
    ids=["the surest", "the results"],
)
def test_at_the_limit_the_surest_answer_or_what_was_found(verdicts: list[Any], answer: str):
    result = go(DagAgent(Brain([TWO] * 3, verdicts), [echo]).run("q"))
    assert result.answer.startswith(answer)


def test_when_nothing_was_completed_it_says_so():
    result = go(DagAgent(Brain([TWO], [NO], lambda question: ""), [echo], max_rounds=1, max_iterations=1).run("q"))
    assert result.answer == "No step of the plan was completed."


def test_one_agent_that_fails_is_the_runs_failure():
    result = go(
        DagAgent(Brain([], [], lambda question: "", mode="loop"), [echo], mode="auto", max_iterations=1).run("q")
    )
    assert (result.success, result.stop_reason) == (False, "empty")


async def test_messages_lead_to_new_plans_that_are_not_counted_but_bounded():
    held: list[Any] = []

    def steps(question: str) -> str:
        held[0].send("and another thing")
        return "x"

    plans = [[step(f"{n}a"), step(f"{n}b", "", f"{n}a")] for n in range(9)]
    brain = Brain(plans, [verdict()], steps)
    held.append(DagAgent(brain, [echo], max_rounds=1).start("q"))
    result = await held[0]
    assert brain.components.count("planner") == 1 + MAX_FREE_REPLANS
    assert result.metadata["dag"]["rounds"] == 1
    assert "The user added: [USER INTERRUPT]\nand another thing" in next(
        r.messages[-1].content for r in reversed(brain.requests) if r.component == "planner"
    )


# ---- after a crash


async def cut_after(kind: type[Any], count: int) -> MemoryJournal:
    """The journal of a run of two rounds that ends right after this record, with all steps of the first round."""
    whole, cut = MemoryJournal(), MemoryJournal()
    await DagAgent(Brain([TWO, TWO], [NO, verdict()]), [echo], journal=whole).start("q", run_id="r")
    records = await whole.load("r")
    last = [n for n, record in enumerate(records) if isinstance(record.event, kind)][count - 1]
    await cut.append(records[: last + 1])
    for info in await whole.list():
        if info.run_id.startswith("r.1."):
            await cut.append(await whole.load(info.run_id))
    return cut


@pytest.mark.parametrize(
    ("kind", "count", "planned", "judged"),
    [
        (ev.DagPlanning, 1, 2, 2),
        (ev.DagPlanned, 1, 1, 2),
        (ev.StepDone, 2, 1, 2),
        (ev.DagJudged, 1, 1, 1),
        (ev.DagPlanned, 2, 0, 1),
        (ev.DagJudged, 2, 0, 0),
    ],
    ids=["planning", "planned", "worked", "judged", "planned again", "judged again"],
)
async def test_it_goes_on_with_what_was_not_done(kind: type[Any], count: int, planned: int, judged: int):
    journal = await cut_after(kind, count)
    plans, verdicts = [TWO, TWO][2 - planned :], [NO, verdict()][2 - judged :]
    brain = Brain(plans, verdicts)
    result = await DagAgent(brain, [echo], journal=journal).resume("r")
    assert result.answer == "the answer"
    assert (brain.components.count("planner"), brain.components.count("analyzer")) == (planned, judged)
    assert "loop" not in brain.components, "no step is run again"


async def test_the_chosen_way_is_kept():
    journal = MemoryJournal()
    first = DagAgent(Brain([], [], mode="loop"), [echo], mode="auto", journal=journal)
    await first.start("q", run_id="r")
    cut = MemoryJournal()
    records = await journal.load("r")
    chosen = next(n for n, record in enumerate(records) if isinstance(record.event, ev.DagModeChosen))
    await cut.append(records[: chosen + 1])
    brain = Brain([], [], mode="dag")
    await DagAgent(brain, [echo], mode="auto", journal=cut).resume("r")
    assert brain.components == ["loop"]
