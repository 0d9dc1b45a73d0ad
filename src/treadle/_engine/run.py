"""One run: its log, its inbox, its purse, and the handle the caller holds while it works."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle._dialects.base import Dialect, Prompts
from treadle._dialects.registry import choose_dialect, dialect_for
from treadle._engine.acting.eager import Eager
from treadle._engine.answering.answer import ANSWERING
from treadle._engine.core.budget import Purse
from treadle._engine.core.inbox import Inbox
from treadle._engine.core.log import Log, Sink
from treadle._engine.plugin import Hooks
from treadle._engine.requests.estimate import Estimator, room_for
from treadle._engine.requests.model_calls import ask, worst_case
from treadle._engine.requests.render import Renderer
from treadle._engine.result import RunResult, result_of
from treadle._engine.settings import Settings
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import BudgetExhaustedError
from treadle._types.events import AnswerDelta, Event, Injected, Record, TextStreamed, ThinkDone, ToolsChanged
from treadle._types.ids import fresh_id
from treadle._types.messages import AssistantMessage, Content, Message, ToolCall
from treadle._types.request import ReasoningDelta, Reply, Request, TextDelta, WireCache
from treadle._types.state import CONVERSATION, RunState
from treadle._types.usage import NO_USAGE, Usage

MAX_EXTRA_ITERATIONS = 10
"""How many iterations interrupts may add to a run that was about to answer or at its limit."""


class Blueprint(Struct, frozen=True, kw_only=True):
    """Everything an agent decides before a run starts."""

    models: tuple[Model, ...]
    """The bound model, then those that take over if it fails for good."""
    toolkit: Toolkit
    settings: Settings
    plugins: tuple[Any, ...] = ()
    system: str = ""
    prompts: Mapping[str, str] = {}
    output_type: Any = None
    name: str = "agent"
    redact: Callable[[Event], Event] | None = None


class Run:
    """Await it for the result; `send`, `recall`, `approve` and `cancel` work from any thread while it runs."""

    def __init__(
        self,
        blueprint: Blueprint,
        question: Content,
        *,
        run_id: str,
        history: Sequence[Message] = (),
        journal: Journal | None = None,
        records: Sequence[Record] = (),
        parent: Run | None = None,
        conversation: str = "",
        user: str = "",
    ) -> None:
        self.blueprint = blueprint
        self.question = question
        self.history = tuple(history)
        self.id = run_id
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.conversation, self.user = conversation, user
        self.log = Log(
            run_id, parent=parent.id if parent else "", journal=journal, redact=blueprint.redact, records=records
        )
        self.state: RunState = self.log.state
        self.emit = self.log.emit
        self.defer = self.log.defer
        self.show = self.log.show
        self.inbox = Inbox(run_id, journal)
        self.settings = blueprint.settings
        self.toolkit = blueprint.toolkit
        self.hooks = Hooks(blueprint.plugins)
        self.own_tools: dict[str, Tool] = {
            tool.name: tool for plugin in blueprint.plugins for tool in getattr(plugin, "tools", ())
        }
        """Tools of plug-ins: not the agent's, but they may be offered too."""
        self.prompts = Prompts(dict(blueprint.prompts))
        spent = self.state.usage
        self.purse = Purse(self.settings.budget, parent=parent.purse if parent else None, spent=spent)
        self.model_index = next((i for i, m in enumerate(blueprint.models) if m.name == self.state.model), 0)
        self.renderer = self.new_renderer()
        self.estimator = Estimator()
        self.sized = self.purse.bounded or self.room is not None
        """Whether anybody wants to know how many tokens a request has."""
        self.limits = self.settings.limits
        self.extras: dict[str, Any] = {}
        self.eager = Eager(self)
        self.used_call_ids = {
            call.id
            for message in self.state.transcript
            if isinstance(message, AssistantMessage)
            for call in message.calls
        }
        self.overflows = 0
        self.reviewed = -1
        self.exhausted: BudgetExhaustedError | None = None
        self.children: set[Run] = set()
        self.paused_child: Run | None = None
        """A run this one waits for, which itself waits for a person."""
        self.paused_calls: tuple[ToolCall, ...] = ()
        """Calls made inside a tool, for which a person is waited for."""
        self.error: BaseException | None = None
        self.output: Any = None
        self.raises: BaseException | None = None
        self.stopping = ""
        """Why the run is being stopped from outside: cancelled | budget. Empty while it is not."""
        self.abandoned = False
        self.recovered: dict[tuple[str, str], list[ThinkDone]] = {
            key: list(value) for key, value in self.state.replies.items()
        }
        self.owner = fresh_id()
        self.swap: Toolkit | None = None
        self._caches: dict[str, WireCache] = {}
        self.task: asyncio.Task[RunResult] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    # ---- the caller's side

    def begin(self, drive: Callable[[Run], Coroutine[Any, Any, RunResult]]) -> Run:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self.task = self._loop.create_task(drive(self), name=f"treadle-run-{self.id}")
        if self.parent is not None:
            self.parent.children.add(self)
            self.task.add_done_callback(lambda _: self.parent and self.parent.children.discard(self))
        return self

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._wait().__await__()

    async def _wait(self) -> RunResult:
        task = self.task
        assert task is not None, "the run was not started"
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                # The one who waits was cancelled, not the run: stop it too, and let it leave a whole log behind.
                self.cancel()
                await asyncio.wait([task])
            raise

    @property
    def done(self) -> bool:
        return self.task is not None and self.task.done()

    def send(self, text: str) -> str:
        """Say something while the run works. Returns an id for `recall`."""
        return self.inbox.send(text)

    def recall(self, message_id: str) -> bool:
        """Take back a message the run has not read yet; False if it has."""
        return self.inbox.recall(message_id)

    def cancel(self) -> None:
        """Stop model and tools as soon as possible. The log is left whole."""
        self.stop("cancelled")

    def stop(self, why: str) -> None:
        if self.stopping:
            return
        self.stopping = why
        for child in tuple(self.children):
            child.stop(why)
        if self._loop is None or self.task is None or self._loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            self.task.cancel()
        else:
            self._loop.call_soon_threadsafe(self.task.cancel)

    async def abandon(self) -> None:
        """Let go without recording an end: the run is left as a crash would leave it, for another driver to go on with."""
        self.abandoned = True
        for child in tuple(self.children):
            await child.abandon()
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])

    def approve(self, call_id: str, allow: bool = True, *, by: str = "", note: str = "") -> None:
        """Decide about a call that waits for approval; `Agent.resume` then goes on."""
        self.inbox.approvals.append((call_id, allow, by, note))

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        return self.log.subscribe(sink)

    @property
    def records(self) -> list[Record]:
        return self.log.records

    def result(self) -> RunResult:
        leftovers = tuple(text for _, text in self.inbox.drain())
        return result_of(
            self.state, self.id, system=self.system_prompt(), error=self.error, output=self.output, leftovers=leftovers
        )  # fmt: skip

    # ---- the engine's side: what the loop, plug-ins and tools use

    @property
    def model(self) -> Model:
        return self.blueprint.models[self.model_index]

    @property
    def dialect(self) -> Dialect:
        return self.renderer.dialect

    def system_prompt(self) -> str:
        started = self.state.started
        return self.dialect.system(started.system, self.state.tools, self.prompts) if started else ""

    def new_renderer(self) -> Renderer:
        """For the current model, in the dialect the log says, else the one that suits the model."""
        profile = self.model.profile
        name = self.state.dialect or choose_dialect(self.settings.dialect, profile).name
        return Renderer(dialect_for(name, self.settings.complete_name), self.settings, profile)

    async def check(self) -> None:
        """The cancel token: a model or tool that never lets go of the event loop must not outrun it."""
        if self.stopping:
            await asyncio.sleep(0)
            raise asyncio.CancelledError

    async def flush(self) -> None:
        """Store what was deferred, before something slow or visible happens."""
        if self.log.deferred:
            await self.log.emit()

    @property
    def watched(self) -> bool:
        return self.log.watched

    def show_delta(self, component: str, iteration: int, part: TextDelta | ReasoningDelta) -> None:
        answering = component in ANSWERING and isinstance(part, TextDelta)
        self.log.show(
            AnswerDelta(part.text)
            if answering
            else TextStreamed(component, iteration, part.text, isinstance(part, ReasoningDelta))
        )

    async def ask(self, component: str, messages: Sequence[Message], **options: Any) -> Reply:
        """A recorded model call outside the conversation."""
        return await ask(self, component, messages, **options)

    async def drain(self, *, at_once: bool = False) -> bool:
        """Bring what arrived meanwhile into the conversation. True if there was something."""
        await self.inbox.fetch(at_once=at_once)
        if self.inbox.cancelled and not self.stopping:
            self.cancel()
        if self.state.answer_pending and self.state.extra_iterations >= MAX_EXTRA_ITERATIONS:
            return False  # somebody keeps talking: what is left unread is reported with the result
        items = self.inbox.drain()
        if not items:
            return False
        await self.emit(Injected(tuple(item_id for item_id, _ in items), tuple(text for _, text in items)))
        return True

    def swap_toolkit(self, toolkit: Toolkit) -> None:
        """Offer other tools from the next round on. Safe from any thread."""
        self.swap = toolkit

    async def apply_swap(self) -> None:
        if self.swap is not None:
            self.toolkit, self.swap = self.swap, None
            own = [
                tool.name for tool in self.state.tools if tool.name in self.own_tools and tool.name not in self.toolkit
            ]
            await self.set_tools([*self.toolkit.names, *own], "toolkit swapped")

    async def set_tools(self, names: Sequence[str], reason: str) -> None:
        """Offer exactly these tools, of the toolkit or of plug-ins, from now on."""
        await self.emit(
            ToolsChanged(tuple(tool.schema for name in names if (tool := self.tool(name)) is not None), reason)
        )

    def tool(self, name: str) -> Tool | None:
        return self.toolkit.get(name) or self.own_tools.get(name)

    def cache_for(self, component: str) -> WireCache:
        return self._caches.setdefault(component, WireCache())

    def release_caches(self) -> None:
        """The run is over, though somebody may hold on to it: a local model may give its place to the next conversation."""
        self._caches.clear()
        self.renderer.forget()

    @property
    def room(self) -> int | None:
        """The tokens one request may have; None when nothing is known about it."""
        return room_for(self.settings, self.model.profile)

    def estimate(self, request: Request) -> int:
        return self.estimator.tokens(request)

    def kept_share(self, request: Request) -> Usage:
        """What must stay in the purse for a last answer when the budget forces one."""
        state = self.state
        if (
            self.settings.on_budget != "force_answer"
            or request.component in ANSWERING
            or state.answer_pending
            or state.answered
        ):
            return NO_USAGE
        if request.component not in CONVERSATION:  # an adviser must leave what the loop's own last request will need
            messages, tools = self.renderer.prepare(state), self.renderer.encoding(state).tools
            request = request.replace(messages=messages, tools=tools, component=CONVERSATION[0])
        return worst_case(self, request)
