"""The agent: a model, tools and settings, and every way to start a run of them."""

from __future__ import annotations

import asyncio
import logging
import queue
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from treadle._engine.answering.answer import SYNTHESIS, synthesis_messages
from treadle._engine.answering.output import instruction, shape_of
from treadle._engine.context import RunContext, execution_of
from treadle._engine.core.blueprint import Blueprint, Origin
from treadle._engine.core.decisions import Answer, decisions_about
from treadle._engine.core.redaction import event_redactor
from treadle._engine.loop.driver import Flow, Loop
from treadle._engine.prompt_names import check_prompt_names
from treadle._engine.result import RunResult
from treadle._engine.run import Run, new_run
from treadle._engine.settings import Settings
from treadle._engine.surfaces.answer_pieces import AnswerPieces
from treadle._engine.surfaces.bridge import bridge, drain_queue
from treadle._engine.surfaces.inputs import as_history, to_content, to_messages
from treadle._engine.surfaces.text_view import TextView
from treadle._flows import presets
from treadle._flows.agent_tool import agent_tool
from treadle._journal import open_journal
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._plugins.telemetry import watch
from treadle._safety.secrets import known_secrets
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import AnswerDone, Event, Record, RunStarted, ThinkDone
from treadle._types.ids import fresh_id
from treadle._types.messages import Message, SystemMessage, UserMessage, text_of
from treadle._types.request import Reply, Request, TextDelta

_NOT_GIVEN: Any = object()


class Agent:
    """Turns a model into a tool-using agent.

    >>> agent = Agent("openai:gpt-5", tools=[search], system="You are a librarian.")
    >>> result = agent.run_sync("Who wrote Middlemarch?")
    """

    def __init__(
        self,
        model: str | Model,
        tools: Iterable[Any] | None = _NOT_GIVEN,
        *,
        preset: str | presets.Preset = "default",
        system: str = "",
        instructions: str = "",
        plugins: Iterable[Any] = (),
        output_type: Any = None,
        journal: Journal | str | None = None,
        fallbacks: Iterable[str | Model] = (),
        prompts: Mapping[str, str] | None = None,
        name: str = "agent",
        description: str = "",
        secrets: Iterable[str] = (),
        logger: logging.Logger | None = None,
        **settings: Any,
    ) -> None:
        plugins = list(plugins)
        if tools is _NOT_GIVEN and any(getattr(plugin, "brings_tools", False) for plugin in plugins):
            tools = None
        if tools is _NOT_GIVEN or (tools is not None and not isinstance(tools, Toolkit) and not (tools := list(tools))):
            raise ConfigError("an agent needs tools: pass tools=[...]; for one that only talks, say so with tools=None")
        self.models: tuple[Model, ...] = tuple(resolve_model(spec) for spec in (model, *fallbacks))
        self.toolkit = tools if isinstance(tools, Toolkit) else Toolkit(tools or ())
        self.preset = presets.get(preset)
        self.settings = self.preset.settings.with_changes(settings)
        if self.settings.dialect == "native" and "dialect" not in settings and not self.model.profile.tool_call:
            raise TypeError(
                f"the preset {self.preset.name} needs native tool calls, and {self.model.name} makes none: "
                "choose another model or preset, dialect='auto', or dialect='native' to try it all the same"
            )
        self.output_type = output_type
        if output_type is not None:
            shape_of(output_type)  # a type that cannot be described is refused here, not after the work
        self.system, self.instructions = system, instructions
        self.plugins = tuple(plugins)
        self.prompts = dict(prompts or {})
        check_prompt_names(self.prompts, plugins)
        self.name, self.description = name, description
        self.journal = open_journal(journal) if isinstance(journal, str) else journal
        self.logger = logger
        self._secrets = tuple(secrets)
        known_secrets.keep(self, "secret", self._secrets, shortest=4)
        self._active: set[Run] = set()
        self._paused: dict[str, list[Record]] = {}

    @property
    def model(self) -> Model:
        return self.models[0]

    # ---- starting runs

    def start(
        self,
        question: Any,
        *,
        history: Iterable[Any] = (),
        run_id: str = "",
        conversation: str = "",
        user: str = "",
        parent: RunContext | None = None,
        **overrides: Any,
    ) -> Run:
        """A run that works in the background of the running event loop. Await it, or talk to it while it works."""
        return self.launch(
            self.prepare(
                question,
                history=history,
                run_id=run_id,
                conversation=conversation,
                user=user,
                parent=parent,
                **overrides,
            )
        )

    def prepare(
        self,
        question: Any,
        *,
        history: Iterable[Any] = (),
        run_id: str = "",
        conversation: str = "",
        user: str = "",
        follows: str = "",
        parent: RunContext | None = None,
        **overrides: Any,
    ) -> Run:
        """A run that has not begun yet: subscribe to it, then `launch` it."""
        settings = self.settings.with_changes(overrides)
        past = to_messages(history)
        origin = Origin(
            run_id=run_id or fresh_id(),
            question=to_content(question),
            history=tuple(as_history(past)),
            conversation=conversation,
            user=user,
            follows=follows,
        )
        return new_run(self._blueprint(settings, past), origin, journal=self._journal_under(parent), parent=parent)

    async def run(self, question: Any, **options: Any) -> RunResult:
        """Answer a question. `history=` gives the conversation so far; any setting can be overridden for this run."""
        return await self.start(question, **options)

    def run_sync(self, question: Any, **options: Any) -> RunResult:
        """The same for scripts and notebooks; works inside a running event loop too."""
        return bridge.run(self.run(question, **options))

    async def stream(self, question: Any, **options: Any) -> AsyncGenerator[Event, None]:
        """The events of a run as they happen. Leaving the loop early cancels the run.

        What happens in runs inside it (agents as tools, steps of a plan) is left out: `stream_records` has it.
        """
        async with aclosing(self.stream_records(question, **options)) as records:
            async for record in records:
                if not record.depth:
                    yield record.event

    async def stream_records(self, question: Any, **options: Any) -> AsyncGenerator[Record, None]:
        """Like `stream`, as records, those of runs inside the run too: each event with its run, that run's parent and
        depth, and its number in the log."""
        records: asyncio.Queue[Record | None] = asyncio.Queue()
        run = self.start(question, **options)
        run.subscribe(records.put_nowait)
        run.task.add_done_callback(lambda _: records.put_nowait(None))
        try:
            while (record := await records.get()) is not None:
                yield record
            await run
        finally:
            if not run.done:
                run.cancel()
                await asyncio.wait([run.task])

    async def deltas(
        self, question: Any, *, provisional: bool = True, **options: Any
    ) -> AsyncGenerator[tuple[str, int], None]:
        """The answer in pieces, each with the number of tokens the run has used so far.

        Words that the model says before it calls a tool may come first, each time followed by an empty line. With
        `provisional=False` nothing is given before it is known to be the answer.
        """
        tokens, pieces = 0, AnswerPieces(provisional=provisional)
        async with aclosing(self.stream_records(question, **options)) as records:
            async for record in records:
                if isinstance(record.event, ThinkDone):
                    tokens += record.event.usage.total_tokens
                if record.depth:
                    continue
                for text in pieces.feed(record.event):
                    yield text, tokens
                if isinstance(record.event, AnswerDone):
                    yield "", tokens

    def text(
        self, question: Any, *, skip_special_tokens: bool | None = None, **options: Any
    ) -> Generator[str, None, str]:
        """A plain generator of text: thoughts, tool input and output, answer. Its return value is the answer."""
        settings = self.settings.with_changes({k: v for k, v in options.items() if k in Settings.__struct_fields__})
        view = TextView(markers=settings.markers if skip_special_tokens is None else not skip_special_tokens)
        pieces: queue.Queue[str | None] = queue.Queue()

        def show(record: Record) -> None:
            for piece in view.feed(record):
                pieces.put(piece)

        async def work() -> RunResult:
            try:
                run = self.start(question, **options)
                run.subscribe(show)
                return await run
            finally:
                pieces.put(None)

        future = bridge.submit(work())
        yield from drain_queue(pieces, future)
        return future.result().answer

    async def resume(
        self, run: str | Run, *, approve: bool | Mapping[str, Answer] | None = None, **overrides: Any
    ) -> RunResult:
        """Resume a run that was interrupted, killed or paused. A finished run gives its result again."""
        return await self.launch(await self.load(run, approve=approve, **overrides))

    async def load(
        self,
        run: str | Run,
        *,
        approve: bool | Mapping[str, Answer] | None = None,
        parent: RunContext | None = None,
        unattended: bool = False,
        **overrides: Any,
    ) -> Run:
        """A stored run, ready to be launched.

        `unattended` is for programs that resume what they find when they start: a run that was resumed three times
        without any progress (one that kills its process) is then parked, until a person resumes it.
        """
        run_id = run if isinstance(run, str) else run.id
        journal = self._journal_under(parent)
        if journal is not None:
            records = await journal.load(run_id)
        elif not isinstance(run, str):
            records = run.records
        else:
            records = self._paused.get(run_id, [])
        if not records:
            raise RunNotFoundError(f"there is no run {run_id!r} here: give the agent the journal it was recorded in")
        started = next(record.event for record in records if record.seq == 0)
        assert isinstance(started, RunStarted)
        settings = self.settings.with_recorded(started.settings, overrides)
        if self.settings.ask and "ask" not in overrides:  # what must be asked about now, whatever held when it started
            settings = settings.with_changes({"ask": tuple(dict.fromkeys((*settings.ask, *self.settings.ask)))})
        origin = Origin(
            run_id=run_id,
            question=started.question,
            conversation=started.conversation,
            user=started.user,
            unattended=unattended,
        )
        resumed = new_run(self._blueprint(settings, []), origin, journal=journal, records=records, parent=parent)
        if approve is not None:
            paused = resumed.state.paused
            resumed.decide(*decisions_about(paused.calls if paused is not None else (), approve))
        if isinstance(run, Run):
            resumed.decide(*run.decisions)
            for text in run.unread:
                resumed.send(text)
        return resumed

    def launch(self, run: Run) -> Run:
        """Drive a prepared or loaded run in the background."""
        return self.begin(run, Loop())

    def begin(self, run: Run, flow: Flow) -> Run:
        run.begin(flow)
        watch(run, self.logger)
        self._active.add(run)
        run.task.add_done_callback(lambda _: self._ended(run))
        return run

    def as_tool(self, name: str = "", description: str = "", **options: Any) -> Tool:
        """This agent as a tool for another one."""
        return agent_tool(self, name=name, description=description, **options)

    def resume_sync(self, run: str | Run, **options: Any) -> RunResult:
        return bridge.run(self.resume(run, **options))

    # ---- while runs work

    def stop(self) -> None:
        """Stop every run of this agent that is under way."""
        for run in tuple(self._active):
            run.cancel()

    def update_toolkit(self, tools: Iterable[Any]) -> None:
        """Swap the tools: for runs to come, and for those under way from their next round on."""
        self.toolkit = tools if isinstance(tools, Toolkit) else Toolkit(tools)
        for run in tuple(self._active):
            run.swap_toolkit(self.toolkit)

    async def stream_answer(self, result: RunResult) -> AsyncIterator[str]:
        """Write an answer from a finished run's trace, in pieces; the loop's own answer if that fails."""
        question = next((text_of(m.content) for m in result.messages if isinstance(m, UserMessage) and m.pinned), "")
        prompt = self.prompts.get("synthesis", SYNTHESIS)
        messages = synthesis_messages(
            prompt, question, result.steps, result.brief, self.settings.synthesis_chars,
            system=self._system_text([]), transcript=result.messages,
        )  # fmt: skip
        shown = False
        try:
            async for part in self.model.stream(Request(messages=messages, stream=True, component="synthesis")):
                if (isinstance(part, TextDelta) and part.text) or (isinstance(part, Reply) and part.text and not shown):
                    shown = True
                    yield part.text
        except Exception:
            if shown:
                raise
        if not shown:
            yield result.brief

    # ---- inside

    def _journal_under(self, parent: RunContext | None) -> Journal | None:
        """A run inside another is stored where that one is."""
        return execution_of(parent).log.journal if parent is not None else self.journal

    def _blueprint(self, settings: Settings, past: Sequence[Message]) -> Blueprint:
        plugins = presets.plugins_for(self.preset, settings, self.plugins)
        if settings.budget is not None and settings.max_tokens is None:
            # The worst case can only be reserved if there is one.
            settings = settings.with_changes({"max_tokens": self.model.profile.max_output or 4096})
        return Blueprint(
            models=self.models,
            toolkit=self.toolkit,
            settings=settings,
            plugins=tuple(plugins),
            system=self._system_text(past),
            prompts=self.prompts,
            output_type=self.output_type,
            name=self.name,
            redact=event_redactor(self._secrets),
        )

    def _system_text(self, past: Sequence[Message]) -> str:
        system = [message.text for message in past if isinstance(message, SystemMessage) and not message.rendered]
        shape = instruction(self.output_type) if self.output_type is not None else ""
        # Where each reply is a list of calls, how to choose them is how to plan.
        how = self.prompts.get("plan_generation", "") if self.settings.dialect == "array" else ""
        return "\n\n".join(text for text in (self.system, *system, self.instructions, how, shape) if text)

    def _ended(self, run: Run) -> None:
        self._active.discard(run)
        if run.journal is None:
            if run.state.paused is not None:
                self._paused[run.id] = run.records
            else:
                self._paused.pop(run.id, None)
