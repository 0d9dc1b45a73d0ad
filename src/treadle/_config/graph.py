"""Runs the components of a document along their links; each agent is a child run, branches run side by side."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

from treadle._agent.agent import Agent
from treadle._config import components as parts
from treadle._config.build import Builder
from treadle._config.checking import first_problem
from treadle._config.components import kind_of
from treadle._config.document import AgentParams, Document
from treadle._config.links import Links, sorted_components
from treadle._config.message_stream import MessageStream
from treadle._config.scope import Scope, has_references, parsed
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause, overrides, raise_together
from treadle._engine.settings import Settings
from treadle._flows.flow import ChildOutcome, Choice, FlowAgent, history_of_flow, run_child
from treadle._models.base import Model
from treadle._plugins.memory.citations import Citations
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, ToolError, TreadleError
from treadle._types.events import Record, StepDone, StepStarted, StopReason
from treadle._types.messages import AssistantMessage, Content, Message, SystemMessage, TextPart, UserMessage, text_of
from treadle._types.state import RunState
from treadle._types.usage import Step, Work

_DELIVERED = ("answer", "final_tool", "limit")
"""Ends of an agent that are as its document says: when its rounds are used up it answers from what it has."""
_WEAK = ("budget", "stuck")
"""Ends of an agent with something to say, though not a success."""
_SAID_NOTHING = ("empty", "limit", "budget", "stuck")
"""Ends that say why there is nothing: they are the document's own."""
_DEFAULT_ARGUMENTS = {"query": "{{sys.query}}"}


class _Run:
    """The values of one run of the document while it is driven: all of them come from the log again."""

    def __init__(self, run: Execution, scope: Scope) -> None:
        self.run, self.scope = run, scope
        self.stream = MessageStream(run)
        self.answer = ""
        self.weak: StepDone | None = None
        self.failed: StepDone | None = None
        self.pauses: list[Pause] = []
        self.slots = asyncio.Semaphore(run.settings.parallel)


class GraphAgent(FlowAgent[Any]):
    """The agent for a whole document: a question runs its components, each as soon as those before it are done.

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
        self._order = sorted_components(document, where)
        if (problem := first_problem(document, base, self._order, model)) is not None:
            raise ConfigError(f"{where}: {problem}")
        self._links = Links(document)
        builder = Builder(document, base, model=model, where=where)
        kinds = {name: kind_of(component) for name, component in document.components.items()}
        self._kinds = kinds
        self._params = {name: builder.params(name) for name, kind in kinds.items() if kind in parts.PARAMS}
        self._agents: dict[str, tuple[Agent[Any, Any], AgentParams]] = {
            name: builder.agent(name, document.components[name].obj.params)
            for name in self._order
            if kinds[name] == "agent"
        }
        self._agents |= {
            name: builder.categorizer(name, cast("parts.CategorizeParams", self._params[name]))
            for name in self._order
            if kinds[name] == "categorize"
        }
        self._tools = {
            name: builder.component_tool(name) for name, kind in kinds.items() if kind in ("tool", *builder.TOOL_KINDS)
        }
        last, _ = max(self._agents.items(), key=lambda item: (kinds[item[0]] == "agent", self._order.index(item[0])))[1]
        tools = {tool.name: tool for tool in self._tools.values()}
        tools |= {tool.name: tool for agent, _ in self._agents.values() for tool in agent.toolkit}
        toolkit = Toolkit(tools.values())
        self._approvals = {tool.name: tool.approval for tool in toolkit}
        plugins = list(options.pop("plugins", ()))
        if not any(getattr(plugin, "name", "") == Citations.name for plugin in plugins):
            plugins.append(Citations())  # one registry of passages for all components
        super().__init__(last.model, toolkit, name=document.name, plugins=plugins, **options)

    @property
    def only_agent(self) -> tuple[Agent[Any, Any], AgentParams] | None:
        """The agent, when the document has no other components."""
        return next(iter(self._agents.values())) if len(self._agents) == len(self.document.components) == 1 else None

    @property
    def inner_agents(self) -> tuple[Agent[Any, Any], ...]:
        return tuple(agent for agent, _ in self._agents.values())

    def part(self, started: StepStarted, state: RunState) -> Agent[Any, Any] | None:
        name = started.step.partition("#")[0]
        return self._under(self._agents[name][0], self.settings) if name in self._agents else None

    def choices(self, records: Sequence[Record]) -> list[Choice]:
        begun = {record.event.step: record.seq for record in reversed(records) if isinstance(record.event, StepStarted)}
        choices: list[Choice] = []
        for key, seq in begun.items():
            if isinstance(params := self._params.get(key.partition("#")[0]), parts.CategorizeParams):
                choices.append(Choice(key, seq, tuple(params.category_description)))
        for name, params in self._params.items():
            if isinstance(params, parts.SwitchParams) and not self.document.components[name].parent_id:
                ways = [", ".join(to) for to in (*(one.to for one in params.conditions), params.end_cpn_ids) if to]
                behind = self._links.behind(name)
                later = [seq for key, seq in begun.items() if key.partition("#")[0] in behind]
                choices.append(Choice(name, min(later, default=records[-1].seq), tuple(dict.fromkeys(ways))))
        return choices

    # ---- driving

    async def work(self, run: Execution) -> None:
        state = _Run(run, Scope({**self.document.globals, **_system_values(run)}))
        outer = [name for name in self._order if not self.document.components[name].parent_id]
        await self._drive(state, outer, state.scope)
        raise_together(state.pauses)  # whatever could run without the person has run
        if state.failed is not None:
            await self._end_at(run, state.failed)
            return
        weak = state.weak
        reason = cast(StopReason, "answer" if weak is None else weak.stop_reason)
        error = None if weak is None or not weak.error else TreadleError(f"{weak.step}: {weak.error}")
        await finish(run, state.stream.text or state.answer, reason, success=weak is None, error=error)

    async def _drive(self, state: _Run, names: Sequence[str], scope: Scope, suffix: str = "") -> None:
        """Run these components, each as soon as all before it are done and one of them leads to it."""
        done: dict[str, bool] = {}
        """Whether it has run; False when no way led to it."""
        active: set[tuple[str, str]] = set()
        running: dict[asyncio.Task[Sequence[str] | None], str] = {}
        begun: set[str] = set()
        try:
            while True:
                started = True
                while started and state.failed is None:
                    started = False
                    for name in names:
                        before = [other for other in self._links.before(name) if other in names]
                        if name in begun or not all(other in done for other in before):
                            continue
                        begun.add(name)
                        started = True
                        if before and not any((other, name) in active for other in before):
                            done[name] = False
                            continue
                        task = asyncio.ensure_future(self._component(state, name, scope, suffix, done))
                        running[task] = name
                        if self._kinds[name] not in _WITH_EFFECTS:
                            await task  # it only looks at values
                            running.pop(task)
                            self._finished(name, task, done, active)
                if not running:
                    return
                finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    name = running.pop(task)
                    try:
                        self._finished(name, task, done, active)
                    except Pause as pause:
                        state.pauses.append(pause)
        except BaseException:  # cancelled, or a fault of our own: nothing may be left running
            for child in tuple(state.run.life.children):
                child.stop(state.run.life.stopping or "cancelled")
            if running:
                for task in running:
                    task.cancel()
                await asyncio.wait(running)
            raise

    def _finished(
        self, name: str, task: asyncio.Task[Sequence[str] | None], done: dict[str, bool], active: set[tuple[str, str]]
    ) -> None:
        chosen = task.result()
        done[name] = True
        active.update((name, other) for other in self._links.after(name) if chosen is None or other in chosen)

    async def _component(
        self, state: _Run, name: str, scope: Scope, suffix: str, done: Mapping[str, bool]
    ) -> Sequence[str] | None:
        """Run one component. Returns the components that it leads to; None for all that are linked."""
        params: Any = self._params.get(name)
        match self._kinds[name]:
            case "begin":
                scope.values[name] = parts.begin_outputs(
                    params, state.run.state.question, parsed(state.run.state.question)
                )
            case "message":
                text = scope.render(self._content(name, params))
                scope.values[name] = {"content": text}
                state.stream.say(name + suffix, text)
            case "switch":
                if (step := state.run.state.dag.steps.get(name)) is not None:  # an experiment has chosen
                    return step.result.split(", ")
                return parts.chosen_branch(params, scope)
            case "variableaggregator":
                scope.values[name] = parts.aggregated(params, scope)
            case "variableassigner":
                parts.assign(params, scope)
            case "stringtransform":
                value = parts.transformed(params, scope)
                scope.values[name] = {"content": value}
            case "iterationitem":
                pass  # its values are set for each item
            case "iteration":
                await self._iterate(state, name, params, scope)
            case _:
                return await self._step(state, name, scope, suffix, done)
        return None

    def _content(self, name: str, params: parts.MessageParams) -> str:
        lines = [params.content] if isinstance(params.content, str) else params.content
        return "\n\n".join(lines or [f"{{{{{other}@content}}}}" for other in self._links.before(name)])

    async def _iterate(self, state: _Run, name: str, params: parts.IterationParams, scope: Scope) -> None:
        inner = [other for other in self._order if self.document.components[other].parent_id == name]
        results: dict[str, list[Any]] = {key: [] for key in params.outputs}
        for index, item in enumerate(parts.items_of(scope.value(params.items_ref))):
            own = scope.inside()
            for other in inner:
                if self._kinds[other] == "iterationitem":
                    own.values[other] = {"item": item, "index": index, "content": item}
            own.values[name] = {"item": item, "index": index, "content": item}
            await self._drive(state, inner, own, f"#{index}")
            if state.failed is not None or state.pauses:
                return
            for key, output in params.outputs.items():
                results[key].append(own.value(output.ref))
        first = next(iter(results.values()), list[Any]())
        scope.values[name] = {"content": first, **results}

    async def _step(
        self, state: _Run, name: str, scope: Scope, suffix: str, done: Mapping[str, bool]
    ) -> Sequence[str] | None:
        """Run a component that has effects, or take what came of it from the log."""
        run, key, kind = state.run, name + suffix, self._kinds[name]
        step = run.state.dag.steps.get(key)
        if step is None:
            async with state.slots:
                child_id = f"{run.id}.{key.replace(':', '-').replace('#', '-')}"
                await run.emit(StepStarted(key, child_id, kind, key=key))
                if name in self._agents:
                    step = await self._agent_step(state, name, key, child_id, scope, done)
                else:
                    step = await self._tool_step(run, name, key, scope)
                await run.emit(step)
        if step.status != "completed" and not (step.result and step.stop_reason in (*_DELIVERED, *_WEAK)):
            state.failed = state.failed or step
            return ()
        if step.status != "completed" and step.stop_reason in _WEAK:
            state.weak = state.weak or step
        scope.values[name] = {"content": step.result}
        if kind == "categorize":
            params = cast("parts.CategorizeParams", self._params[name])
            scope.values[name]["category_name"] = step.result
            return params.category_description[step.result].to
        if kind == "userfillup":
            scope.values[name] |= parsed(step.result) or {}
        state.answer = step.result
        return None

    async def _end_at(self, run: Execution, done: StepDone) -> None:
        """End the run at a component without output, with the results so far, else with its own report."""
        error = TreadleError(f"{done.step}: {done.error}")
        reason = cast(StopReason, done.stop_reason if done.stop_reason in _SAID_NOTHING else "error")
        await finish(run, self.partial_answer(run) or done.result, reason, success=False, error=error, written=True)

    async def _agent_step(
        self, state: _Run, name: str, key: str, child_id: str, scope: Scope, done: Mapping[str, bool]
    ) -> StepDone:
        run = state.run
        agent, params = self._agents[name]
        past, question = self._conversation(run, name, params, scope)

        async def stopped(outcome: ChildOutcome) -> None:
            await run.emit(_agent_done(key, outcome))

        watch = None
        if run.log.watched and (message := self._links.sole_message(name, done)) is not None:
            content = self._content(message, cast("parts.MessageParams", self._params[message]))
            watch = state.stream.follow(message + key.removeprefix(name), content, name, scope, child_id)
        outcome = await run_child(
            self._under(agent, run.settings), run, child_id, question, history=past, stopped=stopped, watch=watch
        )
        step = _agent_done(key, outcome)
        return self._categorized(name, step) if self._kinds[name] == "categorize" and step.result else step

    def _categorized(self, name: str, done: StepDone) -> StepDone:
        import msgspec

        try:
            choice = parts.chosen_category(cast("parts.CategorizeParams", self._params[name]), done.result)
        except ToolError as error:
            return msgspec.structs.replace(done, status="failed", result="", error=str(error), stop_reason="error")
        return msgspec.structs.replace(done, result=choice)

    async def _tool_step(self, run: Execution, name: str, key: str, scope: Scope) -> StepDone:
        """A tool that is a component is called with its `arguments`, by default with the question as `query`."""
        tool = self._with_policy(self._tools[name])
        args = self._arguments(name, scope)
        calls = NestedCalls(run, key)
        outcome = await calls.call(tool.name, args, tool)
        text = outcome.full if outcome.full is not None else text_of(outcome.content)
        call = Step(0, tool.name, args, text, outcome.error, outcome.elapsed, f"{key}.0", "", outcome.artifacts)
        return StepDone(
            key,
            "failed" if outcome.error else "completed",
            text,
            text if outcome.error else "",
            outcome.elapsed,
            calls.usage,
            key=key,
            work=Work(0, (call,), {"tool_calls": 1, "failed_calls": int(bool(outcome.error))}),
        )

    def _arguments(self, name: str, scope: Scope) -> dict[str, Any]:
        params: Any = self._params.get(name)
        match self._kinds[name]:
            case "userfillup":
                return {"tips": scope.render(params.tips), "form": parts.form_schema(params.inputs)}
            case "code":
                return {"code": parts.program_of(params, scope)}
            case "invoke":
                return scope.render_all({"url": params.url, "headers": params.headers, "variables": params.variables})
            case _:
                return scope.render_all(self.document.components[name].obj.params.get("arguments", _DEFAULT_ARGUMENTS))

    def _conversation(
        self, run: Execution, name: str, params: AgentParams, scope: Scope
    ) -> tuple[list[Message], Content]:
        """Build the messages before the question, and the question itself: the last prompts of the user.

        Prompts of the system stay instructions; an exchange written out before the last prompts stays one.
        """
        texts = [(prompt.role, scope.render(prompt.content)) for prompt in params.prompts]
        system = [text for role, text in texts if role == "system"]
        if has_references(params.sys_prompt):
            system.insert(0, scope.render(params.sys_prompt))
        spoken = [(role, text) for role, text in texts if role != "system"]
        start = max((number for number, (role, _) in enumerate(spoken, 1) if role == "assistant"), default=0)
        past: list[Message] = [SystemMessage(text) for text in system]
        past += _window(history_of_flow(run), params.message_history_window_size)
        past += [
            UserMessage(text, origin="operator") if role == "user" else AssistantMessage(text, origin="operator")
            for role, text in spoken[:start]
        ]
        question = "\n\n".join(text for _, text in spoken[start:]).strip() or run.state.question
        return past, _with_images(question, run)

    # ---- what the whole document says about each of its agents

    def _under(self, agent: Agent[Any, Any], settings: Settings) -> Agent[Any, Any]:
        """Copy an agent with the settings of a run, and the plug-ins and tool policy of the document."""
        agent = copy.copy(agent)
        agent.settings = agent.settings.with_changes(settings.asdict())
        own = {getattr(plugin, "name", None) for plugin in agent.plugins}
        # Who can ask a person is asked for runs inside this one anyway.
        shared = (plugin for plugin in self.plugins if not overrides(plugin, "on_approval") and plugin.name not in own)
        agent.plugins = (*agent.plugins, *shared)
        agent.toolkit = Toolkit(self._with_policy(tool) for tool in agent.toolkit)
        return self.inside(agent)

    def _with_policy(self, tool: Tool) -> Tool:
        """Apply a policy that was set on the document's toolkit later; otherwise keep the one of the document."""
        current = self.toolkit.get(tool.name)
        changed = current is not None and current.approval != self._approvals.get(tool.name)
        return tool.replace(approval=current.approval) if current is not None and changed else tool

    # ---- what there is when the run is stopped or an answer is written

    def _results(self, run: Execution) -> dict[str, StepDone]:
        return {done.step: done for done in run.state.dag.steps.values()}

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


_WITH_EFFECTS = ("agent", "categorize", "tool", "userfillup", "code", "invoke", "iteration")
"""Kinds that take time: they run side by side."""


def _agent_done(name: str, outcome: ChildOutcome) -> StepDone:
    result = outcome.result
    delivered = outcome.good or bool(result.answer and result.stop_reason in _DELIVERED and not outcome.timed_out)
    return StepDone(
        name,
        "completed" if delivered else "failed",
        result.answer,
        "" if delivered else str(result.error or result.answer or result.stop_reason),
        result.elapsed,
        result.usage,
        key=name,
        stop_reason=result.stop_reason,
        work=outcome.work,
    )


def _system_values(run: Execution) -> dict[str, Any]:
    """Return what every run provides under `sys.`."""
    history = history_of_flow(run)
    asked = run.state.started.question if run.state.started is not None else ""
    files = [] if isinstance(asked, str) else [part for part in asked if not isinstance(part, TextPart)]
    started = date.fromtimestamp(run.state.created)
    return {
        "sys.query": run.state.question,
        "sys.user": run.origin.user,
        "sys.user_id": run.origin.user,
        "sys.files": "\n".join(part.name or part.mime for part in files),
        "sys.history": "\n".join(f"{message.role}: {_words(message)}" for message in history),
        "sys.date": started.isoformat(),
        "sys.conversation_turns": sum(isinstance(message, UserMessage) for message in history) + 1,
    }


def _words(message: Message) -> str:
    return message.text if isinstance(message, (AssistantMessage, SystemMessage)) else text_of(message.content)


def _window(history: list[Message], size: int | None) -> list[Message]:
    """The end of a conversation; the question counts as one of its messages."""
    return history if size is None else history[max(0, len(history) - size + 1) :] if size > 1 else []


def _with_images(text: str, run: Execution) -> Content:
    asked = run.state.started.question if run.state.started is not None else ""
    if isinstance(asked, str):
        return text
    return (TextPart(text), *(part for part in asked if not isinstance(part, TextPart)))
