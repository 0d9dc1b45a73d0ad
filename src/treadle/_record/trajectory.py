"""A run as a trajectory in ATIF 1.7, the format that Harbor reads; the runs inside it are its sub-agents'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from treadle._types import events as ev
from treadle._types.events import Record
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, text_of
from treadle._types.state import ANSWERING, CONVERSATION, fold
from treadle._types.usage import Usage
from treadle._version import __version__

_VERSION = "ATIF-v1.7"
_NOTES = "Media are left out; total_steps counts steps of this trajectory only."


def trajectory_of(runs: Sequence[Sequence[Record]]) -> dict[str, Any]:
    """The first run as a trajectory, with the others, which are inside it. A run that has not ended is written as far
    as it has come."""
    root, *inside = (_Trajectory(records) for records in runs)
    written = root.written()
    for child in inside:
        parent, _, call_id = child.run.rpartition(".")
        if parent == root.run:
            root.refer(call_id, child.run)
    return written | ({"subagent_trajectories": [child.written() for child in inside]} if inside else {})


class _Trajectory:
    """One run, step by step."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.run = records[0].run
        self.steps: list[dict[str, Any]] = []
        self._state = fold(list(records))
        self._calls: dict[str, dict[str, Any]] = {}
        """The step that asks for each call."""
        for record in records:
            self._time = datetime.fromtimestamp(record.time, UTC).isoformat().replace("+00:00", "Z")
            if (write := _WRITERS.get(type(record.event))) is not None:
                write(self, record.event)

    def written(self) -> dict[str, Any]:
        started, usage = self._state.started, self._state.usage
        tools = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in self._state.tools]
        agent = {"name": started.agent if started is not None else "agent", "version": __version__}
        agent |= {"model_name": self._state.model} if self._state.model else {}
        counts = {f"total_{name}": value for name, value in _metrics(usage).items()}
        return {
            "schema_version": _VERSION,
            "session_id": self.run,
            "trajectory_id": self.run,
            "agent": agent | ({"tool_definitions": tools} if tools else {}),
            "steps": self.steps,
            "notes": _NOTES,
            "final_metrics": counts | {"total_steps": len(self.steps)},
            "extra": {"producer": "treadle", "stop_reason": self._stop_reason},
        }

    def refer(self, call_id: str, child: str) -> None:
        """Name the trajectory of the agent that a call has asked."""
        for result in self._calls.get(call_id, {}).get("observation", {}).get("results", ()):
            if result.get("source_call_id") == call_id:
                result["subagent_trajectory_ref"] = [{"trajectory_id": child}]

    @property
    def _stop_reason(self) -> str:
        finished = self._state.finished
        return finished.stop_reason if finished is not None else "paused" if self._state.paused is not None else "open"

    # ---- steps

    def _step(self, source: str, message: str, **fields: Any) -> dict[str, Any]:
        step = {"step_id": len(self.steps) + 1, "timestamp": self._time, "source": source, "message": message, **fields}
        self.steps.append(step)
        return step

    def _message(self, message: Message, **fields: Any) -> None:
        match message:
            case AssistantMessage():
                calls = {"tool_calls": [_call(call) for call in message.calls]} if message.calls else {}
                thought = {"reasoning_content": message.reasoning} if message.reasoning and "metrics" in fields else {}
                step = self._step("agent", message.text, **thought, **calls, **fields)
                self._calls |= {call.id: step for call in message.calls}
            case ToolMessage():
                self._result(message.call_id, text_of(message.content), {})
            case SystemMessage():
                self._step("system", message.text)
            case _:
                self._step("user", text_of(message.content))

    def _result(self, call_id: str, content: str, extra: dict[str, Any]) -> None:
        step = self._calls.get(call_id)
        source = {"source_call_id": call_id} if step is not None else {}  # a call that code made was asked for by none
        step = step or (self.steps[-1] if self.steps else self._step("system", ""))
        results = step.setdefault("observation", {"results": []})["results"]
        results.append({**source, "content": content, **({"extra": extra} if extra else {})})

    # ---- records

    def on_started(self, event: ev.RunStarted) -> None:
        if event.system:
            self._step("system", event.system)
        for message in event.history:
            self._message(message, is_copied_context=True, llm_call_count=0)
        self._step("user", text_of(event.question))

    def on_reply(self, event: ev.ThinkDone) -> None:
        if event.component in CONVERSATION or event.component in ANSWERING:
            metrics = _metrics(event.usage)
            self._message(event.message, metrics=metrics, llm_call_count=1)

    def on_message(self, event: ev.MessageAdded) -> None:
        self._message(event.message, llm_call_count=0)

    def on_injected(self, event: ev.Injected) -> None:
        self._step("user", "\n\n".join(event.texts))

    def on_result(self, event: ev.ToolDone) -> None:
        self._result(event.call_id, text_of(event.content), {"error": event.error} if event.error else {})

    def on_compacted(self, event: ev.ContextCompacted) -> None:
        self._step("system", event.summary or f"{event.original_messages} messages left the context ({event.reason})")

    def on_finished(self, event: ev.RunFinished) -> None:
        if event.answer and not any(step["message"] == event.answer for step in self.steps[-1:]):
            self._step("agent", event.answer, llm_call_count=0)


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.args if not call.problem else {"input": call.raw}
    return {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}


def _metrics(usage: Usage) -> dict[str, Any]:
    counts = {"prompt": usage.input_tokens, "completion": usage.output_tokens, "cached": usage.cached_tokens}
    cost = {"cost_usd": usage.cost} if usage.cost is not None else {}
    return {f"{name}_tokens": count for name, count in counts.items()} | cost


_WRITERS: dict[type[Any], Callable[[_Trajectory, Any], None]] = {
    ev.RunStarted: _Trajectory.on_started,
    ev.ThinkDone: _Trajectory.on_reply,
    ev.MessageAdded: _Trajectory.on_message,
    ev.Injected: _Trajectory.on_injected,
    ev.ToolDone: _Trajectory.on_result,
    ev.ContextCompacted: _Trajectory.on_compacted,
    ev.RunFinished: _Trajectory.on_finished,
}
