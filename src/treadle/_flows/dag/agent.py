"""DAG mode: plan, run the steps side by side, judge, and plan again while the question is not answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from treadle._engine.answering.ends import end, finish
from treadle._engine.core.execution import Execution
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._flows.dag.advice import choose_mode, findings, judge, make_plan
from treadle._flows.dag.executor import StepRunner, execute
from treadle._flows.dag.plan import DagStep, Plan
from treadle._flows.flow import FlowAgent
from treadle._models.base import Model
from treadle._models.catalog.registry import ModelRegistry
from treadle._types.errors import TreadleError
from treadle._types.events import DagJudged, DagModeChosen, DagPlanned, DagPlanning, RunFinished, StepDone
from treadle._types.messages import UserMessage, text_of

MAX_FREE_REPLANS = 3
"""How many re-plans the user's interrupts may cause without counting as rounds."""

Review = Callable[[Plan], Any]


class DagAgent(FlowAgent):
    """An agent that plans first. Every step is a run of its own, with a model from the registry by the plan's hint.

    >>> dag = DagAgent("openai:gpt-5", tools=[search], max_rounds=3)
    >>> result = dag.run_sync("Compare the economies of Peru and Chile")
    """

    def __init__(
        self,
        model: str | Model | ModelRegistry,
        tools: Iterable[Any] | None = None,
        *,
        mode: Literal["dag", "auto"] = "dag",
        max_rounds: int = 3,
        max_steps_at_once: int = 5,
        step_timeout: float = 600.0,
        confidence: float = 0.8,
        review: Review | None = None,
        dependency_tokens: int = 2_000,
        **options: Any,
    ) -> None:
        self.registry = model if isinstance(model, ModelRegistry) else None
        super().__init__(model.default if isinstance(model, ModelRegistry) else model, tools, **options)
        self._step_options = {
            key: value for key, value in options.items() if key not in ("journal", "name", "output_type")
        }
        self.mode = mode
        self.max_rounds, self.confidence = max_rounds, confidence
        self._steps = StepRunner(self.step_agent, max_steps_at_once, step_timeout, dependency_tokens)
        self.review = review
        self._plans: dict[str, Plan] = {}

    def prepare(self, question: Any, *, plan: Plan | None = None, **options: Any) -> Run:
        run = super().prepare(question, **options)
        if plan is not None:
            self._plans[run.id] = plan
        return run

    def step_agent(self, step: DagStep) -> Agent:
        """A fresh agent for one step: its model by hint, its tools by hint, memory of nothing."""
        model = self.registry.role(step.model_hint) if self.registry is not None and step.model_hint else self.model
        hinted = [name for name in step.tool_hint.replace(",", " ").split() if name in self.toolkit]
        tools = self.toolkit.filtered(hinted) if hinted else self.toolkit
        return Agent(model, tools if len(tools) else None, name=f"step {step.id}", **self._step_options)

    # ---- driving

    async def work(self, run: Execution) -> None:
        dag = run.state.dag
        if self.mode == "auto" and not dag.mode:
            await run.emit(DagModeChosen(await choose_mode(run)))
        single = dag.mode == "loop"
        number, free = (dag.plan.round, dag.plan.free_replans) if dag.plan is not None else (1, 0)
        plan = Plan.of_record(dag.plan) if dag.plan is not None and not dag.planning else None
        if dag.judged:  # the process before this one ended after it had judged
            if self._enough(dag.verdicts[-1], number):
                await self._conclude(run)
                return
            number, plan = number + 1, None
        while True:
            if plan is None:
                plan = Plan((DagStep("answer", run.state.question),)) if single else await self._plan(run)
                if plan is None:
                    await end(run, RunFinished("cancelled", "The plan was rejected.", success=False))
                    return
                await run.emit(plan.as_record(number, free))
            executed = await execute(self._steps, run, plan, number)
            if executed.interrupted and free < MAX_FREE_REPLANS:
                free += 1
                plan = None
                continue
            if single:
                await self._single(run, executed.done["answer"])
                return
            await run.emit(await judge(run, number, self._findings(run)))
            if self._enough(dag.verdicts[-1], number):
                await self._conclude(run)
                return
            number += 1
            plan = None

    def _enough(self, verdict: DagJudged, number: int) -> bool:
        return verdict.achieved or verdict.confidence >= self.confidence or number >= self.max_rounds

    async def _plan(self, run: Execution) -> Plan | None:
        """The plan to run: given, or made; and shown to whoever wants to see it first."""
        plan = self._plans.pop(run.id, None)
        if plan is None:
            await run.emit(DagPlanning())
            results = self._findings(run)
            if verdicts := run.state.dag.verdicts:
                results += f"\n\nWhy that was not enough: {verdicts[-1].reasoning}"
            models = list(dict.fromkeys(["general", *(self.registry.names if self.registry else ())]))
            plan = await make_plan(run, list(run.tools.toolkit.names), models, results)
        if self.review is not None:
            answer = self.review(plan)
            plan = await answer if inspect.isawaitable(answer) else answer
        return plan

    def _findings(self, run: Execution) -> str:
        tasks = self._tasks(run)
        limit = max(500, 24_000 // max(1, len(tasks)))
        return findings(tasks, limit) + "".join(f"\n\nThe user added: {text}" for text in _interrupts(run))

    def _tasks(self, run: Execution) -> dict[str, tuple[str, StepDone]]:
        """Every step that has ended, with its task; of several attempts under one id the last counts."""
        tasks: dict[str, str] = {}
        results: dict[str, tuple[str, StepDone]] = {}
        for record in run.log.records:
            event = record.event
            if isinstance(event, DagPlanned):
                tasks.update({step.id: step.task for step in event.steps})
            elif isinstance(event, StepDone):
                results[event.step] = (tasks.get(event.step, ""), event)
        return results

    async def _conclude(self, run: Execution) -> None:
        verdict = run.state.dag.verdicts[-1]
        achieved = verdict.achieved or verdict.confidence >= self.confidence
        answer = verdict.final_answer if achieved and verdict.final_answer else self._best(run)
        await finish(run, answer, "answer" if achieved else "limit", success=achieved)

    async def _single(self, run: Execution, done: StepDone) -> None:
        good = done.status in ("completed", "reused")
        error = None if good else TreadleError(done.error)
        await finish(run, done.result, "answer" if good else "error", success=good, error=error)

    def _best(self, run: Execution) -> str:
        """The surest answer any round gave, else what the completed steps found."""
        answered = [verdict for verdict in run.state.dag.verdicts if verdict.final_answer]
        answers = sorted(answered, key=lambda verdict: -verdict.confidence)
        if answers:
            return answers[0].final_answer
        good = [
            f"{task}\n{done.result}"
            for task, done in self._tasks(run).values()
            if done.status in ("completed", "reused")
        ]
        return "\n\n".join(good) or "No step of the plan was completed."

    def partial_answer(self, run: Execution) -> str:
        return self._best(run)

    def metadata(self, run: Execution) -> dict[str, Any]:
        self._plans.pop(run.id, None)
        dag = run.state.dag
        summary = {
            "rounds": dag.plan.round if dag.plan is not None else 0,
            "mode": dag.mode or "dag",
            "verdict": _verdict_fields(dag.verdicts[-1]) if dag.verdicts else None,
            "steps": {name: msgspec.to_builtins(done) for name, (_, done) in self._tasks(run).items()},
        }
        return {"dag": summary}


def _verdict_fields(verdict: DagJudged) -> dict[str, Any]:
    return {name: getattr(verdict, name) for name in verdict.__struct_fields__}


def _interrupts(run: Execution) -> list[str]:
    interrupts = [entry.message for entry in run.state.window if entry.component == "interrupt"]
    return [text_of(message.content) for message in interrupts if isinstance(message, UserMessage)]
