"""The caller's handle of a run: await it, talk to it while it works, watch it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any, Generic

import msgspec

from treadle._engine.acting.eager import Eager
from treadle._engine.answering.partial import PartialReader
from treadle._engine.context import RunContext, execution_of
from treadle._engine.core.blueprint import Blueprint, Origin
from treadle._engine.core.decisions import decision_of
from treadle._engine.core.execution import Execution
from treadle._engine.core.log import Sink
from treadle._engine.generics import NO_DEPS, OutputT_co
from treadle._engine.loop.driver import Flow, drive, result_now
from treadle._engine.result import RunResult
from treadle._engine.settings import Settings
from treadle._engine.surfaces.inputs import to_content
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._types.events import Approved, OutputPartial, Record, ReplyConstrained, ToolAnswered
from treadle._types.messages import Part, SystemMessage, UserMessage
from treadle._types.request import Request
from treadle._types.state import RunState


def new_run(
    blueprint: Blueprint,
    origin: Origin,
    *,
    journal: Journal | None = None,
    records: Sequence[Record] = (),
    parent: RunContext | None = None,
    deps: Any = NO_DEPS,
) -> Run[Any]:
    """A run that has not begun yet; with `records`, one that is to be resumed where they end."""
    outer = execution_of(parent) if parent is not None else None
    execution = Execution(blueprint, origin, journal=journal, records=records, parent=outer, deps=deps)
    execution.early, execution.make_context = Eager(), RunContext
    if blueprint.output_type is not None:
        execution.answer.read_typed(PartialReader(blueprint.output_type))
    return Run(execution)


def beginning_of(run: Run[Any]) -> Request | None:
    """Return what the first request of a run will begin with, as far as that is known before it starts: its system
    prompt. None when the prompt is made for each run. Plug-ins may still change it."""
    execution = run._execution  # pyright: ignore[reportPrivateUsage] - of this module
    blueprint, tools = execution.blueprint, execution.tools.at_start
    if blueprint.system_of is not None:
        return None
    system = execution.current.dialect.system(blueprint.system, tools, execution.prompts)
    encoding = execution.current.dialect.encode(tools, execution.current.model.profile)
    return Request([SystemMessage(system)], format=encoding.format, tuned=encoding.tuned) if system else None


def tokens_at_start(run: Run[Any]) -> int:
    """Estimate the tokens of the first request of a run that has not begun."""
    execution, beginning = run._execution, beginning_of(run)  # pyright: ignore[reportPrivateUsage] - of this module
    origin, current = execution.origin, execution.current
    encoding = current.dialect.encode(execution.tools.at_start, current.model.profile)
    said = [*(beginning.messages if beginning is not None else ()), *origin.history, UserMessage(origin.question)]
    return current.estimator.tokens(Request(said, encoding.tools))


class Run(Generic[OutputT_co]):
    """Await it for the result; `send`, `recall`, `approve` and `cancel` work from any thread while it runs."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._context = execution.context

    @property
    def id(self) -> str:
        return self._execution.id

    @property
    def state(self) -> RunState:
        """Where the run stands: the fold of its records."""
        return self._execution.state

    @property
    def records(self) -> list[Record]:
        return self._execution.log.records

    @property
    def model(self) -> Model:
        """The model in use."""
        return self._execution.current.model

    @property
    def settings(self) -> Settings:
        return self._execution.settings

    @property
    def journal(self) -> Journal | None:
        return self._execution.log.journal

    @property
    def blueprint(self) -> Blueprint:
        """Return what the agent decided before the run started."""
        return self._execution.blueprint

    @property
    def context(self) -> RunContext[Any]:
        """Return what plug-ins and tools see of this run."""
        return self._context

    @property
    def has_parent(self) -> bool:
        return self._execution.parent is not None

    def sign(self, mark: str) -> None:
        """Record with its start that a server started it."""
        self._execution.origin = msgspec.structs.replace(self._execution.origin, mark=mark)

    # ---- its task

    def begin(self, flow: Flow) -> Run[OutputT_co]:
        """Drive it in the background of the running event loop."""
        self._execution.life.begin(drive(self._execution, flow), name=f"treadle-run-{self.id}")
        return self

    @property
    def task(self) -> asyncio.Task[RunResult[OutputT_co]]:
        task = self._execution.life.task
        assert task is not None, "the run was not started"
        return task

    @property
    def begun(self) -> bool:
        return self._execution.life.task is not None

    @property
    def done(self) -> bool:
        return self.begun and self.task.done()

    def __await__(self) -> Generator[Any, None, RunResult[OutputT_co]]:
        return self._wait().__await__()

    async def _wait(self) -> RunResult[OutputT_co]:
        task = self.task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                # The one who waits was cancelled, not the run: stop it too, and let it leave a whole log behind.
                self.cancel()
                await asyncio.wait([task])
            raise

    # ---- while it works

    def send(self, message: str | Sequence[Part | str]) -> str:
        """Say something while the run works, in text or parts.
        Returns an id for `recall`; `RunEndedError` when nobody will read it."""
        return self._execution.inbox.send(message if isinstance(message, str) else to_content(message))

    def recall(self, message_id: str) -> bool:
        """Take back a message the run has not read yet; False if it has."""
        return self._execution.inbox.recall(message_id)

    def approve(
        self,
        call_id: str,
        allow: bool = True,
        *,
        args: dict[str, Any] | None = None,
        always: bool = False,
        by: str = "",
        note: str = "",
    ) -> None:
        """Decide about a call that waits for approval; `Agent.resume` then continues the run.

        `args` take the place of the model's; `always` allows every later call of this tool in this run.
        """
        answer = {"allow": allow, "args": args, "always": always, "by": by, "note": note}
        self.decide(decision_of(call_id, answer))

    def decide(self, *decisions: Approved | ToolAnswered | ReplyConstrained) -> None:
        self._execution.inbox.decisions.extend(decisions)

    @property
    def decisions(self) -> list[Approved | ToolAnswered | ReplyConstrained]:
        """Decisions and results that were given and not yet recorded."""
        return list(self._execution.inbox.decisions)

    def swap_toolkit(self, toolkit: Any) -> None:
        """Offer other tools from the next round on. Safe from any thread."""
        self._execution.tools.swap_later(toolkit)

    @property
    def listens(self) -> bool:
        """Return whether a message that is sent now will be read, or at least reported as unread."""
        return not self._execution.inbox.closed

    @property
    def unread(self) -> tuple[str, ...]:
        """Messages that wait to be read."""
        return self._execution.inbox.unread()

    def cancel(self) -> bool:
        """Stop model and tools as soon as possible. The log is left whole. False if it is too late for that."""
        return self.stop("cancelled")

    def stop(self, why: str) -> bool:
        """Stop it for a reason other than the caller's wish (`budget`)."""
        return self._execution.life.stop(why)

    async def abandon(self) -> None:
        """Let go without recording an end, as a crash would, for another driver to resume."""
        await self._execution.life.abandon()

    def subscribe(self, sink: Sink, *, live: bool = True, restored: bool = True) -> Callable[[], None]:
        """Show every later record to `sink`; returns what ends it. Nothing is streamed for one that is not `live`. What
        is masked in the log is `restored` in the answer, for one that is."""
        return self._execution.log.subscribe(sink, live=live, restored=restored)

    async def partial_output(self) -> AsyncGenerator[OutputPartial, None]:
        """The typed answer while it grows, of an agent with an `output_type`; ends with the run.

        Ask for it right after `agent.start(...)`: what was written before is not given again.
        """
        grown: asyncio.Queue[OutputPartial | None] = asyncio.Queue()

        def sink(record: Record) -> None:
            if record.run == self.id and isinstance(record.event, OutputPartial):
                grown.put_nowait(record.event)

        unsubscribe = self.subscribe(sink)
        self.task.add_done_callback(lambda _: grown.put_nowait(None))
        try:
            while (partial := await grown.get()) is not None:
                yield partial
        finally:
            unsubscribe()

    def forward(self, record: Record) -> None:
        """Show a record of a run inside this one to whoever watches this one."""
        self._execution.log.forward(record)

    def result(self) -> RunResult[OutputT_co]:
        """The result it amounts to at this moment."""
        return result_now(self._execution)
