"""Agents whose run is made of other runs: one log of their own, steps as child runs, the same driver and ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from treadle._engine.core.execution import Execution
from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._flows.agent_tool import child_of


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


async def child_run(agent: Agent, parent: Execution, child_id: str, question: Any) -> Run:
    """A step of a flow as a run inside it, under way when returned."""
    return agent.launch(await child_of(agent, parent.context, child_id, question))
