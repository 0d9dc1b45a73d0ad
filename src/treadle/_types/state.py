"""What a run's records fold to. `apply` is the only way it changes, so a log can be loaded, compared and forked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from treadle._types import events as ev
from treadle._types.ledger import Ledger
from treadle._types.messages import Message, ToolCall, text_of
from treadle._types.profile import Profile
from treadle._types.provenance import Provenance
from treadle._types.request import ANSWERING as ANSWERING
from treadle._types.request import CONVERSATION as CONVERSATION
from treadle._types.request import ToolSchema
from treadle._types.state_parts import AnswerState, Calls, Constraints, ConversationState, Spending, Turn
from treadle._types.state_values import DagState
from treadle._types.usage import Step, Usage

Handlers = tuple[Callable[["RunState", Any, ev.Record], None] | None, list[Callable[[Any, ev.Record], None]]]
"""For one type of event: the state's own handler, and those of its parts."""
_CONCERNED: dict[type[ev.Event], tuple[str, tuple[str, ...]]] = {}
"""For each type of event that was met: the name of its handlers, and the parts that have one."""


class RunState:
    """The fold of a run's records: facts about the run itself here, everything else in parts."""

    def __init__(self) -> None:
        self.seq = -1
        self.created = self.updated = 0.0
        self.elapsed = 0.0
        """Seconds in which it was worked on: not the time between processes, before a fork, or until somebody decided.
        A clock that was set back takes nothing away."""
        self.started: ev.RunStarted | None = None
        self.finished: ev.RunFinished | None = None
        self.paused: ev.Paused | None = None
        self.phase = ""
        """For display only."""
        self.loop_started = False
        self.model = self.dialect = ""
        self.profile = Profile()
        self.tools: tuple[ToolSchema, ...] = ()
        self.versions: dict[str, str] = {}
        """The versions of its tools, as they were when it was started or resumed last."""
        self.changed_tools: set[str] = set()
        """Those that are not as they were when it started."""
        self.plan: tuple[ev.PlanStep, ...] = ()
        self.workspace: ev.WorkspaceOpened | None = None
        self.tree: ev.TreeSaved | None = None
        """The files of its workspace as they were stored last."""
        self.notes: dict[str, list[dict[str, Any]]] = {}
        self.read_ids: set[str] = set()
        self._named: tuple[ToolSchema, ...] = ()
        self._names: frozenset[str] = frozenset()
        self._handlers: dict[type, Handlers] = {}

        self.dag = DagState()
        self.provenance = Provenance()
        self.ledger = Ledger()
        self.spending = Spending(self.dag)
        self.answer = AnswerState()
        self.turn = Turn(self.answer)
        self.constraints = Constraints()
        self.conversation = ConversationState(self.provenance)
        self.calls = Calls(self.conversation, self.spending, self.turn, self.answer)
        self.steps: list[Step] = self.calls.steps
        """The finished tool calls, in order: read more often than anything else, so it is an attribute here, too."""

    # ---- questions about the state

    @property
    def question(self) -> str:
        return text_of(self.started.question) if self.started else ""

    @property
    def iteration(self) -> int:
        """How often the model has been asked what to do."""
        return self.turn.iteration

    @property
    def usage(self) -> Usage:
        """Return what this run and the runs inside it have spent."""
        return self.spending.usage

    def messages(self) -> list[Message]:
        """The whole conversation, whatever has left the window."""
        return list(self.conversation.transcript)

    def tool_names(self) -> frozenset[str]:
        """The tools that may be called at this moment."""
        if self._named is not self.tools:
            self._named, self._names = self.tools, frozenset(tool.name for tool in self.tools)
        return self._names

    # ---- the fold

    def apply(self, record: ev.Record) -> None:
        event = record.event
        if self.seq >= 0 and self.paused is None and not isinstance(event, (ev.Forked, ev.Resumed)):
            self.elapsed += max(0.0, record.time - self.updated)
        self.seq, self.updated = record.seq, record.time
        own, of_parts = self._handlers.get(type(event)) or self._find_handlers(type(event))
        if own is not None:
            own(self, event, record)
        for handler in of_parts:
            handler(event, record)

    def _find_handlers(self, kind: type[ev.Event]) -> Handlers:
        """Look up the handlers for a type of event, once. Its own is kept as a function: a bound method would make the
        state refer to itself, and it would be freed late."""
        if (concerned := _CONCERNED.get(kind)) is None:
            name = f"on_{kind.__struct_config__.tag}"
            having = tuple(part for part in _PARTS if hasattr(getattr(self, part), name))
            concerned = _CONCERNED[kind] = name, having
        name, having = concerned
        handlers = getattr(RunState, name, None), [getattr(getattr(self, part), name) for part in having]
        self._handlers[kind] = handlers
        return handlers

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self.started = event
        self.created = record.time
        self.model, self.dialect, self.tools = event.model, event.dialect, event.tools
        self.profile = event.profile or Profile()
        self.versions = dict(event.versions)

    def on_phase(self, event: ev.PhaseChanged, record: ev.Record) -> None:
        self.phase = event.phase

    def on_loop_started(self, event: ev.LoopStarted, record: ev.Record) -> None:
        self.loop_started = True

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.read_ids.update(event.ids)

    def on_tools_changed(self, event: ev.ToolsChanged, record: ev.Record) -> None:
        self.tools = event.tools

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        if event.system is not None and self.started is not None:
            self.started = msgspec.structs.replace(self.started, system=event.system)

    def on_plan_changed(self, event: ev.PlanChanged, record: ev.Record) -> None:
        self.plan = event.steps

    def on_workspace_opened(self, event: ev.WorkspaceOpened, record: ev.Record) -> None:
        self.workspace = event

    def on_tree_saved(self, event: ev.TreeSaved, record: ev.Record) -> None:
        self.tree = event

    def on_noted(self, event: ev.Noted, record: ev.Record) -> None:
        self.notes.setdefault(event.component, []).append(event.data)

    def on_model_switched(self, event: ev.ModelSwitched, record: ev.Record) -> None:
        self.model = event.model
        self.profile = event.profile or self.profile

    def on_dialect_demoted(self, event: ev.DialectDemoted, record: ev.Record) -> None:
        self.dialect = event.dialect

    def on_paused(self, event: ev.Paused, record: ev.Record) -> None:
        self.paused = event

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> None:
        self.paused = None
        if event.changed and self.started is not None:
            self.versions.update(event.changed)
            began = self.started.versions
            self.changed_tools = {name for name, one in self.versions.items() if one != began.get(name)}

    def on_run_finished(self, event: ev.RunFinished, record: ev.Record) -> None:
        self.finished = event
        self.paused = None


_PARTS = ("provenance", "spending", "turn", "answer", "constraints", "conversation", "calls", "dag", "ledger")
"""The parts in the order in which an event reaches them: `turn` looks whether an answer was pending before `answer`
forgets it, and a reply's source is known before `conversation` adds it."""
_RENAMED = {
    "spent": "spending.components",
    "constraint": "constraints.next",
    "last_constraint": "constraints.last",
    "constrained_by": "constraints.components",
    "answered": "answer.done",
    "answer_pending": "answer.pending",
    "pending_calls": "calls.pending()",
}
"""Attributes of the state in 0.2 that have another name in their part."""


class _Moved:
    """Raises an error with the new place of an attribute of 0.2. A `__getattr__` would, too, and slow
    down the reading of every other attribute."""

    def __init__(self, name: str, path: str) -> None:
        self.text = f"RunState has no attribute {name!r}: read state.{path}"

    def __get__(self, state: RunState | None, kind: type[RunState]) -> Any:
        raise AttributeError(self.text)


def _moved() -> Iterator[tuple[str, str]]:
    new = RunState()
    for part in reversed(_PARTS):  # of a name in two parts, the first
        yield from ((name, f"{part}.{name}") for name in getattr(getattr(new, part), "__dict__", ()) if name[0] != "_")
    yield from _RENAMED.items()


for _name, _path in _moved():
    if _name not in vars(RunState):
        setattr(RunState, _name, _Moved(_name, _path))


def fold(records: Iterable[ev.Record]) -> RunState:
    """The state a log folds to."""
    state = RunState()
    for record in records:
        state.apply(record)
    return state


def waiting_calls(state: RunState) -> tuple[ToolCall, ...]:
    """The calls a paused run waits for, without those that are decided or answered already."""
    if state.paused is None:
        return ()
    return tuple(call for call in state.paused.calls if not is_settled(state, call))


def is_settled(state: RunState, call: ToolCall) -> bool:
    """Return whether a call has its decision, or its result where it waits for one."""
    decision = state.calls.approvals.get(call.id)
    if call.external:  # it may have been allowed before, and waits all the same
        return call.id in state.calls.results or (decision is not None and not decision.allow)
    return decision is not None
