"""Running a document: components in the order their links give, each agent a run of its own in one log."""

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
from treadle._flows.flow import FlowAgent, child_run
from treadle._models.base import Model
from treadle._types.errors import ConfigError
from treadle._types.events import StepDone, StepStarted
from treadle._types.messages import text_of

_REFERENCE = re.compile(r"\{\{\s*([^}]+?)\s*\}\}")


class GraphAgent(FlowAgent):
    """A document as an agent: ask it, and its components work in turn."""

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
        self._order = order_of(document, where)
        agents = [name for name in self._order if _kind(document.components[name]) == "agent"]
        if not agents:
            raise ConfigError(f"{where}: there is no Agent component in it")
        self._agents: dict[str, tuple[Agent, AgentParams]] = {
            name: self._builder.agent(name, document.components[name].obj.params) for name in agents
        }
        last = self._agents[agents[-1]][0]
        super().__init__(last.model, last.toolkit if len(last.toolkit) else None, name=document.name, **options)

    @property
    def only_agent(self) -> tuple[Agent, AgentParams] | None:
        """The one agent, when the document is nothing but that."""
        return next(iter(self._agents.values())) if len(self._agents) == len(self.document.components) == 1 else None

    async def work(self, run: Execution) -> None:
        outputs: dict[str, str] = {}
        said: list[str] = []
        answer, good = "", True
        for name in self._order:
            component = self.document.components[name]
            kind = _kind(component)
            if kind == "begin":
                continue
            if kind == "message":
                text = self._message(component, outputs, run.state.question)
                said.append(text)
                outputs[name] = text
                continue
            done = run.state.dag.steps.get(name) or await self._step(run, name, component, kind, outputs)
            outputs[name] = answer = done.result
            if done.status != "completed":
                answer, good = done.error, False
                break
        text = "\n\n".join(part for part in said if part) if said and good else answer
        await finish(run, text, "answer" if good else "error", success=good)

    async def _step(
        self, run: Execution, name: str, component: Component, kind: str, outputs: dict[str, str]
    ) -> StepDone:
        child_id = f"{run.id}.{name.replace(':', '-')}"
        await run.emit(StepStarted(name, child_id, kind, key=name))
        if kind == "agent":
            agent, params = self._agents[name]
            question = "\n\n".join(render(prompt.content, outputs, run.state.question) for prompt in params.prompts)
            result = await (await child_run(agent, run, child_id, question))
            good = result.success
            done = StepDone(
                name,
                "completed" if good else "failed",
                result.answer,
                "" if good else result.answer,
                usage=result.usage,
                key=name,
            )
        else:
            done = await self._tool_step(run, name, component, outputs)
        await run.emit(done)
        return done

    async def _tool_step(self, run: Execution, name: str, component: Component, outputs: dict[str, str]) -> StepDone:
        """A tool that stands in the graph by itself is called with its `arguments`, by default the question as `query`."""
        params = dict(component.obj.params)
        given: dict[str, Any] = params.pop("arguments", {"query": "{{sys.query}}"})
        tool = self._builder.tools(name, ToolRef(component.obj.component_name, params))[0]
        args = {
            key: render(value, outputs, run.state.question) if isinstance(value, str) else value
            for key, value in given.items()
        }
        outcome = await NestedCalls(run, name).call(tool.name, args, tool)
        text = text_of(outcome.content)
        return StepDone(
            name,
            "failed" if outcome.error else "completed",
            text,
            text if outcome.error else "",
            outcome.elapsed,
            key=name,
        )

    def _message(self, component: Component, outputs: dict[str, str], question: str) -> str:
        content: Any = component.obj.params.get("content", [])
        lines: list[str] = [content] if isinstance(content, str) else list(content)
        if not lines:
            lines = [f"{{{{{name}@content}}}}" for name in component.upstream]
        return "\n\n".join(render(line, outputs, question) for line in lines)


def render(template: str, outputs: dict[str, str], question: str) -> str:
    """`{{sys.query}}` and `{{Component:Id@content}}` (or just the id) replaced by what they stand for."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name == "sys.query":
            return question
        return outputs.get(name.split("@")[0], "")

    return _REFERENCE.sub(value, template)


def order_of(document: Document, where: str) -> list[str]:
    """The components so that each comes after those it follows; a circle is an error that names it."""
    names = document.components
    after: dict[str, set[str]] = {name: set(component.upstream) for name, component in names.items()}
    for name, component in names.items():
        for other in component.downstream:
            after[other].add(name)
    order: list[str] = []
    while len(order) < len(names):
        ready = [name for name in names if name not in order and after[name] <= set(order)]
        if not ready:
            circle = ", ".join(name for name in names if name not in order)
            raise ConfigError(f"{where}: the components {circle} follow each other in a circle")
        order.extend(ready)
    return order


def _kind(component: Component) -> str:
    folded = component.obj.component_name.lower()
    return folded if folded in ("begin", "agent", "message") else "tool"


def check(document: Document, base: Path, where: str = "the document") -> list[str]:
    """What the document describes, one line each; raises the first error found. No model is called."""
    lines: list[str] = []
    order = order_of(document, where)
    for name in order:
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
