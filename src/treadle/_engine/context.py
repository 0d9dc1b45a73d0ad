"""What plug-ins and tools see of a run: its state, and the ways to act on it. Nothing is changed by assignment."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Generic, cast

from treadle._dialects.base import Dialect, Prompts
from treadle._engine.acting.execute import allowed_for_run, for_call
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.core.execution import Execution, deps_of
from treadle._engine.generics import DepsT_co
from treadle._engine.reply_policy import ReplyPolicy
from treadle._engine.requests.estimate import Estimator
from treadle._engine.requests.model_calls import ask
from treadle._engine.settings import Settings
from treadle._models.base import Model
from treadle._tools.base import Limits, Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.events import Event, Record
from treadle._types.messages import Message, ToolCall, UserMessage
from treadle._types.request import Reply, Request
from treadle._types.state import RunState


class RunContext(Generic[DepsT_co]):
    """Given to every hook of a plug-in, and to tools as `ToolContext.run`."""

    __slots__ = ("__weakref__", "_execution", "id", "limits", "prompts", "settings", "state")

    id: str
    state: RunState
    """What the log folds to. Read it; it changes by events only."""
    settings: Settings
    limits: Limits
    """The settings that govern every tool call."""
    prompts: Prompts
    _execution: Execution

    def __init__(self, execution: Execution) -> None:
        # What stays the same for the whole run is looked up often: a plain attribute is the quickest to read.
        for name, value in (
            ("_execution", execution),
            ("id", execution.id),
            ("state", execution.state),
            ("settings", execution.settings),
            ("limits", execution.limits),
            ("prompts", execution.prompts),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a run is not changed by assignment: emit an event instead of setting {name!r}")

    # ---- what is known

    @property
    def depth(self) -> int:
        """0 for a run that was started by a caller, 1 for one it started, and so on."""
        return self._execution.depth

    @property
    def outermost(self) -> RunContext[Any]:
        """The run that a caller started, of which this one is a part or which it is."""
        *_, outermost = self._execution.around()
        return outermost.context

    @property
    def deps(self) -> DepsT_co:
        """Return what the run was given as `deps=`."""
        return cast("DepsT_co", deps_of(self._execution))

    @property
    def user(self) -> str:
        return self._execution.origin.user

    @property
    def conversation(self) -> str:
        return self._execution.origin.conversation

    @property
    def records(self) -> Sequence[Record]:
        return self._execution.log.records

    @property
    def agent_name(self) -> str:
        return self._execution.blueprint.name

    @property
    def stored(self) -> bool:
        """Return whether the log is kept in a journal."""
        return self._execution.log.journal is not None

    @property
    def model(self) -> Model:
        return self._execution.current.model

    @property
    def dialect(self) -> Dialect:
        return self._execution.current.dialect

    @property
    def reply_policy(self) -> ReplyPolicy | None:
        """Return what reviews the replies of the model in use; None for most models."""
        return self._execution.current.policy

    @property
    def toolkit(self) -> Toolkit:
        return self._execution.tools.toolkit

    @property
    def plugin_tools(self) -> Mapping[str, Tool]:
        """Tools that plug-ins bring."""
        return self._execution.tools.of_plugins

    def tool(self, name: str) -> Tool | None:
        """The tool behind a name, offered or not."""
        return self._execution.tools.get(name)

    def allowed_for_run(self, call: ToolCall) -> bool:
        """Return whether a person has allowed every call of its tool meanwhile."""
        tool = for_call(self._execution, call, self.tool(call.name))
        scope = tool.scope if tool is not None else ""
        return allowed_for_run(self._execution, call, self.why_asked(call.id), scope)

    # ---- tokens

    @property
    def token_limit(self) -> int | None:
        """The tokens one request may have; None when nothing is known about it."""
        return self._execution.current.token_limit

    @property
    def counts_tokens(self) -> bool:
        """Return whether a budget or a limit needs to know how many tokens a request has."""
        return self._execution.current.counts_tokens

    @property
    def estimator(self) -> Estimator:
        return self._execution.current.estimator

    def next_request_tokens(self) -> int:
        """The estimated tokens of the next request of the loop, at the cost of what is new in it."""
        run = self._execution
        encoding = run.current.renderer.encoding(run.state)
        messages = run.current.renderer.prepare(run.state)
        return run.current.estimator.tokens(Request(messages=messages, tools=encoding.tools))

    def mask_of(self, plugin: Any) -> Any:
        """The mask that a plug-in gave for this run or one around it."""
        masks = self._execution.masks
        return masks.of(plugin) if masks is not None else None

    def why_asked(self, call_id: str) -> str:
        """Why a person is asked about a call: "after reading example.org"."""
        return self._execution.calls.asked.get(call_id, "")

    # ---- acting

    async def emit(self, *events: Event) -> None:
        """Record events: journal first, then the state, then whoever watches."""
        await self._execution.emit(*events)

    def show(self, event: Event) -> None:
        """Show a transient event: it is not stored."""
        self._execution.show(event)

    async def flush(self) -> None:
        """Store what was deferred, before something slow or visible happens."""
        await self._execution.flush()

    async def ask(self, component: str, messages: Sequence[Message], **options: Any) -> Reply:
        """A recorded model call outside the conversation."""
        return await ask(self._execution, component, messages, **options)

    async def ask_after(self, seq: int, component: str, note: str, **options: Any) -> Reply | None:
        """A recorded model call that goes on from the conversation up to the record `seq`, with `note` as one message
        more. None where that would not fit."""
        run = self._execution
        encoding = run.current.renderer.encoding(run.state)
        messages = [*run.current.renderer.up_to(run.state, seq), UserMessage(note, kind="note")]
        request = Request(messages=messages, tools=encoding.tools, tool_choice=encoding.tool_choice)
        if self.token_limit is not None and self.estimator.tokens(request) > self.token_limit:
            return None
        return await ask(
            run, component, messages, tools=request.tools, tool_choice=request.tool_choice, **options
        )  # fmt: skip

    async def offer_tools(self, names: Sequence[str], reason: str, *, deferred: Container[str] = ()) -> None:
        """Offer exactly these tools, of the toolkit or of plug-ins, from now on. Those that are `deferred` can be
        called as soon as the provider's own search has found them."""
        await self._execution.offer(names, reason, deferred)

    def replace_toolkit(self, toolkit: Toolkit) -> None:
        """Other tools stand behind the names from now on; what is offered changes only with `offer_tools`."""
        self._execution.tools.toolkit = toolkit

    def nested_calls(self, call_id: str, *, replay_only: bool = False) -> NestedCalls:
        """Calls of tools from inside the tool call `call_id`: through the same gate as the model's own."""
        return NestedCalls(self._execution, call_id, replay_only=replay_only)


def execution_of(context: RunContext[Any]) -> Execution:
    """The engine's own side of a context: for what starts runs inside runs."""
    return context._execution  # pyright: ignore[reportPrivateUsage] - the two belong together
