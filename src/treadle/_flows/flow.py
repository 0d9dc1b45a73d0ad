"""What agents that consist of several runs have in common: one log of their own, steps as child runs, one way to end."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

from treadle._engine.answering.ends import end, fail, out_of_budget
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._types.errors import (
    BudgetExhaustedError,
    ConfigError,
    JournalError,
    ModelError,
    RunNotFoundError,
    StructuredCallError,
)
from treadle._types.events import Resumed, RunFinished, RunStarted


class FlowAgent(Agent, ABC):
    """An agent whose run is made of other runs."""

    @abstractmethod
    async def work(self, run: Run) -> None:
        """What is to be done; ends with `finish` or `end`."""

    def partial_answer(self, run: Run) -> str:
        """What a flow that is stopped half-way has to show."""
        return ""

    def restart(self, run: Run) -> Run:
        return self.begin(run, self._drive)

    async def _drive(self, run: Run) -> RunResult:
        journal = run.log.journal
        if journal is not None:
            await journal.claim(run.id, run.owner)
        try:
            await self._open(run)
            if run.state.finished is None:
                await self.work(run)
        except asyncio.CancelledError:
            if run.abandoned:
                raise
            if task := asyncio.current_task():
                task.uncancel()
            if run.state.started is not None and run.state.finished is None:
                await end(run, RunFinished("cancelled", self.partial_answer(run), success=False))
            if not run.stopping:
                raise
        except (ConfigError, JournalError):
            raise
        except BudgetExhaustedError as error:
            await out_of_budget(run, error)
        except (ModelError, StructuredCallError) as error:
            await fail(run, error)
        finally:
            if journal is not None:
                with suppress(JournalError):
                    await journal.release(run.id, run.owner)
        if run.raises is not None:
            raise run.raises
        return self.result_of_flow(run)

    def result_of_flow(self, run: Run) -> RunResult:
        return run.result()

    async def _open(self, run: Run) -> None:
        if run.state.started is None:
            run.purse.require_prices(run.model.profile, run.model.name)
            await run.emit(
                RunStarted(
                    run.question, self.name, run.model.name, run.dialect.name, run.blueprint.system, tuple(run.toolkit.schemas),
                    run.history, run.settings.asdict(), dict(self.prompts), run.conversation, run.user, run.depth, run.model.profile,
                )
            )  # fmt: skip
        elif run.state.finished is None:
            await run.emit(Resumed("restarted"))


async def child_run(agent: Agent, parent: Run, child_id: str, question: Any) -> Run:
    """A step of a flow as a run under `parent`: the one a process before this began, or a new one. It is under way when returned."""
    child: Run | None = None
    if parent.log.journal is not None:
        with suppress(RunNotFoundError):
            child = await agent.load(child_id, parent=parent)
    child = child or agent.prepare(question, run_id=child_id, parent=parent)
    child.subscribe(parent.log.forward)
    return agent.restart(child)
