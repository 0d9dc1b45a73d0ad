"""What a run gives back."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from treadle._types.events import Artifact, RunFinished, StopReason
from treadle._types.messages import Message, SystemMessage
from treadle._types.state import RunState
from treadle._types.state_values import Step
from treadle._types.usage import Usage


class PendingCall(Struct, frozen=True):
    """A call that waits for a person's decision."""

    call_id: str
    tool: str
    args: dict[str, Any]
    why: str

    @property
    def how(self) -> str:
        """How to decide, as code."""
        return f"agent.resume(run_id, approve={{{self.call_id!r}: True}})"


class RunResult(Struct, frozen=True):
    """The answer and everything that led to it."""

    answer: str
    """What the user gets."""
    brief: str
    """The loop's own last text; the same as `answer` unless an answer was synthesised from the trace."""
    output: Any
    """The typed answer of an agent with an `output_type`, else None."""
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
    """Calls that wait for a person's decision."""
    sources: tuple[str, ...] = ()
    """What was read from outside (results of `untrusted` tools), first source first."""

    @property
    def cost(self) -> float | None:
        """What the run cost in US dollars, that of its agents included; None when no price is known."""
        return self.usage.cost

    @property
    def leftovers(self) -> tuple[str, ...]:
        """The old name of `unread`."""
        return self.unread

    def __repr__(self) -> str:
        answer = self.answer if len(self.answer) <= 200 else self.answer[:200] + "..."
        return f"RunResult({self.stop_reason}, answer={answer!r}, iterations={self.iterations}, run_id={self.run_id!r})"

    def outputs(self) -> dict[str, Any]:
        """The result as a plain dictionary: content, the tools with arguments and results, times."""
        return {
            "content": self.answer,
            "use_tools": [
                {"name": step.tool, "arguments": step.args, "results": step.observation} for step in self.steps
            ],
            "_created_time": self.created,
            "_elapsed_time": self.elapsed,
        }


def pending_calls(state: RunState) -> tuple[PendingCall, ...]:
    """What a paused run waits for, without what is decided already."""
    if state.paused is None:
        return ()
    undecided = (call for call in state.paused.calls if call.id not in state.approvals)
    why, reason = state.paused.why, state.paused.reason
    return tuple(PendingCall(call.id, call.name, call.args, why.get(call.id, reason)) for call in undecided)


def metadata_of(state: RunState) -> dict[str, Any]:
    counters = state.counters
    usage = state.usage
    return {
        "rounds": state.iteration,
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
            for name, spent in state.spent.items()
        },
        "reports": {name: note["report"] for name, notes in state.notes.items() for note in notes if "report" in note},
        "cached_share": usage.cached_tokens / usage.input_tokens if usage.input_tokens else 0.0,
        "dialect": state.dialect,
        "model": state.model,
        "breaks": [why for _, why in state.breaks],
        "elapsed": state.updated - state.created,
    }


def result_of(
    state: RunState,
    run_id: str,
    *,
    system: str = "",
    error: BaseException | None = None,
    output: Any = None,
    unread: tuple[str, ...] = (),
    finished: RunFinished | None = None,
) -> RunResult:
    """The result a state amounts to, finished or not; `finished` stands in for an end that is not recorded yet."""
    finished = finished or state.finished
    messages = state.messages()
    if system:
        messages.insert(0, SystemMessage(system, rendered=True))
    tools_used = list(dict.fromkeys(step.tool for step in state.steps))
    reason: StopReason = finished.stop_reason if finished else "paused" if state.paused else "error"
    return RunResult(
        answer=finished.answer if finished else "",
        brief=(finished.brief or finished.answer) if finished else "",
        output=output if output is not None else finished.output if finished else None,
        stop_reason=reason,
        success=finished.success if finished else False,
        task_successful=finished.task_successful if finished else state.task_successful,
        messages=messages,
        steps=list(state.steps),
        iterations=state.iteration,
        usage=state.usage,
        metadata=metadata_of(state),
        tools_used=tools_used,
        created=state.created,
        elapsed=state.updated - state.created,
        run_id=run_id,
        error=error,
        artifacts=tuple(artifact for step in state.steps for artifact in step.artifacts),
        unread=finished.unread + unread if finished else unread,
        pending=pending_calls(state),
        sources=tuple(state.provenance.sources),
    )
