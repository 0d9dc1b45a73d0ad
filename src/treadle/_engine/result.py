"""What a run gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, cast

import msgspec

from treadle._engine.core.decisions import waiting_calls
from treadle._engine.generics import OutputT_co
from treadle._lazy import load
from treadle._types import errors
from treadle._types.errors import GuardrailError, MissingExtraError, TreadleError
from treadle._types.events import Artifact, LedgerEntry, PlanStep, RunFinished, StopReason
from treadle._types.messages import Message, SystemMessage
from treadle._types.state import RunState
from treadle._types.state_values import Step
from treadle._types.usage import Usage
from treadle._types.value import Value, as_data

_OF_SEVERAL = (GuardrailError, MissingExtraError)
"""Errors that are made of more than their message."""


class PendingCall(Value, frozen=True):
    """A call that waits for a person's decision, or (`external`) for the result that you give."""

    call_id: str
    tool: str
    args: dict[str, Any]
    why: str
    external: bool = False

    @property
    def name(self) -> str:
        """The tool's name, as events and messages call it."""
        return self.tool

    @property
    def how(self) -> str:
        """How to decide, or to give the result, as code."""
        if self.external:
            return f"agent.resume(run_id, results={{{self.call_id!r}: ...}})"
        return f"agent.resume(run_id, approve={{{self.call_id!r}: True}})"


class RunResult(Value, Generic[OutputT_co], frozen=True):
    """The answer and everything that led to it."""

    answer: str
    """What the user gets."""
    brief: str
    """The loop's own last text; the same as `answer` unless an answer was synthesised from the trace."""
    output: OutputT_co
    """The typed answer of an agent with an `output_type`; None if there is none (`success` is False then, and
    `error` or `stop_reason` says why). Of any other agent it is the answer."""
    stop_reason: StopReason
    success: bool
    task_successful: bool | None
    """What the model itself said about having done the task, in dialects that ask."""
    messages: list[Message]
    steps: list[Step]
    iterations: int
    usage: Usage
    metadata: dict[str, Any]
    tools_used: list[str]
    created: float
    elapsed: float
    run_id: str
    error: BaseException | None = None
    artifacts: tuple[Artifact, ...] = ()
    unread: tuple[str, ...] = ()
    """Messages that arrived too late to be read, or wait in a paused run."""
    pending: tuple[PendingCall, ...] = ()
    """Calls that wait for a person's decision, or for a result from whoever called."""
    sources: tuple[str, ...] = ()
    """What was read from outside (results of `untrusted` tools), first source first."""
    plan: tuple[PlanStep, ...] = ()
    """The steps of the plan as it stood at the end, each with `done`; empty where nobody planned."""
    earlier: int = 0
    """How many of `messages` were there before: the system prompt and the history."""
    ledger: tuple[LedgerEntry, ...] = ()
    """What became of each call that acts, from the record: done, failed, refused or unknown. It is right whatever the
    answer says."""

    @property
    def new_messages(self) -> list[Message]:
        """Return what this run has added to the conversation."""
        return self.messages[self.earlier :]

    @property
    def cost(self) -> float | None:
        """US dollars, of everything the run has started; None when a price is not known."""
        return self.usage.cost

    def trace(self) -> str:
        """The run as a story to read."""
        return load("_engine.surfaces.story:text_story")(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return load("_engine.surfaces.story:html_story")(self)

    @property
    def leftovers(self) -> tuple[str, ...]:
        """The old name of `unread`."""
        return self.unread

    def __repr__(self) -> str:
        answer = self.answer if len(self.answer) <= 200 else self.answer[:200] + "..."
        parts = [self.stop_reason, f"answer={answer!r}"]
        if self.error is not None:
            said = str(self.error)
            parts.append(f"error={type(self.error).__name__}({said if len(said) <= 500 else said[:500] + '...'!r})")
        if self.pending:
            parts.append(f"pending={[call.tool for call in self.pending]}")
        return f"RunResult({', '.join(parts)}, iterations={self.iterations}, run_id={self.run_id!r})"

    def to_dict(self) -> dict[str, Any]:
        data = Value.to_dict(self)
        for step in data["steps"]:
            step.pop("exception", None)  # of this process alone
        return data

    def keys(self) -> tuple[str, ...]:
        """The names of the fields, so that `dict(result)` and FastAPI get their plain values."""
        return self.__struct_fields__

    def __getitem__(self, name: str) -> Any:
        return msgspec.to_builtins(getattr(self, name), enc_hook=as_data)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result that `to_dict` wrote; a typed `output` is plain data in it."""
        kinds: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(cls)}
        kinds |= {"error": Any, "output": Any}
        values: dict[str, Any] = {
            name: msgspec.convert(value, kinds[name]) for name, value in data.items() if name in kinds
        }
        error = values.get("error")
        values["error"] = _error_of(error["type"], error["message"]) if error else None
        return cls(**values)

    def outputs(self) -> dict[str, Any]:
        """Content, tools with arguments and results, and times, as a dictionary."""
        return {
            "content": self.answer,
            "use_tools": [
                {"name": step.tool, "arguments": step.args, "results": step.observation} for step in self.steps
            ],
            "_created_time": self.created,
            "_elapsed_time": self.elapsed,
        }


class FailedStep(Step, frozen=True):
    """A call whose tool raised something in this process: nothing of it is stored."""

    exception: BaseException | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]


def with_exception(step: Step, exceptions: Mapping[str, BaseException]) -> Step:
    raised = exceptions.get(step.call_id)
    if raised is None:
        return step
    return FailedStep(**{name: getattr(step, name) for name in Step.__struct_fields__}, exception=raised)


def pending_calls(state: RunState) -> tuple[PendingCall, ...]:
    """Return what a paused run waits for, without what is decided already."""
    if state.paused is None:
        return ()
    why, reason = state.paused.why, state.paused.reason
    return tuple(
        PendingCall(call.id, call.name, call.args, why.get(call.id, reason), call.external)
        for call in waiting_calls(state)
    )


def _error_of(name: str, message: str) -> TreadleError:
    """Why a run failed that ended in another process: of the same class where the message alone makes one."""
    kind: object = getattr(errors, name, None)
    if not isinstance(kind, type) or not issubclass(kind, TreadleError) or issubclass(kind, _OF_SEVERAL):
        return TreadleError(message)
    return cast("Callable[[str], TreadleError]", kind)(message)


def metadata_of(state: RunState) -> dict[str, Any]:
    counters = state.spending.counters
    usage = state.usage
    return {
        "rounds": state.turn.iteration,
        "tool_calls_made": counters.tool_calls,
        "failed_calls": counters.failed_calls,
        "truncated_responses": counters.truncated_responses,
        "truncated_observations": counters.truncated_observations,
        "messages_trimmed": counters.trims,
        "compactions": counters.compactions,
        "interrupts": counters.interrupts,
        "attempts_failed": counters.attempts_failed,
        "components": {
            name: {"calls": spent.calls, "usage": spent.usage, "elapsed": spent.elapsed}
            for name, spent in state.spending.components.items()
        },
        "reports": {name: note["report"] for name, notes in state.notes.items() for note in notes if "report" in note},
        "cached_share": usage.cached_tokens / usage.input_tokens if usage.input_tokens else 0.0,
        "dialect": state.dialect,
        "model": state.model,
        "breaks": [why for _, why in state.conversation.breaks],
        "elapsed": state.elapsed,
    }


def result_of(
    state: RunState,
    run_id: str,
    *,
    system: str = "",
    error: BaseException | None = None,
    output: Any = None,
    typed: bool = False,
    unread: tuple[str, ...] = (),
    finished: RunFinished | None = None,
    exceptions: Mapping[str, BaseException] = {},
) -> RunResult[Any]:
    """The result a state amounts to, finished or not; `finished` stands in for an end that is not recorded yet.

    `exceptions`: what tools raised in this process, by the id of the call.
    """
    finished = finished or state.finished
    messages = state.messages()
    earlier = (len(state.started.history) if state.started is not None else 0) + bool(system)
    if output is None and finished is not None:
        output = finished.output if typed or finished.output is not None else finished.answer
    if system:
        messages.insert(0, SystemMessage(system, rendered=True))
    tools_used = list(dict.fromkeys(step.tool for step in state.steps))
    reason: StopReason = finished.stop_reason if finished else "paused" if state.paused else "error"
    if error is None and finished is not None and finished.error:
        error = _error_of(finished.error_type, finished.error)
    return RunResult(
        answer=finished.answer if finished else state.answer.partial,
        brief=(finished.brief or finished.answer) if finished else "",
        output=output,
        stop_reason=reason,
        success=finished.success if finished else False,
        task_successful=finished.task_successful if finished else state.answer.task_successful,
        messages=messages,
        steps=[with_exception(step, exceptions) for step in state.steps] if exceptions else list(state.steps),
        iterations=state.turn.iteration,
        usage=state.usage,
        metadata=metadata_of(state),
        tools_used=tools_used,
        created=state.created,
        elapsed=state.elapsed,
        run_id=run_id,
        error=error,
        artifacts=tuple(artifact for step in state.steps for artifact in step.artifacts),
        unread=finished.unread + unread if finished else unread,
        pending=pending_calls(state),
        sources=tuple(state.provenance.sources),
        plan=tuple(state.plan),
        earlier=earlier,
        ledger=state.ledger.entries,
    )
