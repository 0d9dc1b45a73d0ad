"""Agents whose run is made of other runs: one log of their own, steps as child runs, the same driver and ends."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._agent.agent_tool import child_of, waiting_calls, why_waiting
from treadle._engine.context import execution_of
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause
from treadle._engine.generics import OutputT_co
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._engine.surfaces.inputs import as_history
from treadle._types.errors import JournalError, TreadleError
from treadle._types.events import Record, StepStarted
from treadle._types.ledger import entries_inside
from treadle._types.messages import Message
from treadle._types.state import RunState
from treadle._types.usage import Work


class Choice(Struct, frozen=True):
    """A component of a run that chose which way it goes on."""

    name: str
    record: int
    """The record from which on nothing has happened that depends on it."""
    ways: tuple[str, ...]


class FlowAgent(Agent[OutputT_co, Any], ABC):
    """An agent that says itself what comes next."""

    takes_client_tools = False
    disarm: Callable[[Agent[Any, Any]], Agent[Any, Any]] | None = None
    """What an experiment does to each agent before its run inside this one."""

    @abstractmethod
    async def work(self, run: Execution) -> None:
        """Return what is to be done; ends with `finish` or `end`."""

    def part(self, started: StepStarted, state: RunState) -> Agent[Any, Any] | None:
        """Return the agent of a run inside; None where that is no run of an agent."""
        return None

    def inside(self, agent: Agent[Any, Any]) -> Agent[Any, Any]:
        return agent if self.disarm is None else self.disarm(agent)

    def choices(self, records: Sequence[Record]) -> list[Choice]:
        """List what a run has chosen between."""
        return []

    def partial_answer(self, run: Execution) -> str:
        return ""

    def findings(self, run: Execution) -> str:
        return ""

    def metadata(self, run: Execution) -> dict[str, Any]:
        return {}

    def launch(self, run: Run[Any]) -> Run[OutputT_co]:
        return self.begin(run, self)


class ChildOutcome(Struct, frozen=True):
    """How a run inside a flow ended, whatever way that was, and what it has done."""

    result: RunResult[Any]
    work: Work
    timed_out: bool = False

    @property
    def good(self) -> bool:
        return self.result.success and self.result.stop_reason in ("answer", "final_tool")

    @property
    def why(self) -> str:
        """Return what went wrong."""
        return f"{self.result.stop_reason}: {self.result.error or self.result.answer}"


async def run_child(
    agent: Agent[Any, Any],
    parent: Execution,
    child_id: str,
    question: Any,
    timeout: float | None = None,
    *,
    history: Sequence[Message] | None = None,
    stopped: Callable[[ChildOutcome], Awaitable[None]] | None = None,
    watch: Callable[[Record], None] | None = None,
) -> ChildOutcome:
    """The outcome of a step that is a run inside a flow. It knows the conversation and the user of the flow, unless
    another `history` is given. One that waits for a person makes the flow wait: `Pause`. When the flow is stopped
    meanwhile, `stopped` is told what the step had done. `watch` sees its records as they happen."""
    past = history_of_flow(parent) if history is None else history
    child = await child_of(agent, parent.context, child_id, question, history=past, user=parent.origin.user)
    if watch is not None:
        child.subscribe(watch, restored=False)
    timed_out = False
    try:
        async with asyncio.timeout(timeout):
            result = await agent.launch(child)
    except TimeoutError:
        timed_out, result = True, child.result()
    except asyncio.CancelledError:
        if stopped is not None and parent.life.stopping and child.state.finished is not None:
            await stopped(ChildOutcome(child.result(), work_of(child.state, child.id)))
        raise
    except JournalError:
        raise
    except TreadleError as error:  # its settings make it raise: its log has its end all the same
        if child.state.finished is None:
            raise
        result = msgspec.structs.replace(child.result(), error=error)
    for call_id, raised in execution_of(child.context).calls.exceptions.items():
        parent.calls.exceptions[f"{child.id}:{call_id}"] = raised
    if not timed_out and (waiting := waiting_calls(child)):
        raise Pause(f"{agent.name} waits for a person", waiting, why_waiting(child))
    return ChildOutcome(result, work_of(child.state, child.id), timed_out)


def history_of_flow(run: Execution) -> list[Message]:
    """Return what was said before the question of the flow, as far as it has not been compacted."""
    return as_history(
        entry.message for entry in run.state.conversation.window if entry.component in ("history", "summary")
    )


def work_of(state: RunState, run_id: str) -> Work:
    """Return what a run has done, for the one it is a part of."""
    counters: dict[str, int] = msgspec.to_builtins(state.spending.counters)
    return Work(
        state.iteration,
        tuple(msgspec.structs.replace(step, call_id=f"{run_id}:{step.call_id}") for step in state.steps),
        {name: count for name, count in counters.items() if count},
        dict(state.spending.components),
        entries_inside(state.ledger, run_id),
    )
