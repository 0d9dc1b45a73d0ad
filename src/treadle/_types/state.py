"""What a run's records fold to. `apply` is the only way it changes, so a log can be loaded, compared and forked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

import msgspec

from treadle._types import events as ev
from treadle._types.messages import Message, ToolMessage, UserMessage, join_content, text_of
from treadle._types.profile import Profile
from treadle._types.provenance import Provenance
from treadle._types.request import ToolSchema
from treadle._types.state_values import UNCONSTRAINED, DagState, Entry, OpenCall, ReplyConstraint, compacted, flat
from treadle._types.usage import NO_USAGE, Counters, Spent, Step, Usage, Work

CONVERSATION = ("loop", "repair")
"""Components whose replies are part of the conversation; all others only advise."""
ANSWERING = ("synthesis", "complete", "own_words", "final", "salvage")
"""Components whose streamed text is the answer."""


class RunState:
    """The fold of a run's records."""

    def __init__(self) -> None:
        self.seq = -1
        self.created = self.updated = 0.0
        self.started: ev.RunStarted | None = None
        self.finished: ev.RunFinished | None = None
        self.paused: ev.Paused | None = None
        self.phase = ""
        """For display only."""
        self.loop_started = False
        self.model = self.dialect = ""
        self.profile = Profile()
        self.tools: tuple[ToolSchema, ...] = ()
        self._named: tuple[ToolSchema, ...] = ()
        self._names: frozenset[str] = frozenset()
        self.window: list[Entry] = []
        self.transcript: list[Message] = []
        self.epoch = 0
        """Grows with every declared break: a request built after it need not extend the one before."""
        self.breaks: list[tuple[int, str]] = []
        self.iteration = 0
        self.extra_iterations = 0
        self.thinking = ""
        """The component whose conversation call has started and not ended."""
        self.open: dict[str, OpenCall] = {}
        self.waiting: list[Entry] = []
        """Messages that arrived while calls are open: they follow the results."""
        self.thought = ""
        self.candidate: str | None = None
        """An answer the loop has proposed and nobody has objected to yet."""
        self.problem = ""
        self.parse_failures = self.tool_failures = 0
        self.native_calls = False
        """The model has made a native call in this run: what its text holds is no call."""
        self.round_failed = False
        self.round_due = False
        """Results are in the conversation and the model has not been asked about them yet."""
        self.final_call: ev.ToolDone | None = None
        self.extras_pending = False
        """A tool has left objects for the next call, and no call has used them yet."""
        self.task_successful: bool | None = None
        self.answer_only = ""
        """Why no tool may be called any more; empty while they may."""
        self.constraint = UNCONSTRAINED
        """What the next reply is held to."""
        self.last_constraint = UNCONSTRAINED
        """What the last reply was held to."""
        self.constrained_by: set[str] = set()
        """Components that have constrained a reply of this run."""
        self.answered: ev.AnswerDone | None = None
        self.approvals: dict[str, ev.Approved] = {}
        self.results: dict[str, ev.ToolAnswered] = {}  # of calls that whoever called executes
        self.always_allowed: set[str] = set()
        """Tools that a person has allowed for the rest of the run."""
        self.steps: list[Step] = []
        self.plan: tuple[ev.PlanStep, ...] = ()
        self.notes: dict[str, list[dict[str, Any]]] = {}
        self.dag = DagState()
        self.usage = NO_USAGE
        """What this run and the runs inside it have spent."""
        self.children: dict[str, Usage] = {}
        """What each run inside this one has spent."""
        self.spent: dict[str, Spent] = {}
        self.counters = Counters()
        self.replies: dict[tuple[str, str], list[ev.ThinkDone]] = {}
        """Advisers' replies of the current round, so that a resumed round does not ask for them again."""
        self.read_ids: set[str] = set()
        self.provenance = Provenance()

    # ---- questions about the state

    @property
    def question(self) -> str:
        return text_of(self.started.question) if self.started else ""

    @property
    def answer_pending(self) -> bool:
        return self.candidate is not None or self.final_call is not None

    def messages(self) -> list[Message]:
        """The whole conversation, whatever has left the window."""
        return list(self.transcript)

    def pending_calls(self) -> list[OpenCall]:
        return [call for call in self.open.values() if call.done is None]

    def tool_names(self) -> frozenset[str]:
        """The tools that may be called at this moment."""
        if self._named is not self.tools:
            self._named, self._names = self.tools, frozenset(tool.name for tool in self.tools)
        return self._names

    # ---- the fold

    def apply(self, record: ev.Record) -> None:
        self.seq, self.updated = record.seq, record.time
        if (handler := _HANDLERS.get(type(record.event))) is not None:
            handler(self, record.event, record)

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self.started = event
        self.created = record.time
        self.model, self.dialect, self.tools = event.model, event.dialect, event.tools
        self.profile = event.profile or Profile()
        for index, message in enumerate(event.history):
            # History has no records of its own: negative numbers keep each message addressable.
            self._add(message, index - len(event.history) - 1, "history")
        self.provenance.start(event.sources, event.history, event.question, event.depth)
        self._add(UserMessage(event.question, pinned=True), record.seq, "question")

    def on_phase(self, event: ev.PhaseChanged, record: ev.Record) -> None:
        self.phase = event.phase

    def on_loop_started(self, event: ev.LoopStarted, record: ev.Record) -> None:
        self.loop_started = True

    def on_reply_constrained(self, event: ev.ReplyConstrained, record: ev.Record) -> None:
        self.constraint = ReplyConstraint(event.must_act, frozenset(event.barred), event.think)
        self.constrained_by.add(event.component)

    def on_answer_only(self, event: ev.AnswerOnly, record: ev.Record) -> None:
        self.answer_only = event.reason
        self.constraint = UNCONSTRAINED

    def on_message_retracted(self, event: ev.MessageRetracted, record: ev.Record) -> None:
        self.window = [entry for entry in self.window if entry.seq != event.seq or entry.component == "question"]
        self._break(record.seq, f"message retracted: {event.reason}")

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> None:
        if event.component in CONVERSATION:
            self.thinking = event.component
            self.round_due = False
            self.replies.clear()

    def on_think_failed(self, event: ev.ThinkFailed, record: ev.Record) -> None:
        self.counters.attempts_failed += 1
        self._spend(event.component, event.usage, 0.0)

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        self._spend(event.component, event.usage, event.elapsed, calls=1)
        if event.finish == "length":
            self.counters.truncated_responses += 1
        if event.component not in CONVERSATION:
            self.replies.setdefault((event.component, event.digest), []).append(event)
            return
        self.thinking = ""
        self.last_constraint, self.constraint = self.constraint, UNCONSTRAINED
        self.replies.clear()
        self.iteration = max(self.iteration, event.iteration)
        self.thought, self.problem = event.thought, event.problem
        self.parse_failures = self.parse_failures + 1 if event.problem else 0
        if event.task_successful is not None:
            self.task_successful = event.task_successful
        calls = event.message.calls
        self.native_calls = self.native_calls or (
            event.message.dialect == "native" and any(not call.from_text for call in calls)
        )
        self.candidate = event.answer if not calls and not event.problem else None
        self.round_failed = False
        self._add(self.provenance.marked(event.message), record.seq, event.component)
        self.open = {call.id: OpenCall(call) for call in calls}

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        # Whatever is said after a proposed answer or an unreadable reply is said to make the model go on.
        self.candidate, self.problem = None, ""
        if event.component == "repair" and getattr(event.message, "kind", "") == "observation":
            self.parse_failures = 0  # the repairs are used up: a new step begins
        entry = Entry(event.message, record.seq, event.component)
        (self.waiting.append if self.open else self._put)(entry)

    def on_tool_started(self, event: ev.ToolStarted, record: ev.Record) -> None:
        if (call := self.open.get(event.call.id)) is not None:
            call.started, call.made, call.effect = True, event.call, event.effect

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        self.provenance.read((event.source,) if event.source else ())
        call, counters = self.open.get(event.call_id), self.counters
        inside = call is None and event.call_id.rpartition(".")[0] in self.open  # made by code, in a call of its own
        if inside or (call is not None and call.done is None):
            counters.tool_calls += 1
            counters.failed_calls += bool(event.error)
            counters.truncated_observations += event.full is not None
        if call is None or call.done is not None:
            return
        call.done, call.seq = event, record.seq
        if event.usage is not NO_USAGE:
            self.usage += event.usage
        if event.executed:
            self.usage = msgspec.structs.replace(self.usage, tool_calls=self.usage.tool_calls + 1)
        if event.final and self.final_call is None:
            self.final_call = event
        self.round_failed = self.round_failed or bool(event.error)
        if all(other.done is not None for other in self.open.values()):
            self._close_calls()

    def _close_calls(self) -> None:
        made = used = False
        for call in self.open.values():
            done = call.done
            assert done is not None
            made = made or done.had_extras
            used = used or (done.executed and not done.error) or done.error == "lost_extras"
            message = ToolMessage(done.call_id, done.name, done.content, bool(done.error), done.source)
            self._add(message, call.seq, f"tool:{done.name}")
            args = (call.made or call.call).args
            observation = done.content if isinstance(done.content, str) else flat(done.content)
            self.steps.append(
                Step(
                    done.iteration, done.name, args, observation, done.error, done.elapsed, done.call_id,
                    self.thought, done.artifacts, None if args == call.call.args else call.call.args,
                )
            )  # fmt: skip
        # Extras wait until a call has used them, or the model was told that they are gone.
        self.extras_pending = made or (self.extras_pending and not used)
        self.tool_failures = self.tool_failures + 1 if self.round_failed else 0
        self.open = {}
        self.round_due = True
        for entry in self.waiting:
            self._put(entry)
        self.waiting = []

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.counters.interrupts += 1
        self.read_ids.update(event.ids)
        self.provenance.words.extend(event.texts)
        if self.candidate is not None or self.final_call is not None:
            self.extra_iterations += 1
        self.candidate, self.problem, self.final_call, self.answered = None, "", None, None
        told = join_content(("[USER INTERRUPT]\n" + "\n\n".join(event.texts), event.media))
        entry = Entry(UserMessage(told, kind="interrupt", pinned=True), record.seq, "interrupt")
        (self.waiting.append if self.open else self._put)(entry)

    def on_tools_changed(self, event: ev.ToolsChanged, record: ev.Record) -> None:
        self.tools = event.tools
        self._break(record.seq, f"tools changed: {event.reason}")

    def on_context_compacted(self, event: ev.ContextCompacted, record: ev.Record) -> None:
        self.window = compacted(self.window, event, record.seq)
        if event.reason == "trim":
            self.counters.trims += 1
        else:
            self.counters.compactions += 1
        self._break(record.seq, f"context {event.reason or 'compacted'}")

    def on_exchanged(self, event: ev.Exchanged, record: ev.Record) -> None:
        self.extra_iterations = event.iteration  # what another program did leaves the limit of whoever goes on alone

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        if event.system is not None and self.started is not None:
            self.started = msgspec.structs.replace(self.started, system=event.system)
        self.window = [*self.window[: event.kept], *(Entry(m, record.seq, "recorded") for m in event.messages)]
        self.transcript.extend(event.messages)
        self.open, self.waiting, self.candidate, self.problem = {}, [], None, ""
        self._break(record.seq, f"the program changed its request: {event.reason}")

    def on_plan_changed(self, event: ev.PlanChanged, record: ev.Record) -> None:
        self.plan = event.steps

    def on_model_switched(self, event: ev.ModelSwitched, record: ev.Record) -> None:
        self.model = event.model
        self.native_calls = False
        self.profile = event.profile or self.profile
        self._break(record.seq, f"model switched to {event.model}")

    def on_dialect_demoted(self, event: ev.DialectDemoted, record: ev.Record) -> None:
        self.dialect = event.dialect
        self._break(record.seq, f"dialect demoted to {event.dialect}")

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> None:
        self.answered = event

    def on_paused(self, event: ev.Paused, record: ev.Record) -> None:
        self.paused = event

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> None:
        self.paused = None

    def on_approved(self, event: ev.Approved, record: ev.Record) -> None:
        self.approvals[event.call_id] = event
        if event.always and event.allow and event.tool:
            self.always_allowed.add(event.tool)
            self.provenance.allow_always(event.tool)

    def on_tool_answered(self, event: ev.ToolAnswered, record: ev.Record) -> None:
        self.results.setdefault(event.call_id, event)  # the first counts

    def on_tainted(self, event: ev.Tainted | ev.ProviderToolsUsed, record: ev.Record) -> None:
        self.provenance.read(event.sources)

    on_provider_tools_used = on_tainted

    def on_forked(self, event: ev.Forked, record: ev.Record) -> None:
        self.approvals.clear()
        self.always_allowed.clear()
        self.provenance.always.clear()

    def on_noted(self, event: ev.Noted, record: ev.Record) -> None:
        self.notes.setdefault(event.component, []).append(event.data)

    def on_dag_mode_chosen(self, event: ev.DagModeChosen, record: ev.Record) -> None:
        self.dag.mode = event.mode
        self.replies.clear()

    def on_dag_planning(self, event: ev.DagPlanning, record: ev.Record) -> None:
        self.dag.planning = True

    def on_dag_planned(self, event: ev.DagPlanned, record: ev.Record) -> None:
        self.dag.plan, self.dag.planning, self.dag.judged = event, False, False
        self.replies.clear()

    def on_dag_judged(self, event: ev.DagJudged, record: ev.Record) -> None:
        self.dag.verdicts.append(event)
        self.dag.judged = True
        self.replies.clear()  # the same question about another round is a new one

    def on_step_started(self, event: ev.StepStarted, record: ev.Record) -> None:
        self.dag.runs[event.step] = event.run

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        self.dag.steps[event.key or event.step] = event
        run = self.dag.runs.get(event.step, "")
        if not any(run.endswith(f".{child}") for child in self.children):  # else the record of its run has counted it
            self.usage += event.usage
        if event.work is not None:
            self._take_up(event.work)

    def _take_up(self, work: Work) -> None:
        """What a run inside this one has done counts here too; what it cost is in `usage` already."""
        self.iteration += work.iterations
        self.steps.extend(work.calls)
        self.counters.add(work.counters)
        for component, spent in work.components.items():
            self.spent.setdefault(component, Spent()).add(spent.usage, spent.elapsed, spent.calls)

    def on_child_spent(self, event: ev.ChildSpent, record: ev.Record) -> None:
        self.usage += event.usage - self.children.get(event.child, NO_USAGE)
        self.children[event.child] = event.usage

    def on_run_finished(self, event: ev.RunFinished, record: ev.Record) -> None:
        self.finished = event
        self.paused = None

    # ---- small helpers of the fold

    def _add(self, message: Message, seq: int, component: str) -> None:
        self._put(Entry(message, seq, component))

    def _put(self, entry: Entry) -> None:
        self.window.append(entry)
        self.transcript.append(entry.message)

    def _break(self, seq: int, why: str) -> None:
        self.epoch += 1
        self.breaks.append((seq, why))

    def _spend(self, component: str, usage: Usage, elapsed: float, calls: int = 0) -> None:
        spent = self.spent.get(component)
        if spent is None:
            spent = self.spent[component] = Spent()
        spent.add(usage, elapsed, calls)
        self.usage += usage


_NAMES = {event: f"on_{event.__struct_config__.tag}" for event in get_args(ev.Event)}
_HANDLERS: dict[type, Callable[[RunState, Any, ev.Record], None]] = {
    event: getattr(RunState, name) for event, name in _NAMES.items() if hasattr(RunState, name)
}


def fold(records: Iterable[ev.Record]) -> RunState:
    """The state a log folds to."""
    state = RunState()
    for record in records:
        state.apply(record)
    return state
