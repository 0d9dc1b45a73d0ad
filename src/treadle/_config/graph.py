"""Runs the components of a document in the order of their links; each agent is a child run."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

from treadle._agent.agent import Agent
from treadle._config.build import Builder
from treadle._config.document import AgentParams, Component, Document, ToolRef
from treadle._config.references import has_references, reference_problems, render, render_all
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import overrides
from treadle._flows.flow import ChildOutcome, FlowAgent, history_of_flow, run_child
from treadle._models.base import Model
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, TreadleError
from treadle._types.events import StepDone, StepStarted, StopReason
from treadle._types.messages import AssistantMessage, Content, Message, SystemMessage, TextPart, UserMessage, text_of
from treadle._types.usage import Step, Work

_DELIVERED = ("answer", "final_tool", "limit", "budget", "stuck")
"""Ends of an agent with something to say: an answer that a limit forced is one, though not a success."""

_SAID_NOTHING = ("empty", "limit", "budget", "stuck")
"""Ends that say why there is nothing: they are the document's own."""


class GraphAgent(FlowAgent[Any]):
    """The agent for a whole document: a question runs its components one after the other.

    Its settings, plug-ins and the policy of its tools count for every agent in it, on top of their own.
    """

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
        agents = [name for name in self._order if kind_of(document.components[name]) == "agent"]
        if not agents:
            raise ConfigError(f"{where}: a document needs at least one component named Agent")
        for problem in reference_problems(document, self._order):
            raise ConfigError(f"{where}: {problem}")
        self._agents: dict[str, tuple[Agent[Any, Any], AgentParams]] = {
            name: self._builder.agent(name, document.components[name].obj.params) for name in agents
        }
        self._tools = {
            name: self._builder.tools(name, _tool_ref(component))[0]
            for name, component in document.components.items()
            if kind_of(component) == "tool"
        }
        last = self._agents[agents[-1]][0]
        tools = {tool.name: tool for tool in self._tools.values()}
        tools |= {tool.name: tool for agent, _ in self._agents.values() for tool in agent.toolkit}
        toolkit = Toolkit(tools.values())
        self._approvals = {tool.name: tool.approval for tool in toolkit}
        super().__init__(last.model, toolkit, name=document.name, **options)

    @property
    def only_agent(self) -> tuple[Agent[Any, Any], AgentParams] | None:
        """The agent, when the document has no other components."""
        return next(iter(self._agents.values())) if len(self._agents) == len(self.document.components) == 1 else None

    # ---- driving

    async def work(self, run: Execution) -> None:
        outputs = {"sys.query": run.state.question, "sys.user": run.origin.user}
        messages: list[str] = []
        answer = ""
        weak: StepDone | None = None
        for name in self._order:
            component = self.document.components[name]
            kind = kind_of(component)
            if kind == "begin":
                outputs[name] = run.state.question
            elif kind == "message":
                outputs[name] = self._message(component, outputs)
                messages.append(outputs[name])
            else:
                done = run.state.dag.steps.get(name) or await self._step(run, name, kind, outputs)
                if done.status != "completed" and not (done.result and done.stop_reason in _DELIVERED):
                    await self._failed(run, done)
                    return
                weak = weak or (done if done.status != "completed" else None)
                outputs[name] = answer = done.result
        text = "\n\n".join(message for message in messages if message) or answer
        reason = cast(StopReason, "answer" if weak is None else weak.stop_reason)
        error = None if weak is None or not weak.error else TreadleError(f"{weak.step}: {weak.error}")
        await finish(run, text, reason, success=weak is None, error=error)

    async def _failed(self, run: Execution, done: StepDone) -> None:
        """End the run at a component without output, with the results so far, else with its own report."""
        error = TreadleError(f"{done.step}: {done.error}")
        reason = cast(StopReason, done.stop_reason if done.stop_reason in _SAID_NOTHING else "error")
        await finish(run, self.partial_answer(run) or done.result, reason, success=False, error=error)

    async def _step(self, run: Execution, name: str, kind: str, outputs: dict[str, str]) -> StepDone:
        child_id = f"{run.id}.{name.replace(':', '-')}"
        await run.emit(StepStarted(name, child_id, kind, key=name))
        step = self._agent_step if kind == "agent" else self._tool_step
        done = await step(run, name, child_id, outputs)
        await run.emit(done)
        return done

    async def _agent_step(self, run: Execution, name: str, child_id: str, outputs: dict[str, str]) -> StepDone:
        agent, params = self._agents[name]
        past, question = _conversation(run, params, outputs)

        async def stopped(outcome: ChildOutcome) -> None:
            await run.emit(_agent_done(name, outcome))

        agent = self._under(agent, run)
        return _agent_done(name, await run_child(agent, run, child_id, question, history=past, stopped=stopped))

    async def _tool_step(self, run: Execution, name: str, child_id: str, outputs: dict[str, str]) -> StepDone:
        """A tool that is a component is called with its `arguments`, by default with the question as `query`."""
        arguments: dict[str, Any] = self.document.components[name].obj.params.get("arguments", _DEFAULT_ARGUMENTS)
        args = render_all(arguments, outputs)
        tool = self._with_policy(self._tools[name])
        calls = NestedCalls(run, name)
        outcome = await calls.call(tool.name, args, tool)
        text = text_of(outcome.content)
        call = Step(0, tool.name, args, text, outcome.error, outcome.elapsed, f"{name}.0", "", outcome.artifacts)
        return StepDone(
            name,
            "failed" if outcome.error else "completed",
            text,
            text if outcome.error else "",
            outcome.elapsed,
            calls.usage,
            key=name,
            work=Work(0, (call,), {"tool_calls": 1, "failed_calls": int(bool(outcome.error))}),
        )

    def _message(self, component: Component, outputs: dict[str, str]) -> str:
        content: Any = component.obj.params.get("content", [])
        lines: list[str] = [content] if isinstance(content, str) else list(content)
        if not lines:
            lines = [f"{{{{{name}@content}}}}" for name in component.upstream]
        return "\n\n".join(render(line, outputs) for line in lines)

    # ---- what the whole document says about each of its agents

    def _under(self, agent: Agent[Any, Any], run: Execution) -> Agent[Any, Any]:
        """Copy an agent with the settings of this run, and the plug-ins and tool policy of the document."""
        agent = copy.copy(agent)
        agent.settings = agent.settings.with_changes(run.settings.asdict())
        # Who can ask a person is asked for runs inside this one anyway.
        agent.plugins = (*agent.plugins, *(plugin for plugin in self.plugins if not overrides(plugin, "on_approval")))
        agent.toolkit = Toolkit(self._with_policy(tool) for tool in agent.toolkit)
        return agent

    def _with_policy(self, tool: Tool) -> Tool:
        """Apply a policy that was set on the document's toolkit later; otherwise keep the one of the document."""
        current = self.toolkit.get(tool.name)
        changed = current is not None and current.approval != self._approvals.get(tool.name)
        return tool.replace(approval=current.approval) if current is not None and changed else tool

    # ---- what there is when the run is stopped or an answer is written

    def _results(self, run: Execution) -> dict[str, StepDone]:
        return {name: done for name in self._order if (done := run.state.dag.steps.get(name)) is not None}

    def partial_answer(self, run: Execution) -> str:
        results = [done.result for done in self._results(run).values() if done.result and done.status == "completed"]
        return results[-1] if results else ""

    def findings(self, run: Execution) -> str:
        return "\n\n".join(f"[{name}]\n{done.result}" for name, done in self._results(run).items() if done.result)

    def metadata(self, run: Execution) -> dict[str, Any]:
        components = {
            name: {field: getattr(done, field) for field in ("status", "stop_reason", "elapsed", "usage")}
            for name, done in self._results(run).items()
        }
        return {"document": components}


def _agent_done(name: str, outcome: ChildOutcome) -> StepDone:
    result = outcome.result
    return StepDone(
        name,
        "completed" if outcome.good else "failed",
        result.answer,
        "" if outcome.good else str(result.error or result.answer or result.stop_reason),
        result.elapsed,
        result.usage,
        key=name,
        stop_reason=result.stop_reason,
        work=outcome.work,
    )


_DEFAULT_ARGUMENTS = {"query": "{{sys.query}}"}


def _tool_ref(component: Component) -> ToolRef:
    params = {name: value for name, value in component.obj.params.items() if name != "arguments"}
    return ToolRef(component.obj.component_name, params)


def _conversation(run: Execution, params: AgentParams, outputs: dict[str, str]) -> tuple[list[Message], Content]:
    """Build the messages before the question, and the question itself: the last prompts of the user.

    Prompts of the system stay instructions; an exchange written out before the last prompts stays one.
    """
    texts = [(prompt.role, render(prompt.content, outputs)) for prompt in params.prompts]
    system = [text for role, text in texts if role == "system"]
    if has_references(params.sys_prompt):
        system.insert(0, render(params.sys_prompt, outputs))
    spoken = [(role, text) for role, text in texts if role != "system"]
    start = max((number for number, (role, _) in enumerate(spoken, 1) if role == "assistant"), default=0)
    past: list[Message] = [SystemMessage(text) for text in system]
    past += history_of_flow(run)
    past += [
        UserMessage(text, origin="operator") if role == "user" else AssistantMessage(text, origin="operator")
        for role, text in spoken[:start]
    ]
    question = "\n\n".join(text for _, text in spoken[start:]).strip() or run.state.question
    return past, _with_images(question, run)


def _with_images(text: str, run: Execution) -> Content:
    asked = run.state.started.question if run.state.started is not None else ""
    if isinstance(asked, str):
        return text
    return (TextPart(text), *(part for part in asked if not isinstance(part, TextPart)))


def sorted_components(document: Document, where: str) -> list[str]:
    """Return the components in topological order; an error names those that form a cycle."""
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


def kind_of(component: Component) -> str:
    name = component.obj.component_name.lower()
    return name if name in ("begin", "agent", "message") else "tool"
