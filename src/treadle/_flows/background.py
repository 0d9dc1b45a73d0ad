"""Agents that work in the background of a run: the model starts them and goes on, and is told when they have ended.

A plug-in object holds settings only. What survives a crash is in the logs: the call that started the work, the log of
the agent's own run, and the message that told its end. What has no such message is gone on with, or told, on resuming.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from treadle._agent.agent_tool import Delegate, child_of, deps_needed_by, inside, waiting_calls, why_waiting
from treadle._engine.context import RunContext
from treadle._engine.plugin import Pause, Plugin
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._plugins.guards.tool_selection import offer_also
from treadle._safety.bounds import Count, bounded
from treadle._tools.base import Tool, ToolContext
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import MessageAdded, PhaseChanged
from treadle._types.messages import UserMessage, text_of
from treadle._types.state import RunState

BROUGHT = "agents that work in the background"
STARTED = "{agent} works on it in the background as {call_id}. Go on with the rest; a message will tell its end."
ENDED = "[background {call_id}: the agent {agent} {how}]\n{answer}"
_MAX_CHARS = 20_000
"""How much of what an agent found is told; the rest is in its own log."""


class BackgroundAgents(Plugin):
    """Gives a run one tool for each agent, `start_NAME`, that returns at once. What the agent found comes as a message
    between two steps."""

    name = "background"
    brings_tools = True

    @bounded
    def __init__(self, *agents: Delegate, most: Count = 8) -> None:
        """`most`: how many may work at the same time in one run."""
        self._agents = {_tool_name(agent): agent for agent in agents}
        if len(self._agents) != len(agents):
            raise ConfigError("agents in the background need names of their own: Agent(..., name=...)")
        self.most = most
        self._at_work: WeakKeyDictionary[RunContext[Any], dict[str, tuple[str, Run[Any]]]] = WeakKeyDictionary()
        """Per run of this process: call id to the agent's name and its run."""
        self.tools = tuple(self._tool(name, agent) for name, agent in self._agents.items())

    # ---- hooks

    async def on_start(self, run: RunContext) -> None:
        await offer_also(run, (tool.name for tool in self.tools), BROUGHT)

    async def on_resume(self, run: RunContext) -> None:
        """Go on with what a process before this one has started and not told the end of."""
        told = list(self._told(run))
        for call_id, tool, args in _started(run.state):
            opening = ENDED.partition("{agent}")[0].replace("{call_id}", call_id)
            if tool in self._agents and not any(text.startswith(opening) for text in told):
                await self._start(self._agents[tool], run, call_id, args)

    async def before_round(self, run: RunContext) -> None:
        for report in self._reports(run):
            await run.emit(MessageAdded(report, self.name), _shown(report))

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        """An answer waits for the work that it may depend on; the first end sends the loop on."""
        work = self._work_of(run)
        if not work:
            return answer
        waiting = [child.task for _, child in work.values()]
        if not any(task.done() for task in waiting):
            await run.emit(
                PhaseChanged(f"waiting for background work of {', '.join(name for name, _ in work.values())}")
            )
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        report = next(self._reports(run), None)
        if report is None:
            return answer
        await run.emit(_shown(report))
        return report

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        """Nothing works on for a run that is over."""
        children = [child for _, child in self._at_work.pop(run, {}).values() if not child.done]
        for child in children:
            child.cancel()
        if children:
            await asyncio.wait([child.task for child in children])

    # ---- the work

    async def _start(self, agent: Delegate, run: RunContext, call_id: str, args: Mapping[str, Any]) -> None:
        question = f"{args.get('task', '')}\n\nBackground: {args.get('background', '')}".removesuffix(
            "\n\nBackground: "
        )
        child = await child_of(agent, run, inside(run, call_id), question, user=run.user)
        agent.launch(child)
        if child.state.finished is not None:  # in a process before this one: the next step is told of it
            await asyncio.wait([child.task])
        self._work_of(run)[call_id] = (agent.name, child)

    def _work_of(self, run: RunContext) -> dict[str, tuple[str, Run[Any]]]:
        return self._at_work.setdefault(run, {})

    def _reports(self, run: RunContext) -> Iterator[UserMessage]:
        """The ends that nobody was told of. Work that waits for a person has the whole run wait."""
        work = self._work_of(run)
        for call_id, (agent, child) in tuple(work.items()):
            if not child.done:
                continue
            if calls := waiting_calls(child):
                del work[call_id]
                raise Pause(f"background work of {agent}", calls, why_waiting(child))
            del work[call_id]
            yield UserMessage(_report(call_id, agent, child), kind="observation")

    def _told(self, run: RunContext) -> Iterator[str]:
        for record in run.records:
            event = record.event
            if isinstance(event, MessageAdded) and event.component == self.name and event.message.role == "user":
                yield text_of(event.message.content)

    # ---- the tools

    def _tool(self, name: str, agent: Delegate) -> Tool:
        async def execute(context: ToolContext, task: str, background: str = "") -> str:
            run: RunContext[Any] = context.run
            busy = sum(not child.done for _, child in self._work_of(run).values())
            if busy >= self.most:
                raise ToolError(f"{busy} agents work in the background already: wait until one has ended")
            await self._start(agent, run, context.call_id, {"task": task, "background": background})
            return STARTED.format(agent=agent.name, call_id=context.call_id)

        said = f" {agent.description}" if agent.description else ""
        return Tool(
            name,
            f"Have the agent {agent.name} work on a task in the background; a message says when it has ended.{said}",
            {
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "What the agent is to do."},
                    "background": {"type": "string", "description": "What it needs to know; it sees nothing else."},
                },
                "required": ["task"],
                "additionalProperties": False,
            },
            execute,
            # The agent's own log says what it has done: making the call again goes on with its run.
            effect="idempotent",
            acts=False,
            pinned=True,
            takes_extras=frozenset(),
            context_param="context",
            needs_deps=deps_needed_by(agent),
        )


def _tool_name(agent: Delegate) -> str:
    return "".join(char if char.isalnum() or char in "_-" else "_" for char in f"start_{agent.name}")[:64]


def _started(state: RunState) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The calls of a run that have come to a good end: id, tool and arguments."""
    for step in state.steps:
        if not step.error:
            yield step.call_id, step.tool, step.args
    for call_id, call in state.calls.open.items():
        if call.done is not None and not call.done.error:
            yield call_id, call.call.name, (call.made or call.call).args


def _shown(report: UserMessage) -> PhaseChanged:
    """The end of the work, for whoever watches."""
    return PhaseChanged(text_of(report.content).partition("\n")[0].strip("[]"))


def _report(call_id: str, agent: str, child: Run[Any]) -> str:
    result = child.result()
    how = "has ended" if result.success else f"has failed: {result.error or result.stop_reason}"
    answer = result.answer if len(result.answer) <= _MAX_CHARS else f"{result.answer[:_MAX_CHARS]} [cut]"
    return ENDED.format(call_id=call_id, agent=agent, how=how, answer=answer).rstrip()
