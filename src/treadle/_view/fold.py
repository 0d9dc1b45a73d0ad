"""The fold of one run's records, and of what streams between them, into view items.

`RunView.feed` takes a record (stored or transient) and returns what changed; each record costs the same, however long
the run is. Without the transient ones the stored items are the same: only drafts and the text of what is still being
written are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from msgspec.structs import replace

from treadle._types import events as ev
from treadle._types.acts import NOT_ADMITTED
from treadle._types.messages import ToolCall, text_of
from treadle._types.state import ANSWERING, CONVERSATION, RunState, waiting_calls
from treadle._types.usage import NO_USAGE
from treadle._view import items as it
from treadle._view.items import Answer, Call, CallState, Change, Item, More, Put, Thought
from treadle._view.notices import ALONE

_OF_COMPONENTS = {
    "loop": "thinking",
    "repair": "thinking",
    "planner": "planning",
    "plan": "planning",
    "selection": "choosing tools",
    "observer": "checking progress",
    "analysis": "analysing the task",
    "reflection": "reflecting",
    "rewrite": "understanding the question",
    "synthesis": "writing the answer",
    "complete": "writing the answer",
    "own_words": "writing the answer",
    "final": "writing the answer",
    "salvage": "writing the answer",
    "context": "compacting the context",
}
_OF_PHASES = {
    "executing": "working on the plan",
    "analyzing": "checking the results",
}


def activity_of_component(component: str) -> str:
    """Return what a run does while this component asks the model."""
    return _OF_COMPONENTS.get(component, "thinking")


def _phase(event: ev.PhaseChanged) -> str | None:
    if ": " in event.phase:  # it tells something that happened, not what goes on
        return None
    return _OF_PHASES.get(event.phase, event.phase.replace("_", " "))


ACTIVITIES: dict[type, Callable[[Any], str | None]] = {
    ev.ToolSelectionStarted: lambda event: f"choosing among {event.total_tools} tools",
    ev.DagPlanning: lambda event: "planning",
    ev.DagPlanned: lambda event: "working on the plan",
    ev.AnswerOnly: lambda event: "answering with what is known",
    ev.PhaseChanged: _phase,
}
"""What a run does from an event on; None where that event does not say."""


TURN, STATUS, COST, ANSWER, END = "turn", "status", "cost", "answer", "end"
"""The ids of items that there is one of."""


class RunView:
    """One run as items. `items` has them by id, in the order in which they appeared."""

    def __init__(self) -> None:
        self.state = RunState()
        """The fold of the stored records, for what is not drawn."""
        self.items: dict[str, Item] = {}
        self.status = it.Status(STATUS)
        self.answer: Answer | None = None
        self._changes: list[Change] = []
        self._pieces: dict[str, list[str]] = {}
        """The text of what is being written, by item."""
        self._thinking: dict[str, Thought] = {}
        """The model calls under way, by component."""
        self._running: dict[str, Call] = {}
        """The calls under way, by call id."""
        self._asked: set[str] = set()
        self._background: dict[str, str] = {}
        """Calls whose work goes on in the background, by call id: their items."""
        self._early: dict[str, list[str]] = {}
        """Output of calls that run before the reply that asks for them is complete, by tool."""

    def feed(self, record: ev.Record) -> list[Change]:
        """Take one record, stored or transient; return what it changes."""
        changes = self._changes = []
        event, spending = record.event, self.state.spending
        usage = spending.usage
        if not record.offset:
            self.state.apply(record)
        for handler in _HANDLERS[type(event)]:
            handler(self, event, record)
        if spending.usage is not usage and spending.usage != usage:
            self._put(it.Cost(COST, spending.usage, spending.usage.total_tokens))
        if self.items.get(STATUS) is not self.status:
            self._put(self.status)
        return changes

    def written(self, id: str) -> str:
        """Return what has been written so far of an item that is open."""
        return "".join(self._pieces.get(id, ()))

    def running(self) -> list[Call]:
        """The calls under way, with what they have written so far."""
        return [replace(call, output=self.written(call.id)) for call in tuple(self._running.values())]

    def call(self, call_id: str) -> Call | None:
        """A call of this run by its id."""
        item = self.items.get(f"call:{call_id}")
        return item if isinstance(item, Call) else None

    # ---- changing items

    def _put(self, item: Item) -> None:
        items, id = self.items, item.id
        self._changes.append(Put(item, items.get(id)))
        items[id] = item

    def _now(self, **changes: Any) -> None:
        status = replace(self.status, **changes)
        if status != self.status:
            self.status = status

    def _grow(self, id: str, text: str, reasoning: bool = False) -> None:
        self._pieces.setdefault(id, []).append(text)
        self._changes.append(More(id, text, reasoning))

    def draw_alone(self, event: ev.Event, record: ev.Record) -> None:
        self._put(ALONE[type(event)](event, str(record.seq)))

    def say_activity(self, event: ev.Event, record: ev.Record) -> None:
        if (activity := ACTIVITIES[type(event)](event)) is not None:
            self._now(activity=activity)

    # ---- the run

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self._put(
            it.Turn(
                TURN, record.run, record.parent, event.depth, event.agent, event.model, event.dialect,
                text_of(event.question), event.conversation, record.time,
            )
        )  # fmt: skip
        self._now(model=event.model)

    def on_run_finished(self, event: ev.RunFinished, record: ev.Record) -> None:
        for thought in self._thinking.values():
            self._put(replace(thought, state="void"))
        for call in self._running.values():
            self._put(replace(call, state="cancelled"))
        for id in self._background.values():
            if isinstance(call := self.items.get(id), Call):
                self._put(replace(call, work="stopped"))
        self._thinking.clear()
        self._running.clear()
        self._background.clear()
        self._pieces.clear()
        state, answer = self.state, self.answer
        without_answer = state.answer.done is None or (answer is not None and answer.source == "error")
        failed = event.stop_reason in ("error", "empty") or (bool(event.error) and without_answer)
        self._now(state="finished", activity="")
        self._put(self.status)
        self._put(
            it.End(
                END, event.stop_reason, event.success, failed, "" if failed else event.answer,
                event.answer if failed else "", event.error, event.error_type, state.iteration,
                state.elapsed, event.unread, state.ledger.entries,
            )
        )  # fmt: skip

    def on_paused(self, event: ev.Paused, record: ev.Record) -> None:
        waiting = waiting_calls(self.state)
        for call in waiting:
            item = self.call(call.id) or Call(f"call:{call.id}", call.id, call.name, call.args)
            why = event.why.get(call.id, event.reason)
            self._put(replace(item, state="asked", args=call.args, why=why, external=call.external))
            self._asked.add(call.id)
        self._put(it.Pause(str(record.seq), event.reason, tuple(call.id for call in waiting), event.parked))
        parked = bool(event.parked)
        self._now(state="parked" if parked else "paused", activity="parked" if parked else "waiting for you")

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> None:
        for call_id in sorted(self._asked):
            self._settle(call_id)
        self._now(state="working", activity="resuming")

    def _settle(self, call_id: str) -> None:
        """The call waits for nobody any more."""
        self._asked.discard(call_id)
        if (call := self.call(call_id)) is not None and call.state == "asked":
            self._put(replace(call, state="waiting"))

    def on_approved(self, event: ev.Approved, record: ev.Record) -> None:
        call = self.call(event.call_id)
        tool = call.tool if call is not None else event.tool or event.call_id
        decided = "allowed" if event.allow else "refused"
        decision = it.Decision(
            str(record.seq), event.call_id, tool, decided, event.by, event.note, event.always, event.args
        )
        if call is not None and not (event.allow and call.external):
            self._settle(event.call_id)
        self._put(decision)

    def on_tool_answered(self, event: ev.ToolAnswered, record: ev.Record) -> None:
        self._settle(event.call_id)
        tool = event.tool or event.call_id
        self._put(it.Decision(str(record.seq), event.call_id, tool, "answered", event.by, failed=event.error))

    # ---- thoughts

    def on_think_started(self, event: ev.ThinkStarted, record: ev.Record) -> None:
        self._early.clear()
        self._now(
            state="working",
            activity=activity_of_component(event.component),
            iteration=max(self.status.iteration, event.iteration),
        )
        if (left := self._thinking.pop(event.component, None)) is not None:  # its process ended before the reply came
            self._pieces.pop(left.id, None)
            self._put(replace(left, state="void"))
        self._open_thought(event.component, event.iteration, record)
        if event.component in CONVERSATION:
            self._retract()

    def _open_thought(self, component: str, iteration: int, record: ev.Record) -> Thought:
        thought = self._thinking[component] = Thought(f"thought:{record.seq}", component, iteration)
        self._put(thought)
        return thought

    def on_think_failed(self, event: ev.ThinkFailed, record: ev.Record) -> None:
        if (thought := self._thinking.get(event.component)) is not None:
            self._pieces.pop(thought.id, None)
            state = "void" if event.wait is None else "open"
            thought = replace(thought, state=state, attempts=thought.attempts + 1, usage=thought.usage + event.usage)
            self._thinking[event.component] = thought
            if event.wait is None:
                del self._thinking[event.component]
            self._put(thought)
        draft = self.answer is not None and self.answer.state == "draft"
        # Where no further attempt is made, what was shown stays until something takes its place.
        if event.wait is not None and (event.component in ANSWERING or (draft and event.component in CONVERSATION)):
            self._void_answer()

    def on_think_done(self, event: ev.ThinkDone, record: ev.Record) -> None:
        thought = self._thinking.pop(event.component, None)
        if thought is None:
            thought = Thought(f"thought:{record.seq}", event.component, event.iteration)
        self._pieces.pop(thought.id, None)
        usage = thought.usage + event.usage if thought.usage is not NO_USAGE else event.usage
        if event.component not in CONVERSATION:
            self._put(replace(thought, state="done", elapsed=event.elapsed, usage=usage))
            return
        message = event.message
        words = (event.thought or message.reasoning).strip()
        thought = replace(
            thought,
            state="done",
            text=event.thought,
            reasoning=message.reasoning,
            problem=event.problem,
            unread=event.thought == ev.UNREADABLE,
            is_answer=bool(words) and words == (event.answer or "").strip(),
            calls=tuple([call.id for call in message.calls]),
            elapsed=event.elapsed,
            usage=usage,
        )
        self._put(thought)
        if message.calls or event.problem:
            self._retract()
        for call in message.calls:
            self._put(Call(f"call:{call.id}", call.id, call.name, call.args, iteration=event.iteration))

    def on_text_streamed(self, event: ev.TextStreamed, record: ev.Record) -> None:
        thought = self._thinking.get(event.component)
        if thought is None:  # whoever watches came in the middle
            thought = self._open_thought(event.component, event.iteration, record)
        self._grow(thought.id, event.text, event.reasoning)

    # ---- calls

    def on_tool_started(self, event: ev.ToolStarted, record: ev.Record) -> None:
        made = event.call
        call = self._call_of(made, event.iteration)
        proposed = call.proposed if call.proposed is not None else call.args
        self._asked.discard(made.id)
        call = replace(
            call,
            args=made.args,
            proposed=None if proposed == made.args else proposed,
            iteration=event.iteration,
            state="running",
            began=record.time,
        )
        early = self._early.pop(made.name, None)
        if early is not None:
            self._pieces[call.id] = early
        self._running[made.id] = call
        self._now(state="working", activity="working")
        self._put(replace(call, output="".join(early)) if early is not None else call)

    def _call_of(self, call: ToolCall, iteration: int) -> Call:
        """The item of a call; one that no reply asked for (made by code) gets its own."""
        item = self.call(call.id)
        return item if item is not None else Call(f"call:{call.id}", call.id, call.name, call.args, iteration=iteration)

    def on_tool_output(self, event: ev.ToolOutput, record: ev.Record) -> None:
        call = self._running.get(event.call_id)
        if call is None:  # it runs before the model has finished its reply: it has no id yet, only a name
            call = next((one for one in self._running.values() if one.tool == event.name), None)
        if call is None:
            self._early.setdefault(event.name, []).append(event.text)
        else:
            self._grow(call.id, event.text)

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        call = self._running.pop(event.call_id, None) or self._call_of(
            ToolCall(event.call_id, event.name), event.iteration
        )
        self._asked.discard(event.call_id)
        self._pieces.pop(call.id, None)
        content = text_of(event.content)
        call = replace(
            call,
            iteration=event.iteration,
            state=_ended(event),
            output="",
            content=content,
            error=event.error,
            elapsed=event.elapsed,
            artifacts=tuple(
                [it.ArtifactLine(one.name, one.mime, one.summary, len(one.content)) for one in event.artifacts]
            ),
            truncated=event.full is not None,
            final=event.final,
        )
        # What the engine says when an agent has begun to work in the background.
        if call.tool.startswith("start_") and f" works on it in the background as {call.call_id}." in content:
            call = replace(call, has_run=True, work=call.work or "running")
            self._background[call.call_id] = call.id
        elif call.has_run and event.error:
            self._now(speaker="")  # one who could not take the conversation gives it back
        self._put(call)

    def on_phase(self, event: ev.PhaseChanged, record: ev.Record) -> None:
        head, _, rest = event.phase.partition(": ")
        if head.startswith("handed over to "):
            agent = head.removeprefix("handed over to ")
            for call in tuple(self._running.values()):  # the call that passed it on is still open
                if isinstance(call.args.get("reason"), str):
                    call = self._running[call.call_id] = replace(call, has_run=True)
                    self._put(replace(call, output=self.written(call.id)))
            self._now(speaker=agent, activity=f"{agent} has the conversation")
        elif head.startswith("background "):
            call_id = head.removeprefix("background ")
            self._background.pop(call_id, None)
            if (call := self.call(call_id)) is not None:
                failed = rest.endswith(" has failed") or " has failed:" in rest
                self._put(replace(call, has_run=True, work="failed" if failed else "done"))

    # ---- the answer

    def _put_answer(self, answer: Answer) -> None:
        self.answer = answer
        self._put(answer)

    def on_answer_started(self, event: ev.AnswerStarted, record: ev.Record) -> None:
        begun = self.answer is not None and (self.answer.state == "draft" or not self.answer.source)
        confirmed = begun and event.source not in ANSWERING
        if not confirmed:
            self._pieces.pop(ANSWER, None)
        self._now(activity="writing the answer")
        self._put_answer(Answer(ANSWER, "open", self.written(ANSWER), event.source))

    def on_answer_delta(self, event: ev.AnswerDelta, record: ev.Record) -> None:
        answer, source = self.answer, ""
        if answer is not None and answer.state in ("open", "void"):
            state, source = "open", answer.source
        else:
            state = "draft" if event.provisional else "open"
        if answer is None or answer.state != state:
            if answer is None or answer.state != "draft":
                self._pieces.pop(ANSWER, None)
            self._put_answer(Answer(ANSWER, state, self.written(ANSWER), source))
        self._grow(ANSWER, event.text)

    def on_answer_done(self, event: ev.AnswerDone, record: ev.Record) -> None:
        self._put_answer(Answer(ANSWER, "final", event.text, event.source))
        self._pieces.pop(ANSWER, None)

    def on_answer_retracted(self, event: ev.AnswerRetracted, record: ev.Record) -> None:
        self._retract(event.text)

    def on_reset(self, event: ev.Reset, record: ev.Record) -> None:
        thought = self._thinking.get(event.component)
        if thought is not None and self._pieces.pop(thought.id, None) is not None:
            self._put(thought)
        self._void_answer()

    def _retract(self, text: str = "") -> None:
        """The words that were shown as the answer are not the answer; one that is complete stands."""
        answer = self.answer
        if answer is None or answer.state == "final":
            return
        text = text or self.written(ANSWER)
        self._pieces.pop(ANSWER, None)
        del self.items[ANSWER]
        self.answer = None
        self._changes.append(Put(Answer(ANSWER, "retracted", text, answer.source), answer))

    def _void_answer(self) -> None:
        """Return what was shown of the answer does not count: it is written again."""
        answer = self.answer
        if answer is None or answer.state == "final" or (answer.state == "void" and ANSWER not in self._pieces):
            return
        self._pieces.pop(ANSWER, None)
        void = replace(answer, state="void", text="")
        self._put_answer(void)
        if answer.state == "draft":
            del self.items[ANSWER]
            self.answer = None

    # ---- plans, messages, context

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self._retract()

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        if self.answer is not None and self.answer.state == "draft":
            self._retract()

    def on_model_switched(self, event: ev.ModelSwitched, record: ev.Record) -> None:
        self._now(model=event.model)

    def on_dag_planned(self, event: ev.DagPlanned, record: ev.Record) -> None:
        steps = tuple(
            it.PlannedLine(one.id, one.task, one.dependencies, one.tool_hint, one.model_hint) for one in event.steps
        )
        self._put(it.Plan(str(record.seq), event.round, steps, event.notes))
        for one in steps:
            hint = one.tool_hint or one.model_hint
            self._put(it.PlanStep(_step_id(event.round, one.id), one.id, event.round, one.task, one.dependencies, hint))

    def on_step_started(self, event: ev.StepStarted, record: ev.Record) -> None:
        self._put(replace(self._step(event.step, event.round), state="running", task=event.task, run=event.run))

    def on_step_done(self, event: ev.StepDone, record: ev.Record) -> None:
        self._put(
            replace(
                self._step(event.step, event.round),
                state=event.status,
                result=event.result,
                error=event.error,
                elapsed=event.elapsed,
                usage=event.usage,
            )
        )

    def _step(self, step: str, round: int) -> it.PlanStep:
        item = self.items.get(_step_id(round, step))
        return item if isinstance(item, it.PlanStep) else it.PlanStep(_step_id(round, step), step, round)


def _step_id(round: int, step: str) -> str:
    return f"step:{round}:{step}"


def _ended(event: ev.ToolDone) -> CallState:
    if not event.error:
        return "done"
    if event.error == "cancelled":
        return "cancelled"
    return "refused" if event.error in NOT_ADMITTED else "failed"


_HANDLERS: dict[type, list[Callable[[RunView, Any, ev.Record], None]]] = {
    kind: [
        *([RunView.draw_alone] if kind in ALONE else ()),
        *([own] if (own := getattr(RunView, f"on_{kind.__struct_config__.tag}", None)) is not None else ()),
        *([RunView.say_activity] if kind in ACTIVITIES else ()),
    ]
    for kind in get_args(ev.Event)
}
