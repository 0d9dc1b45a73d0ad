"""A run as this process drives it: the engine's private state.

The caller holds a `Run`, plug-ins and tools get a `RunContext`; both are views of this object, and only the engine and
what drives runs (flows, documents) see it. Inside the engine, `run` is an `Execution`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

import msgspec
from msgspec import Struct

from treadle._dialects.base import Prompts
from treadle._engine.core.answer_stream import AnswerStream
from treadle._engine.core.blueprint import Blueprint, Origin
from treadle._engine.core.budget import BudgetTracker
from treadle._engine.core.experiment import EXPERIMENT, takes_part
from treadle._engine.core.hooks import Hooks
from treadle._engine.core.inbox import Inbox
from treadle._engine.core.lifecycle import Lifecycle
from treadle._engine.core.log import Log
from treadle._engine.core.model_in_use import ModelInUse
from treadle._engine.core.tool_offer import ToolOffer
from treadle._engine.generics import NO_DEPS
from treadle._engine.requests.media import prepared_message
from treadle._engine.settings import PROVENANCE, Settings
from treadle._journal.base import Journal
from treadle._types.errors import BudgetExhaustedError, ConfigError
from treadle._types.events import Injected, Record, ThinkDone, ToolsChanged
from treadle._types.ids import tenant_of
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.request import CallDelta
from treadle._types.state import RunState

if TYPE_CHECKING:
    from treadle._engine.core.masks import Masks

MAX_EXTRA_ITERATIONS = 10
"""How many iterations interrupts may add to a run that was about to answer or at its limit."""


class EarlyCalls(Protocol):
    """Calls that start while the model still writes."""

    def feed(self, run: Execution, part: CallDelta) -> None: ...
    def take(self, call: ToolCall) -> asyncio.Task[Any] | None: ...
    def discard(self) -> None: ...


class CallsInProcess(Struct):
    """What this process remembers about the calls of a run; a log has none of it."""

    asks: frozenset[str]
    """Tools that need approval whatever they say themselves, in this run and in those inside it."""
    used_ids: set[str]
    """The ids of all calls so far."""
    asked: dict[str, str] = {}
    """Why a person is asked about a call, by its id, where its tool does not always ask."""
    permitted: dict[str, int] = {}
    """Which entry of the intent permits a call, from the moment it was checked."""
    lookups: set[str] = set()
    """Calls that the engine makes itself, of sources that the intent names."""
    redirects: set[str] = set()
    """Calls whose address a server has given, not the model."""
    extras: dict[str, Any] = {}
    """Python objects the last tool left for the next call."""
    exceptions: dict[str, BaseException] = {}
    """What tools raised, by the id of the call: for the developer, in the result."""


class Ending(Struct):
    """How the run ends, as far as it is known before its last record."""

    error: BaseException | None = None
    """What the result reports."""
    raises: BaseException | None = None
    """What the caller gets raised."""
    output: Any = None
    exhausted: BudgetExhaustedError | None = None
    """A budget that ran out while calls were open: the run ends when they are closed."""


def ids_of_calls(state: RunState) -> set[str]:
    messages = (one for one in state.conversation.transcript if isinstance(one, AssistantMessage))
    return {call.id for message in messages for call in message.calls}


class Execution:
    """The log and everything around it that does not survive the process."""

    early: EarlyCalls
    make_context: Callable[[Execution], Any]
    """Both are set by whoever puts the run together."""
    partial_answer: Callable[[Execution], str]
    """The answer of a run that is stopped half-way; set by the driver."""

    def __init__(
        self,
        blueprint: Blueprint,
        origin: Origin,
        *,
        journal: Journal | None = None,
        records: Sequence[Record] = (),
        parent: Execution | None = None,
        deps: Any = NO_DEPS,
    ) -> None:
        self.blueprint, self.origin, self.id = blueprint, origin, origin.run_id
        self.deps = deps
        """What the program gave the run for its tools and plug-ins; it never reaches a model or the log."""
        self.parent = parent
        self.settings = _as_careful_as(parent, blueprint.settings)
        parent_id = parent.id if parent is not None else ""
        self.masks = _masks_of(blueprint.plugins, origin.user, parent)
        self.log = Log(
            self.id, parent=parent_id, depth=self.depth, journal=journal, redact=blueprint.redact, masks=self.masks,
            records=records,
        )  # fmt: skip
        self.state = self.log.state
        self.emit, self.defer, self.show = self.log.emit, self.log.defer, self.log.show
        self.answer = AnswerStream(self.log)
        self.inbox = Inbox(self.id, journal)
        self.life = Lifecycle(parent.life if parent is not None else None)
        above = parent.budget if parent is not None else None
        self.shared = parent.shared if parent is not None else None
        """The budgets that it shares with other runs."""
        if self.settings.budgets:
            from treadle._engine.core.shared_budgets import SharedBudgets

            names = {"user": origin.user, "tenant": tenant_of(origin.user), "agent": blueprint.name, "all": ""}
            self.shared = SharedBudgets(self.settings.budgets, names, journal, above, self.shared)
            above = self.shared.innermost
        self.budget = BudgetTracker(
            self.settings.budget,
            parent=above,
            spent=self.state.usage,
            seconds=self.state.elapsed,
        )
        plugins = tuple(filter(takes_part, blueprint.plugins)) if self.in_experiment else blueprint.plugins
        self.hooks = Hooks(plugins)
        self.tools = ToolOffer(blueprint.toolkit, plugins, blueprint.brought)
        self.limits = self.settings.limits
        prompts = dict(blueprint.prompts)
        self.prompts = Prompts(prompts if self.masks is None else self.masks.masked(prompts))
        self.current = ModelInUse(blueprint, self.settings, self.log, self.budget, self.tools, self.prompts)
        """The model in use, with its dialect and its renderer."""
        around = parent.calls.asks if parent is not None else frozenset[str]()
        self.calls = CallsInProcess(asks=around | frozenset(self.settings.ask), used_ids=ids_of_calls(self.state))
        self.overflows = 0
        """Context overflows in a row."""
        self.rounds_reviewed = -1
        """The number of steps when `after_round` was called last."""
        self.ending = Ending()
        self._context: Callable[[], Any] = lambda: None
        self.findings: Callable[[Execution], str] = lambda run: ""
        """What runs inside this one have found, for the model that writes its answer; set by the driver."""
        self.recovered: dict[tuple[str, str], list[ThinkDone]] = {
            key: list(replies) for key, replies in self.state.turn.replies.items()
        }
        """Advisers' replies that a process before this one got in the current round."""

    @property
    def context(self) -> Any:
        """The `RunContext` that plug-ins and tools get. It keeps the run, and whoever drives the run keeps it: if each
        kept the other, a run that has ended would stay in memory, with its files, until the collector came."""
        context = self._context()
        if context is None:
            context = self.make_context(self)
            self._context = ref(context)
        return context

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def around(self) -> Iterator[Execution]:
        """This run and those it is inside of."""
        now: Execution | None = self
        while now is not None:
            yield now
            now = now.parent

    @property
    def in_experiment(self) -> bool:
        """Return whether its log, or that of a run around it, says that it only tries something out: nothing with an
        effect may run in it, whoever drives it."""
        return EXPERIMENT in self.state.notes or (self.parent is not None and self.parent.in_experiment)

    # ---- what goes into the log

    async def flush(self) -> None:
        """Store what was deferred, before something slow or visible happens."""
        if self.log.deferred:
            await self.log.emit()

    async def drain(self, *, at_once: bool = False) -> bool:
        """Bring what arrived meanwhile into the conversation. True if there was something."""
        await self.inbox.fetch(at_once=at_once)
        if self.inbox.cancelled and not self.life.stopping:
            self.life.stop("cancelled")
        if self.state.answer.pending and self.state.turn.extra_iterations >= MAX_EXTRA_ITERATIONS:
            return False  # somebody keeps talking: what is left unread is reported with the result
        items = self.inbox.drain()
        if not items:
            return False
        self.answer.retract()
        try:
            ready = [await prepared_message(content, self.blueprint.models) for _, content in items]
        except BaseException:
            self.inbox.put_back(items)
            raise
        texts = tuple(text for text, _ in ready)
        media = tuple(part for _, parts in ready for part in parts)
        await self.emit(Injected(tuple(item_id for item_id, _ in items), texts, media))
        return True

    async def last_drain(self) -> bool:
        """Drain it and, if there was nothing, take no more messages: whoever sends one later is told."""
        self.inbox.close()
        if await self.drain(at_once=True):
            self.inbox.reopen()
            return True
        return False

    async def close_inbox(self) -> None:
        """Take no more messages; what has arrived and was not read is left in the inbox."""
        if not self.inbox.closed:
            self.inbox.close()
            await self.inbox.fetch(at_once=True)

    async def apply_swap(self) -> None:
        if self.tools.swap is not None:
            await self.offer(self.tools.apply_swap(self.state), "toolkit swapped")

    async def offer(self, names: Sequence[str], reason: str, deferred: Container[str] = ()) -> None:
        """Offer exactly these tools, of the toolkit or of plug-ins, from now on."""
        found = [tool.schema for name in names if (tool := self.tools.get(name)) is not None]
        schemas = tuple(msgspec.structs.replace(one, deferred=True) if one.name in deferred else one for one in found)
        await self.emit(ToolsChanged(schemas, reason))


def _masks_of(plugins: Sequence[Any], user: str, parent: Execution | None) -> Masks | None:
    """Return what no model may see; None where everything may be seen, as nearly always."""
    around = parent.masks if parent is not None else None
    if not any(getattr(plugin, "masks", False) for plugin in plugins):
        return around
    from treadle._engine.core.masks import masks_of

    return masks_of(plugins, user, around)


def deps_of(run: Execution) -> Any:
    """Return what tools and plug-ins get as `deps`; where there is none, the error says how to give it."""
    if run.deps is NO_DEPS:
        raise ConfigError(
            "this run was given no deps: pass them with agent.run(question, deps=...), and, because they are never "
            "stored, again with agent.resume(run_id, deps=...); Agent(..., deps=...) is the value for all runs"
        )
    return run.deps


def _as_careful_as(parent: Execution | None, settings: Settings) -> Settings:
    """A run inside another obeys the stricter policy of the two; its own log says so."""
    outer = parent.settings.provenance if parent is not None else "off"
    if PROVENANCE.index(outer) <= PROVENANCE.index(settings.provenance):
        return settings
    return msgspec.structs.replace(settings, provenance=outer)
