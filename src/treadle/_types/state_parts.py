"""The parts of a run's state, one for each idea. Each has a handler `on_TAG` for every event that concerns it; a part
that another one writes to is passed to that one when it is made."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from treadle._types import events as ev
from treadle._types.acts import NOT_ADMITTED
from treadle._types.messages import AssistantMessage, Message, ToolMessage, UserMessage, join_content
from treadle._types.provenance import Provenance
from treadle._types.request import CONVERSATION
from treadle._types.state_values import UNCONSTRAINED, DagState, Entry, OpenCall, ReplyConstraint, compacted, flat
from treadle._types.usage import NO_USAGE, Counters, Spent, Step, Usage


class Spending:
    """What a run and the runs inside it have spent, and what is counted."""

    def __init__(self, dag: DagState) -> None:
        self._dag = dag
        self.usage = NO_USAGE
        """What this run and the runs inside it have spent."""
        self.children: dict[str, Usage] = {}
        """What each run inside this one has spent."""
        self.components: dict[str, Spent] = {}
        self.counters = Counters()
        self._unsettled = NO_USAGE
        """The estimate of a reply that has neither ended nor failed; it stands where its process died."""

    def on_answer_partial(self, event: ev.AnswerPartial, record: ev.Record) -> None:
        self.usage += event.usage - self._unsettled
        self._unsettled = event.usage

    def _settle(self) -> None:
        if self._unsettled is not NO_USAGE:
            self.usage -= self._unsettled
            self._unsettled = NO_USAGE

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> None:
        self._unsettled = NO_USAGE

    def on_think_failed(self, event: ev.ThinkFailed, record: ev.Record) -> None:
        self._settle()
        self.counters.attempts_failed += 1
        self._spend(event.component, event.usage, 0.0)

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        self._settle()
        self._spend(event.component, event.usage, event.elapsed, calls=1)
        if event.finish == "length":
            self.counters.truncated_responses += 1

    def count_call(self, event: ev.ToolDone, *, inside: bool = False) -> None:
        """Count a finished call. What one inside another has cost is in the cost of that other one."""
        self.counters.tool_calls += 1
        self.counters.failed_calls += bool(event.error) and event.error not in NOT_ADMITTED
        self.counters.truncated_observations += event.full is not None
        if inside:
            return
        if event.usage is not NO_USAGE:
            self.usage += event.usage
        if event.executed:
            self.usage = msgspec.structs.replace(self.usage, tool_calls=self.usage.tool_calls + 1)

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.counters.interrupts += 1

    def on_context_compacted(self, event: ev.ContextCompacted, record: ev.Record) -> None:
        if event.reason == "trim":
            self.counters.trims += 1
        else:
            self.counters.compactions += 1

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        run = self._dag.runs.get(event.step, "")
        if not any(run.endswith(f".{child}") for child in self.children):  # else the record of its run has counted it
            self.usage += event.usage
        if event.work is not None:  # its cost is in `usage` already
            self.counters.add(event.work.counters)
            for component, spent in event.work.components.items():
                self.components.setdefault(component, Spent()).add(spent.usage, spent.elapsed, spent.calls)

    def on_child_spent(self, event: ev.ChildSpent, record: ev.Record) -> None:
        self.usage += event.usage - self.children.get(event.child, NO_USAGE)
        self.children[event.child] = event.usage

    def _spend(self, component: str, usage: Usage, elapsed: float, calls: int = 0) -> None:
        spent = self.components.get(component)
        if spent is None:
            spent = self.components[component] = Spent()
        spent.add(usage, elapsed, calls)
        self.usage += usage


class AnswerState:
    """The answer, from the first proposal to its record."""

    def __init__(self) -> None:
        self.candidate: str | None = None
        """An answer the loop has proposed and nobody has objected to yet."""
        self.after_calls: str | None = None
        """An answer that is proposed as soon as the calls beside it are done."""
        self.final_call: ev.ToolDone | None = None
        """The result of a tool that is to be the answer."""
        self.done: ev.AnswerDone | None = None
        self.partial = ""
        """What had been shown of an answer that is not complete."""
        self.task_successful: bool | None = None
        """What the model says about its own success, where the dialect asks for it."""

    @property
    def pending(self) -> bool:
        return self.candidate is not None or self.final_call is not None

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        self.partial = ""
        if event.component in CONVERSATION:
            self.candidate = event.answer if not event.message.calls and not event.problem else None
            self.after_calls = (event.answer or "") if event.completes else None
            if event.task_successful is not None:
                self.task_successful = event.task_successful

    def on_answer_partial(self, event: ev.AnswerPartial, record: ev.Record) -> None:
        self.partial = self.partial[: event.at] + event.text

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> None:
        self.partial = ""

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        self.candidate, self.final_call = None, None  # whatever is added after a proposed answer makes the model go on

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.candidate, self.after_calls, self.final_call, self.done = None, None, None, None

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        self.candidate = None

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> None:
        self.done, self.partial = event, ""


class Turn:
    """Where the loop stands: its iteration, and what came of the last reply."""

    def __init__(self, answer: AnswerState) -> None:
        self._answer = answer
        self.iteration = 0
        self.extra_iterations = 0
        self.thinking = ""
        """The component whose conversation call has started and not ended."""
        self.round_due = False
        """Results are in the conversation and the model has not been asked about them yet."""
        self.thought = ""
        self.problem = ""
        """Why the last reply could not be read; empty when it could, or when something was said about it."""
        self.parse_failures = 0
        self.native_calls = False
        """The model has made a native call in this run: what its text holds is no call."""
        self.replies: dict[tuple[str, str], list[ev.ThinkDone]] = {}
        """Advisers' replies of the current round, so that a resumed round does not ask for them again."""

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> None:
        if event.component in CONVERSATION:
            self.thinking = event.component
            self.round_due = False
            self.replies.clear()

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        if event.component not in CONVERSATION:
            self.replies.setdefault((event.component, event.digest), []).append(event)
            return
        self.thinking = ""
        self.replies.clear()
        self.iteration = max(self.iteration, event.iteration)
        self.thought, self.problem = event.thought, event.problem
        self.parse_failures = self.parse_failures + 1 if event.problem else 0
        self.native_calls = self.native_calls or (
            event.message.dialect == "native" and any(not call.from_text for call in event.message.calls)
        )

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> None:
        if event.source == "partial" and self.thinking == "loop":  # an iteration that was cut off is one
            self.iteration += 1

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        self.problem = ""
        if event.component == "repair" and getattr(event.message, "kind", "") == "observation":
            self.parse_failures = 0  # the repairs are used up: a new step begins

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        if self._answer.pending:
            self.extra_iterations += 1
        self.problem = ""

    def on_exchanged(self, event: ev.Exchanged, record: ev.Record) -> None:
        self.extra_iterations = event.iteration  # what another program did leaves the limit of whoever goes on alone

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        self.problem = ""

    def on_model_switched(self, event: ev.ModelSwitched, record: ev.Record) -> None:
        self.native_calls = False

    def on_dag_mode_chosen(self, event: ev.DagModeChosen, record: ev.Record) -> None:
        self.replies.clear()

    def on_dag_planned(self, event: ev.DagPlanned, record: ev.Record) -> None:
        self.replies.clear()

    def on_dag_judged(self, event: ev.DagJudged, record: ev.Record) -> None:
        self.replies.clear()  # the same question about another round is a new one

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        if event.work is not None:
            self.iteration += event.work.iterations


class Constraints:
    """What replies are held to."""

    def __init__(self) -> None:
        self.next = UNCONSTRAINED
        """What the next reply is held to."""
        self.last = UNCONSTRAINED
        """What the last reply was held to."""
        self.components: set[str] = set()
        """Components that have constrained a reply of this run."""
        self.answer_only = ""
        """Why no tool may be called any more; empty while they may."""
        self.lasting = UNCONSTRAINED
        """What every reply is held to until the caller has a call of one of its own tools."""
        self._client_tools: frozenset[str] = frozenset()

    def refusal(self, names: Sequence[str]) -> str:
        """Return why a reply with calls of these tools is not what the caller asked for; empty when it is."""
        if self.lasting is UNCONSTRAINED:
            return ""
        if barred := sorted(self.lasting.barred.intersection(names)):
            return f"{', '.join(barred)} cannot be called now"
        return f"no answer is wanted before a call of {self.wanted}" if self.lasting.must_act and not names else ""

    @property
    def wanted(self) -> str:
        """The tools of which the caller wants a call, in words."""
        return " or ".join(sorted(self._client_tools - self.lasting.barred))

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self._client_tools = frozenset(event.client_tools)

    def on_reply_constrained(self, event: ev.ReplyConstrained, record: ev.Record) -> None:
        constraint = ReplyConstraint(event.must_act, frozenset(event.barred), event.think)
        if event.until_call:
            self.lasting = constraint
        lasting = self.lasting
        self.next = ReplyConstraint(event.must_act or lasting.must_act, constraint.barred | lasting.barred, event.think)
        self.components.add(event.component)

    def on_answer_only(self, event: ev.AnswerOnly, record: ev.Record) -> None:
        self.answer_only = event.reason
        self.next = self.lasting = UNCONSTRAINED

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        if event.component in CONVERSATION:
            if self._client_tools and any(call.name in self._client_tools for call in event.message.calls):
                self.lasting = UNCONSTRAINED
            self.last, self.next = self.next, self.lasting


class ConversationState:
    """The messages of a run: all of them, and the window that the next request shows."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance
        self.window: list[Entry] = []
        self.transcript: list[Message] = []
        """The whole conversation, whatever has left the window."""
        self.waiting: list[Entry] = []
        """Messages that arrived while calls are open: they follow the results."""
        self.calls_open = False
        self.epoch = 0
        """Grows with every declared break: a request built after it need not extend the one before."""
        self.breaks: list[tuple[int, str]] = []

    def add(self, message: Message, seq: int, component: str) -> None:
        self._put(Entry(message, seq, component))

    def close_calls(self) -> None:
        """Let the messages follow that waited for the results."""
        self.calls_open = False
        for entry in self.waiting:
            self._put(entry)
        self.waiting = []

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        for index, message in enumerate(event.history):
            # History has no records of its own: negative numbers keep each message addressable.
            self.add(message, index - len(event.history) - 1, "history")
        origin = "model" if event.depth else "" if event.origin == "person" else event.origin
        self.add(UserMessage(event.question, pinned=True, origin=origin), record.seq, "question")

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        if event.component in CONVERSATION:
            self.add(self._provenance.marked(event.message), record.seq, event.component)
            self.calls_open = bool(event.message.calls)

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        self._after_results(Entry(event.message, record.seq, event.component))

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        content = join_content(("[USER INTERRUPT]\n" + "\n\n".join(event.texts), event.media))
        self._after_results(Entry(UserMessage(content, kind="interrupt", pinned=True), record.seq, "interrupt"))

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> None:
        if event.source == "partial":  # it was stopped while it was written: no reply of the model has it
            self.transcript.append(AssistantMessage(event.text))

    def on_message_retracted(self, event: ev.MessageRetracted, record: ev.Record) -> None:
        self.window = [entry for entry in self.window if entry.seq != event.seq or entry.component == "question"]
        self._break(record.seq, f"message retracted: {event.reason}")

    def on_context_compacted(self, event: ev.ContextCompacted, record: ev.Record) -> None:
        self.window = compacted(self.window, event, record.seq)
        self._break(record.seq, f"context {event.reason or 'compacted'}")

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        self.window = self.window[: event.kept]
        for message in event.messages:
            self.add(message, record.seq, "recorded")
        self.waiting, self.calls_open = [], False
        self._break(record.seq, f"the program changed its request: {event.reason}")

    def on_tools_changed(self, event: ev.ToolsChanged, record: ev.Record) -> None:
        self._break(record.seq, f"tools changed: {event.reason}")

    def on_model_switched(self, event: ev.ModelSwitched, record: ev.Record) -> None:
        self._break(record.seq, f"model switched to {event.model}")

    def on_dialect_demoted(self, event: ev.DialectDemoted, record: ev.Record) -> None:
        self._break(record.seq, f"dialect demoted to {event.dialect}")

    def _after_results(self, entry: Entry) -> None:
        (self.waiting.append if self.calls_open else self._put)(entry)

    def _put(self, entry: Entry) -> None:
        message = self._provenance.labelled(entry.message)
        self.window.append(entry if message is entry.message else Entry(message, entry.seq, entry.component))
        self.transcript.append(message)

    def _break(self, seq: int, why: str) -> None:
        self.epoch += 1
        self.breaks.append((seq, why))


class Calls:
    """The calls of the last reply, the steps that earlier ones became, and what people decided about calls."""

    def __init__(self, conversation: ConversationState, spending: Spending, turn: Turn, answer: AnswerState) -> None:
        self._conversation, self._spending, self._turn, self._answer = conversation, spending, turn, answer
        self.open: dict[str, OpenCall] = {}
        self.steps: list[Step] = []
        self.round_failed = False
        self.tool_failures = 0
        self.extras_pending = False
        """A tool has left objects for the next call, and no call has used them yet."""
        self.approvals: dict[str, ev.Approved] = {}
        self.results: dict[str, ev.ToolAnswered] = {}
        """Results of external tools, by the id of the call."""
        self.always_allowed: set[str] = set()
        """Tools that a person has allowed for the rest of the run."""

    def pending(self) -> list[OpenCall]:
        """The open calls that have no result yet."""
        return [call for call in self.open.values() if call.done is None]

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        if event.component in CONVERSATION:
            self.round_failed = False
            self.open = {call.id: OpenCall(call) for call in event.message.calls}

    def on_tool_started(self, event: ev.ToolStarted, record: ev.Record) -> None:
        if (call := self.open.get(event.call.id)) is not None:
            call.started, call.made, call.effect = True, event.call, event.effect

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        call = self.open.get(event.call_id)
        if call is None:
            if event.call_id.rpartition(".")[0] in self.open:  # made by code, in a call of its own
                self._spending.count_call(event, inside=True)
            return
        if call.done is not None:
            return
        self._spending.count_call(event)
        call.done, call.seq = event, record.seq
        if event.final and self._answer.final_call is None:
            self._answer.final_call = event
            if event.task_successful is not None:
                self._answer.task_successful = event.task_successful
        self.round_failed = self.round_failed or bool(event.error)
        if not self.pending():
            self._close()

    def _close(self) -> None:
        made = used = False
        for call in self.open.values():
            done = call.done
            assert done is not None
            made = made or done.had_extras
            used = used or (done.executed and not done.error) or done.error == "lost_extras"
            origin = "outside" if done.source else "tool"
            message = ToolMessage(done.call_id, done.name, done.content, bool(done.error), done.source, origin)
            self._conversation.add(message, call.seq, f"tool:{done.name}")
            args = (call.made or call.call).args
            observation = done.content if isinstance(done.content, str) else flat(done.content)
            self.steps.append(
                Step(
                    done.iteration, done.name, args, observation, done.error, done.elapsed, done.call_id,
                    self._turn.thought, done.artifacts, None if args == call.call.args else call.call.args,
                )
            )  # fmt: skip
        # Extras wait until a call has used them, or the model was told that they are gone.
        self.extras_pending = made or (self.extras_pending and not used)
        self.tool_failures = self.tool_failures + 1 if self.round_failed else 0
        self.open = {}
        self._turn.round_due = True
        if self._answer.after_calls is not None and not self.round_failed:
            self._answer.candidate = self._answer.after_calls
        self._conversation.close_calls()

    def on_history_replaced(self, event: ev.HistoryReplaced, record: ev.Record) -> None:
        self.open = {}

    def on_approved(self, event: ev.Approved, record: ev.Record) -> None:
        self.approvals[event.call_id] = event
        if event.always and event.allow and event.tool:
            self.always_allowed.add(event.tool)

    def on_tool_answered(self, event: ev.ToolAnswered, record: ev.Record) -> None:
        self.results.setdefault(event.call_id, event)  # the first counts

    def on_forked(self, event: ev.Forked, record: ev.Record) -> None:
        self.approvals.clear()
        self.always_allowed.clear()

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> None:
        if event.changed:  # what was allowed was said of what the tools did then
            self.always_allowed.clear()
            for call in self.pending():
                if call.call.name in event.changed and not call.started:
                    self.approvals.pop(call.call.id, None)

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        if event.work is not None:
            self.steps.extend(event.work.calls)
