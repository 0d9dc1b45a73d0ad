"""The agent: a model, tools and settings, and every way to start a run of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast, overload

from msgspec import Struct
from msgspec.structs import replace

from treadle._agent import checks, presets
from treadle._agent.deps import Instructions, deps_for, require_deps, text_for
from treadle._agent.surfaces import Surfaces, all_ended
from treadle._engine.generics import NO_DEPS, DepsT, OutputT_co
from treadle._engine.prompt_names import check_prompt_names
from treadle._engine.settings import (
    GROUPS,
    AnswerSettings,
    ContextSettings,
    ModelSettings,
    RunLimits,
    Settings,
    ToolSettings,
    flat_settings,
)
from treadle._models.base import Closing, Model
from treadle._models.catalog.registry import resolve_model
from treadle._safety.secrets import known_secrets
from treadle._tools.toolkit import Toolkit, ToolLike, toolkit_of
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Record, RunFinished, RunStarted
from treadle._types.ids import fresh_id
from treadle._types.messages import SystemMessage

if TYPE_CHECKING:  # what a run is made of is imported by the first one
    import logging

    from typing_extensions import TypeVar, Unpack

    from treadle._engine.context import RunContext
    from treadle._engine.core.blueprint import Blueprint
    from treadle._engine.core.decisions import Answer
    from treadle._engine.loop.driver import Flow
    from treadle._engine.options import AgentOptions, FlatAgentOptions, RunOptions, SettingOptions
    from treadle._engine.plugin import Plugin
    from treadle._engine.result import RunResult
    from treadle._engine.run import Run
    from treadle._journal.base import Journal
    from treadle._tools.base import Tool
    from treadle._tools.skills.skill import Skill
    from treadle._types.events import ReplyConstrained
    from treadle._types.messages import Content, Message

    AnyDepsT = TypeVar("AnyDepsT", default=Any)

_NOT_GIVEN: Any = object()


class AgentDetails(Struct, frozen=True, kw_only=True):
    """What an agent is given by name beside the parameters of its signature and its settings; described in
    `_engine.options`."""

    instructions: Instructions = ""
    workspace: str | PathLike[str] | Plugin | None = None
    skills: Iterable[str | PathLike[str] | Skill] = ()
    deps_type: type[Any] | None = None
    deps: Any = NO_DEPS
    fallbacks: Iterable[str | Model] = ()
    prompts: Mapping[str, str] | None = None
    name: str = "agent"
    description: str = ""
    secrets: Iterable[str] = ()
    logger: logging.Logger | None = None


_NO_DETAILS = AgentDetails()
_NO_GROUPS = (None,) * len(GROUPS)


def _split_details(options: dict[str, Any]) -> tuple[AgentDetails, dict[str, Any]]:
    """Separate the details of an agent from its settings."""
    if not options:  # as often: an agent may be made for every request
        return _NO_DETAILS, {}
    names = AgentDetails.__struct_fields__
    details = {name: value for name, value in options.items() if name in names}
    return AgentDetails(**details), {name: value for name, value in options.items() if name not in names}


class Agent(Surfaces[OutputT_co, DepsT], Closing):
    """Turns a model into a tool-using agent.

    >>> agent = Agent("openai:gpt-5", tools=[search], system="You are a librarian.")
    >>> result = agent.run_sync("Who wrote Middlemarch?")

    `Agent[City]` is one with `output_type=City`: its `result.output` is a `City`. `async with Agent(...) as agent:`
    closes at its end what the agent has opened.
    """

    takes_client_tools = True
    """Whether its runs may be given tools by their callers."""

    @overload
    def __init__(
        self: Agent[str, AnyDepsT],
        model: str | Model,
        tools: Iterable[ToolLike] | None = ...,
        *,
        output_type: None = None,
        **options: Unpack[AgentOptions[AnyDepsT]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        model: str | Model,
        tools: Iterable[ToolLike] | None = ...,
        *,
        output_type: type[OutputT_co],
        **options: Unpack[AgentOptions[DepsT]],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Any, AnyDepsT],
        model: str | Model,
        tools: Iterable[ToolLike] | None = ...,
        *,
        output_type: Any,
        **options: Unpack[AgentOptions[AnyDepsT]],
    ) -> None: ...
    def __init__(
        self,
        model: str | Model,
        tools: Iterable[ToolLike] | None = None,
        *,
        system: Instructions = "",
        output_type: Any = None,
        preset: presets.PresetName | presets.Preset = "default",
        plugins: Iterable[Any] = (),
        journal: Journal | str | PathLike[str] | None = None,
        limits: RunLimits | None = None,
        model_settings: ModelSettings | None = None,
        tool_settings: ToolSettings | None = None,
        context: ContextSettings | None = None,
        answering: AnswerSettings | None = None,
        **options: Unpack[FlatAgentOptions[DepsT]],
    ) -> None:
        details, flat = _split_details(cast("dict[str, Any]", options))
        groups = (limits, model_settings, tool_settings, context, answering)
        plugins = [*checks.plugins_of(plugins), *checks.skills_of(details.skills)]
        if details.workspace is not None:
            plugins.insert(0, checks.workspace_of(details.workspace))
        self.toolkit = toolkit_of(tools)
        fallbacks = checks.listed("fallbacks", details.fallbacks)
        self.models: tuple[Model, ...] = (resolve_model(model), *map(resolve_model, fallbacks))
        named = zip(self.models, (model, *fallbacks), strict=True)
        self._opened: list[Any] = [made for made, spec in named if isinstance(spec, str)]
        checks.refuse_names_given_twice(self.toolkit, plugins)
        self.preset = presets.get(preset)
        # What was chosen beside the preset stays when that is another one.
        self.chosen = (
            flat_settings({**flat, **dict(zip(GROUPS, groups, strict=True))}) if groups != _NO_GROUPS else flat
        )
        self.settings = presets.settings_for(self.preset, self.chosen, self.model)
        checks.check_dialect(self.settings.dialect)
        checks.warn_about_names(self.settings.ask, self.toolkit, bool(plugins))
        self.output_type = output_type
        if output_type is not None:
            from treadle._engine.answering.output import shape_of

            shape_of(output_type)  # a type that cannot be described is refused here, not after the work
        self.deps_type = details.deps_type
        self.deps: Any = details.deps
        checks.check_texts(system=system, instructions=details.instructions)
        self.system, self.instructions = system, details.instructions
        self.plugins = tuple(plugins)
        self.prompts = dict(details.prompts or {})
        check_prompt_names(self.prompts, plugins)
        self.name, self.description = details.name, details.description
        self.journal = checks.journal_of(journal)
        if self.journal is not journal:
            self._opened.append(self.journal)
        self.logger = details.logger
        self._secrets = tuple(checks.listed("secrets", details.secrets))
        known_secrets.keep(self, "secret", self._secrets, shortest=4)
        self._active: set[Run[Any]] = set()
        self._paused: dict[str, list[Record]] = {}

    @property
    def model(self) -> Model:
        return self.models[0]

    # ---- starting runs

    def start(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> Run[OutputT_co]:
        """A run that works in the background of the running event loop. Await it, or talk to it while it works."""
        return self.launch(self.prepare(question, **options))

    def prepare(
        self,
        question: Any,
        *,
        history: Iterable[Any] = (),
        run_id: str = "",
        conversation: str = "",
        user: str = "",
        follows: str = "",
        parent: RunContext[Any] | None = None,
        deps: DepsT = NO_DEPS,
        client_tools: Sequence[Tool] = (),
        output_schema: dict[str, Any] | None = None,
        constraint: ReplyConstrained | None = None,
        **overrides: Unpack[SettingOptions],
    ) -> Run[OutputT_co]:
        """A run that has not begun yet: subscribe to it, then `launch` it. `client_tools` are external tools that this
        run has beside the agent's, `output_schema` what its answer has to be, `constraint` which of the client's tools
        have to be called; all are recorded with it."""
        if client_tools and not self.takes_client_tools:
            raise ConfigError(f"the agent {self.name!r} follows a plan of its own: it takes no tools from its callers")
        from treadle._engine.core.blueprint import Origin
        from treadle._engine.run import new_run
        from treadle._engine.surfaces.inputs import as_history, to_content, to_messages

        settings = self.settings.with_changes(cast("dict[str, Any]", overrides))
        past = to_messages(history)
        origin = Origin(
            run_id=run_id or fresh_id(),
            question=self._with_files(to_content(question), settings),
            history=tuple(as_history(past)),
            conversation=conversation,
            user=user,
            follows=follows,
            output_schema=output_schema,
            client_tools=tuple(tool.name for tool in client_tools),
            constraint=constraint,
        )
        given = self._deps_for(deps, parent, "agent.run(question, deps=...)")
        journal = self._journal_under(parent)
        blueprint = self._blueprint(settings, past, client_tools, output_schema)
        return new_run(blueprint, origin, journal=journal, parent=parent, deps=given)

    def _with_files(self, question: Content, settings: Settings) -> Content:
        """The question with the files that go with it, as this agent reads them."""
        if isinstance(question, str) and not settings.files:
            return question
        from treadle._plugins.run_files import with_files

        return with_files(question, settings.files, in_folder=presets.takes_files(self))

    async def load(
        self,
        run: str | Run[Any] | RunResult[Any],
        *,
        approve: bool | Mapping[str, Answer] | None = None,
        results: Mapping[str, Any] | None = None,
        parent: RunContext[Any] | None = None,
        unattended: bool = False,
        deps: DepsT = NO_DEPS,
        **overrides: Unpack[SettingOptions],
    ) -> Run[OutputT_co]:
        """A stored run, ready to be launched.

        `unattended` is for programs that resume what they find when they start: a run that was resumed three times
        without any progress (one that kills its process) is then parked, until a person resumes it.
        """
        from treadle._engine.core.blueprint import Origin
        from treadle._engine.core.decisions import decisions_about, results_for, waiting_calls
        from treadle._engine.core.experiment import refuse_experiment
        from treadle._engine.result import RunResult
        from treadle._engine.run import Run, new_run
        from treadle._tools.external import client_tool

        run_id = run if isinstance(run, str) else run.run_id if isinstance(run, RunResult) else run.id
        journal = self._journal_under(parent)
        if journal is not None:
            records = await journal.load(run_id)
        elif isinstance(run, Run):
            records = run.records
        else:
            records = self._paused.get(run_id, [])
        if not records:
            raise RunNotFoundError(f"there is no run {run_id!r} here: give the agent the journal it was recorded in")
        started = next(record.event for record in records if record.seq == 0)
        assert isinstance(started, RunStarted)
        recorded = {} if started.origin == "imported" else started.settings  # a stranger's settings are not ours
        settings = self.settings.with_recorded(recorded, cast("dict[str, Any]", overrides))
        origin = Origin(
            run_id=run_id,
            question=started.question,
            conversation=started.conversation,
            user=started.user,
            unattended=unattended,
        )
        over = isinstance(records[-1].event, RunFinished)
        if not over:
            refuse_experiment(run_id, records, self.plugins)
        given = NO_DEPS if over else self._deps_for(deps, parent, f"agent.resume({run_id!r}, deps=...)")
        brought = [
            client_tool(schema.name, schema.description, schema.parameters)
            for schema in started.tools
            if schema.name in started.client_tools and not over
        ]
        blueprint = self._blueprint(settings, [], brought, started.output_schema)
        resumed = new_run(blueprint, origin, journal=journal, records=records, parent=parent, deps=given)
        waiting = waiting_calls(resumed.state)
        if approve is not None:
            resumed.decide(*decisions_about(waiting, approve))
        if results is not None:
            resumed.decide(*results_for(waiting, results, resumed.context.tool))
        if isinstance(run, Run):
            resumed.decide(*run.decisions)
            for text in run.unread:
                resumed.send(text)
        return resumed

    def launch(self, run: Run[Any]) -> Run[OutputT_co]:
        """Drive a prepared or loaded run in the background."""
        from treadle._engine.loop.driver import Loop

        return self.begin(run, Loop())

    def begin(self, run: Run[Any], flow: Flow) -> Run[OutputT_co]:
        from treadle._plugins.telemetry import watch

        run.begin(flow)
        watch(run)
        self._active.add(run)
        run.task.add_done_callback(lambda _: self._ended(run))
        return run

    # ---- for a while

    @contextmanager
    def override(
        self,
        *,
        model: str | Model | None = None,
        tools: Iterable[ToolLike] | None = _NOT_GIVEN,
        plugins: Iterable[Any] | None = None,
        deps: DepsT = NO_DEPS,
        **settings: Unpack[SettingOptions],
    ) -> Generator[Self]:
        """Give runs that start in the block another model, tools, plug-ins, deps or settings, for tests."""
        before = (self.models, self.toolkit, self.plugins, self.deps, self.settings)
        changed = self.settings.with_changes(cast("dict[str, Any]", settings))
        toolkit = self.toolkit if tools is _NOT_GIVEN else toolkit_of(tools)
        if model is not None:
            self.models = (resolve_model(model),)
        self.toolkit, self.settings = toolkit, changed
        self.plugins = self.plugins if plugins is None else tuple(plugins)
        self.deps = self.deps if deps is NO_DEPS else deps
        try:
            yield self
        finally:
            self.models, self.toolkit, self.plugins, self.deps, self.settings = before

    async def aclose(self) -> None:
        """Stop the runs that are under way, and close what this agent has opened
        itself. What you made yourself stays open."""
        runs = [run.task for run in self._active if not run.done]
        self.stop()
        await all_ended(runs)
        for opened in (*self.plugins, *self._opened):
            if (close := getattr(opened, "aclose", None)) is not None:
                await close()

    # ---- while runs work

    def stop(self) -> None:
        """Stop every run of this agent that is under way."""
        for run in tuple(self._active):
            run.cancel()

    def update_toolkit(self, tools: Iterable[ToolLike]) -> None:
        """Swap the tools, for runs under way from their next round on."""
        self.toolkit = tools if isinstance(tools, Toolkit) else Toolkit(tools)
        for run in tuple(self._active):
            run.swap_toolkit(self.toolkit)

    # ---- inside

    def _journal_under(self, parent: RunContext[Any] | None) -> Journal | None:
        """A run inside another is stored where that one is."""
        if parent is None:
            return self.journal
        from treadle._engine.context import execution_of

        return execution_of(parent).log.journal

    def _blueprint(
        self,
        settings: Settings,
        past: Sequence[Message],
        brought: Sequence[Tool] = (),
        output_schema: dict[str, Any] | None = None,
    ) -> Blueprint:
        from treadle._engine.core.blueprint import Blueprint
        from treadle._engine.core.redaction import event_redactor

        output_type = self.output_type if output_schema is None else output_schema
        plugins = presets.plugins_for(self.preset, settings, self.plugins)
        if settings.budget is not None and settings.max_tokens is None:
            # The worst case can only be reserved if there is one.
            settings = settings.with_changes({"max_tokens": self.model.profile.max_output or 4096})
        return Blueprint(
            models=self.models,
            toolkit=self.toolkit,
            brought=tuple(brought),
            settings=settings,
            preset=self.preset.name,
            plugins=tuple(plugins),
            system=self._system_text(past, output_type=output_type),
            system_of=self._system_of(past, output_type),
            prompts=self.prompts,
            output_type=output_type,
            name=self.name,
            redact=event_redactor(self._secrets),
            logger=self.logger,
        )

    def _system_text(
        self, past: Sequence[Message], own: Sequence[Instructions] = (), output_type: Any = _NOT_GIVEN
    ) -> str:
        """The system prompt; instructions that are functions are left out unless `own` has what they gave."""
        own = [text if isinstance(text, str) else "" for text in own or (self.system, self.instructions)]
        system = [message.text for message in past if isinstance(message, SystemMessage) and not message.rendered]
        wanted = self.output_type if output_type is _NOT_GIVEN else output_type
        shape = ""
        if wanted is not None:
            from treadle._engine.answering.output import instruction

            shape = instruction(wanted)
        # Where each reply is a list of calls, how to choose them is how to plan.
        how = self.prompts.get("plan_generation", "") if self.settings.dialect == "array" else ""
        # The step of a plan has the system prompt of the whole, with what plug-ins say in it.
        given = [text for plugin in self.plugins if (text := getattr(plugin, "instructions", "")) not in own[0]]
        return "\n\n".join(text for text in (own[0], *system, own[1], *given, how, shape) if text)

    def _system_of(
        self, past: Sequence[Message], output_type: Any
    ) -> Callable[[RunContext[Any]], Awaitable[str]] | None:
        """How the system prompt is put together when the run starts, where instructions are functions of it."""
        parts = (self.system, self.instructions)
        if all(isinstance(part, str) for part in parts):
            return None

        async def system(run: RunContext[Any]) -> str:
            return self._system_text(past, [await text_for(part, run) for part in parts], output_type)

        return system

    def _rewriting(self, result: RunResult[Any], user: str) -> Run[Any]:
        from treadle._agent.rewriting import Rewriting
        from treadle._engine.run import new_run

        flow = Rewriting(result)
        blueprint = replace(
            self._blueprint(self.settings.with_changes({"answer": "synthesize"}), []),
            toolkit=Toolkit(()),
            plugins=tuple(plugin for plugin in self.plugins if getattr(plugin, "masks", False)),
            system=self._system_text([]),
            system_of=None,
            output_type=None,
        )
        return self.begin(new_run(blueprint, flow.origin(user)), flow)

    def _deps_for(self, given: Any, parent: RunContext[Any] | None, how: str) -> Any:
        deps = deps_for(given, self.deps, parent, self.deps_type)
        if deps is NO_DEPS and self.toolkit.needs_deps:
            require_deps(self.toolkit.needs_deps, how)
        return deps

    def _ended(self, run: Run[Any]) -> None:
        self._active.discard(run)
        if run.journal is None:
            if run.state.paused is not None:
                self._paused[run.id] = run.records
            else:
                self._paused.pop(run.id, None)
