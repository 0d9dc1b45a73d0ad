"""Agents whose run is made of other runs: one log of their own, steps as child runs, the same driver and ends."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._flows.agent_tool import child_of, waiting_calls, why_waiting


class FlowAgent(Agent, ABC):
    """An agent that says itself what comes next."""

    @abstractmethod
    async def work(self, run: Execution) -> None:
        """What is to be done; ends with `finish` or `end`."""

    def partial_answer(self, run: Execution) -> str:
        return ""

    def metadata(self, run: Execution) -> dict[str, Any]:
        return {}

    def launch(self, run: Run) -> Run:
        return self.begin(run, self)


async def run_child(
    agent: Agent, parent: Execution, child_id: str, question: Any, timeout: float | None = None
) -> RunResult:
    """The result of a step that is a run inside a flow. One that waits for a person makes the flow wait: `Pause`."""
    child = await child_of(agent, parent.context, child_id, question)
    async with asyncio.timeout(timeout):
        result = await agent.launch(child)
    if waiting := waiting_calls(child):
        raise Pause(f"{agent.name} waits for a person", waiting, why_waiting(child))
    return result
