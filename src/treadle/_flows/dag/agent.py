"""DAG mode: plan, run the steps side by side, judge, and plan again while the question is not answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from treadle._agent.agent import Agent
from treadle._agent.surfaces import raised
from treadle._engine.answering.ends import end, finish
from treadle._engine.core.execution import Execution
from treadle._engine.generics import OutputT_co
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._flows.dag.advice import (
    DONE,
    choose_mode,
    findings,
    has_partial_result,
    instructions_of,
    judge,
    make_plan,
)
from treadle._flows.dag.executor import StepRunner, execute
from treadle._flows.dag.plan import DagStep, Plan
from treadle._flows.flow import FlowAgent
from treadle._models.base import Model
from treadle._models.catalog.registry import ModelRegistry
from treadle._safety.bounds import Count, Seconds, Share, bounded
from treadle._types.errors import ModelError, StructuredCallError, TreadleError
from treadle._types.events import DagJudged, DagModeChosen, DagPlanned, DagPlanning, RunFinished, StepDone, StepStarted
from treadle._types.messages import UserMessage, text_of
from treadle._types.state import RunState

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from treadle._engine.options import RunOptions

MAX_FREE_REPLANS = 3
"""How many re-plans the user's interrupts may cause without counting as rounds."""

Review = Callable[[Plan], Any]


class DagAgent(FlowAgent[OutputT_co]):
    """An agent that plans first. Every step is a run of its own.

    >>> dag = DagAgent("openai:gpt-5", tools=[search], max_rounds=3)
    >>> result = dag.run_sync("Compare the economies of Peru and Chile")
    """

    @overload
    def __init__(
        self: DagAgent[str],
        model: str | Model | ModelRegistry,
        tools: Iterable[Any] | None = ...,
        *,
        output_type: None = None,
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self,
        model: str | Model | ModelRegistry,
        tools: Iterable[Any] | None = ...,
        *,
        output_type: type[OutputT_co],
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: DagAgent[Any],
        model: str | Model | ModelRegistry,
        tools: Iterable[Any] | None = ...,
        *,
        output_type: Any,
        **options: Any,
    ) -> None: ...
    @bounded
    def __init__(
        self,
        model: str | Model | ModelRegistry,
        tools: Iterable[Any] | None = None,
        *,
        mode: Literal["dag", "auto"] = "dag",
        max_rounds: Count = 3,
        max_steps_at_once: Count = 5,
        step_timeout: Seconds = 600.0,
        confidence: Share = 0.8,
        review: Review | None = None,
        dependency_tokens: Count = 2_000,
        **options: Any,
    ) -> None:
        self.registry = model if isinstance(model, ModelRegistry) else None
        super().__init__(model.default if isinstance(model, ModelRegistry) else model, tools, **options)
        self.mode = mode
        self.max_rounds, self.confidence = max_rounds, confidence
        self._limits = (max_steps_at_once, step_timeout, dependency_tokens)
        self.review = review
        self._plans: dict[str, Plan] = {}
        self._waiting: dict[str, Agent] = {}

    def prepare(  # pyright: ignore[reportIncompatibleMethodOverride] - one option more
        self, question: Any, *, plan: Plan | None = None, **options: Unpack[RunOptions[Any]]
    ) -> Run[OutputT_co]:
        """With a `plan`, a run of it; otherwise the first step is to make one."""
        run = super().prepare(question, **options)
        if plan is not None:
            self._plans[run.id] = plan
        return run

    def start(  # pyright: ignore[reportIncompatibleMethodOverride] - one option more
        self, question: Any, *, plan: Plan | None = None, **options: Unpack[RunOptions[Any]]
    ) -> Run[OutputT_co]:
        return self.launch(self.prepare(question, plan=plan, **options))

    async def run(  # pyright: ignore[reportIncompatibleMethodOverride] - one option more
        self, question: Any, *, plan: Plan | None = None, **options: Unpack[RunOptions[Any]]
    ) -> RunResult[OutputT_co]:
        run = self.start(question, plan=plan, **options)
        return raised(await run, run.settings.on_error)

    def step_agent(self, step: DagStep, run: Execution | None = None) -> Agent[Any, Any]:
        """A fresh agent for one step: its model and its tools by hint, all else as the run has it."""
        model = self.registry.role(step.model_hint) if self.registry is not None and step.model_hint else self.model
        hinted = [name for name in step.tool_hint.replace(",", " ").split() if name in self.toolkit]
        tools = self.toolkit.filtered(hinted) if hinted else self.toolkit
        agent = Agent(
            model,
            tools if len(tools) else None,
            preset=self.preset,
            system=self.system if run is None else instructions_of(run),
            instructions=self.instructions if run is None else "",
            plugins=self.plugins,
            fallbacks=self.models[1:],
            prompts=self.prompts,
            name=f"step {step.id}",
            secrets=self._secrets,
        )
        agent.settings = self.settings if run is None else run.settings
        return self.inside(agent)

    def part(self, started: StepStarted, state: RunState) -> Agent[Any, Any] | None:
        steps = Plan.of_record(state.dag.plan).steps if state.dag.plan is not None else ()
        return next((self.step_agent(step) for step in steps if step.id == started.step), None)

    # ---- driving

    async def work(self, run: Execution) -> None:
        dag = run.state.dag
        runner = StepRunner(partial(self.step_agent, run=run), *self._limits, self._waiting)
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
                plan = await self._next_plan(run, number, free, single)
                if plan is None:
                    return
            executed = await execute(runner, run, plan, number)
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
            run.answer.retract()  # it was not enough
            number += 1
            plan = None

    def _enough(self, verdict: DagJudged, number: int) -> bool:
        return verdict.achieved or verdict.confidence >= self.confidence or number >= self.max_rounds

    async def _next_plan(self, run: Execution, number: int, free: int, single: bool) -> Plan | None:
        """The plan of the next round, recorded; None when there is none and the run has ended with what it has."""
        if single:
            plan = Plan((DagStep("answer", run.state.question),))
        else:
            try:
                plan = await self._plan(run)
            except (ModelError, StructuredCallError) as error:
                if not self._completed(run):
                    raise
                # The work of earlier rounds is worth an answer, even if nobody can say what to do next.
                await finish(run, self._best(run), "limit", success=False, error=error)
                return None
            if plan is None:
                answer = self._best(run) if self._completed(run) else "The plan was rejected."
                await end(run, RunFinished("cancelled", answer, success=False))
                return None
        await run.emit(plan.as_record(number, free))
        return plan

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
        if self.review is None or run.in_experiment:  # a person is not asked again
            return plan
        return await self._reviewed(plan, self.review)

    async def _reviewed(self, plan: Plan, review: Review) -> Plan | None:
        try:
            answer = review(plan)
            return await answer if inspect.isawaitable(answer) else answer
        except TreadleError:
            raise
        except Exception as error:
            raise TreadleError(f"the review of the plan failed: {type(error).__name__}: {error}") from error

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
        """A verdict is enough when nothing more is to be gained; whether the question is answered is what it says."""
        verdict = run.state.dag.verdicts[-1]
        final = verdict.achieved or verdict.confidence >= self.confidence
        answer = verdict.final_answer if final and verdict.final_answer else self._best(run)
        await finish(run, answer, "answer" if final else "limit", success=verdict.achieved)

    async def _single(self, run: Execution, done: StepDone) -> None:
        good = done.status in DONE
        reason: Any = "answer" if good else done.stop_reason or "error"
        error = None if good else TreadleError(done.error)
        # The agent has written its answer already, whatever way that is done.
        await finish(run, done.result, reason, success=good, error=error, written=True)

    def _best(self, run: Execution) -> str:
        """The surest answer any round gave, else what the steps found."""
        answered = [verdict for verdict in run.state.dag.verdicts if verdict.final_answer]
        answers = sorted(answered, key=lambda verdict: -verdict.confidence)
        if answers:
            return answers[0].final_answer
        steps = self._tasks(run).values()
        found = [f"{task}\n{done.result}" for task, done in steps if done.status in DONE]
        found += [f"{task} (not finished)\n{done.result}" for task, done in steps if has_partial_result(done)]
        return "\n\n".join(found) or "No step of the plan was completed."

    def _completed(self, run: Execution) -> bool:
        """Return whether there is anything to answer from."""
        return any(done.status in DONE or has_partial_result(done) for _, done in self._tasks(run).values())

    def partial_answer(self, run: Execution) -> str:
        return self._best(run)

    def findings(self, run: Execution) -> str:
        return self._findings(run) if self._tasks(run) else ""

    def metadata(self, run: Execution) -> dict[str, Any]:
        self._plans.pop(run.id, None)
        dag = run.state.dag
        summary = {
            "rounds": dag.plan.round if dag.plan is not None else 0,
            "mode": dag.mode or "dag",
            "verdict": msgspec.structs.asdict(dag.verdicts[-1]) if dag.verdicts else None,
            "steps": {name: _step_fields(done) for name, (_, done) in self._tasks(run).items()},
        }
        return {"dag": summary}


def _step_fields(done: StepDone) -> dict[str, Any]:
    return msgspec.to_builtins(msgspec.structs.replace(done, work=None))  # its calls are in the result's steps


def _interrupts(run: Execution) -> list[str]:
    interrupts = [entry.message for entry in run.state.conversation.window if entry.component == "interrupt"]
    return [text_of(message.content) for message in interrupts if isinstance(message, UserMessage)]
