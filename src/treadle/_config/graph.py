"""Runs the components of a document in the order of their links; each agent is a child run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from treadle._config.build import Builder
from treadle._config.document import AgentParams, Component, Document, ToolRef, convert
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._flows.agent import Agent
from treadle._flows.flow import FlowAgent, run_child
from treadle._models.base import Model
from treadle._types.errors import ConfigError, TreadleError
from treadle._types.events import StepDone, StepStarted
from treadle._types.messages import text_of

_REFERENCE = re.compile(r"\{\{\s*([^}]+?)\s*\}\}")


class GraphAgent(FlowAgent):
    """The agent for a whole document: a question runs its components one after the other."""

    def __init__(
        self,
        document: Document,
        base: Path,
        *,
        model: str | Model | None = None,
        where: str = "the document",
        **options: Any,
    ) -> None:
        self.document = document
        self._builder = Builder(document, base, model=model, where=where)
        self._order = sorted_components(document, where)
        agents = [name for name in self._order if _kind(document.components[name]) == "agent"]
        if not agents:
            raise ConfigError(f"{where}: a document needs at least one component named Agent")
        self._agents: dict[str, tuple[Agent, AgentParams]] = {
            name: self._builder.agent(name, document.components[name].obj.params) for name in agents
        }
        last = self._agents[agents[-1]][0]
        super().__init__(last.model, last.toolkit if len(last.toolkit) else None, name=document.name, **options)

    @property
    def only_agent(self) -> tuple[Agent, AgentParams] | None:
        """The agent, when the document has no other components."""
        return next(iter(self._agents.values())) if len(self._agents) == len(self.document.components) == 1 else None

    async def work(self, run: Execution) -> None:
        outputs: dict[str, str] = {}
        messages: list[str] = []
        answer, failed = "", ""
        for name in self._order:
            component = self.document.components[name]
            kind = _kind(component)
            if kind == "begin":
                continue
            if kind == "message":
                text = self._message(component, outputs, run.state.question)
                messages.append(text)
                outputs[name] = text
                continue
            done = run.state.dag.steps.get(name) or await self._step(run, name, component, kind, outputs)
            outputs[name] = answer = done.result
            if done.status != "completed":
                failed = done.error or f"{name} failed"
                break
        text = "\n\n".join(message for message in messages if message) if messages and not failed else answer
        error = TreadleError(failed) if failed else None
        await finish(run, text, "error" if failed else "answer", success=not failed, error=error)

    async def _step(
        self, run: Execution, name: str, component: Component, kind: str, outputs: dict[str, str]
    ) -> StepDone:
        child_id = f"{run.id}.{name.replace(':', '-')}"
        await run.emit(StepStarted(name, child_id, kind, key=name))
        if kind == "agent":
            agent, params = self._agents[name]
            question = "\n\n".join(render(prompt.content, outputs, run.state.question) for prompt in params.prompts)
            result = await run_child(agent, run, child_id, question)
            failure = f"{name}: {result.error or result.answer or result.stop_reason}"
            status, error = ("completed", "") if result.success else ("failed", failure)
            done = StepDone(name, status, result.answer, error, usage=result.usage, key=name)
        else:
            done = await self._tool_step(run, name, component, outputs)
        await run.emit(done)
        return done

    async def _tool_step(self, run: Execution, name: str, component: Component, outputs: dict[str, str]) -> StepDone:
        """A tool that is a component is called with its `arguments`, by default with the question as `query`."""
        params = dict(component.obj.params)
        arguments: dict[str, Any] = params.pop("arguments", {"query": "{{sys.query}}"})
        tool = self._builder.tools(name, ToolRef(component.obj.component_name, params))[0]
        args = {
            key: render(value, outputs, run.state.question) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        calls = NestedCalls(run, name)
        outcome = await calls.call(tool.name, args, tool)
        text = text_of(outcome.content)
        return StepDone(
            name,
            "failed" if outcome.error else "completed",
            text,
            text if outcome.error else "",
            outcome.elapsed,
            calls.usage,
            key=name,
        )

    def _message(self, component: Component, outputs: dict[str, str], question: str) -> str:
        content: Any = component.obj.params.get("content", [])
        lines: list[str] = [content] if isinstance(content, str) else list(content)
        if not lines:
            lines = [f"{{{{{name}@content}}}}" for name in component.upstream]
        return "\n\n".join(render(line, outputs, question) for line in lines)


def render(template: str, outputs: dict[str, str], question: str) -> str:
    """Replaces `{{sys.query}}` by the question and `{{Component:Id@content}}` (or just the id) by that output."""

    def replacement(match: re.Match[str]) -> str:
        name = match.group(1)
        if name == "sys.query":
            return question
        return outputs.get(name.split("@")[0], "")

    return _REFERENCE.sub(replacement, template)


def sorted_components(document: Document, where: str) -> list[str]:
    """The components in topological order; an error names those that form a cycle."""
    names = document.components
    upstream: dict[str, set[str]] = {name: set(component.upstream) for name, component in names.items()}
    for name, component in names.items():
        for other in component.downstream:
            upstream[other].add(name)
    order: list[str] = []
    while len(order) < len(names):
        ready = [name for name in names if name not in order and upstream[name] <= set(order)]
        if not ready:
            cycle = ", ".join(name for name in names if name not in order)
            raise ConfigError(f"{where}: the components {cycle} follow each other in a cycle: remove one of the links")
        order.extend(ready)
    return order


def _kind(component: Component) -> str:
    name = component.obj.component_name.lower()
    return name if name in ("begin", "agent", "message") else "tool"


def check(document: Document, base: Path, where: str = "the document") -> list[str]:
    """A line for each component of the document; raises its first error. No model is called."""
    lines: list[str] = []
    for name in sorted_components(document, where):
        component = document.components[name]
        kind = _kind(component)
        if kind == "agent":
            params: AgentParams = convert(
                component.obj.params, AgentParams, f"{where}: $.components[{name!r}].obj.params"
            )
            tools = [ref.component_name for ref in params.tools] + [f"mcp:{ref.mcp_id}" for ref in params.mcp]
            lines.append(f"{name}: agent on {params.llm_id or '(no model)'}, tools: {', '.join(tools) or 'none'}")
        else:
            lines.append(f"{name}: {kind if kind != 'tool' else component.obj.component_name}")
    return lines
