"""The gate of an experiment: nothing that could have an effect runs.

A call that the run has made before, with equal arguments, gets the result it got then. Any other is run only where its
tool is `pure` and cannot act on the run (an agent as a tool would start runs of its own). What is left has no result:
the model is told so, and the experiment says that it met something unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._engine.acting.execute import NOT_IN_EXPERIMENT, may_run_again
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._inspect.why.changes import Change, edited
from treadle._tools.base import Tool, ToolOutcome
from treadle._tools.results import cut
from treadle._types.events import Record, ThinkDone, ToolDone, ToolStarted
from treadle._types.messages import ToolCall, text_of


def disarmed(tool: Tool) -> Tool:
    """Replace the function of a tool that may not run, so that no caller can reach it."""
    return tool if may_run_again(tool) else tool.replace(execute=_never, context_param="", needs_deps="", convert=None)


def _never(**arguments: Any) -> Any:
    raise AssertionError("a tool that may have an effect was reached in an experiment")


def key_of(name: str, args: Any) -> bytes:
    return msgspec.json.encode((name, args), order="sorted")


def recorded_results(records: Sequence[Record], change: Change) -> dict[bytes, list[ToolDone]]:
    """Collect the results of each call in order, with the change applied to them."""
    asked: dict[str, ToolCall] = {}
    results: dict[bytes, list[ToolDone]] = {}
    for record in records:
        event = record.event
        if isinstance(event, ThinkDone):
            asked |= {call.id: call for call in event.message.calls}
        elif isinstance(event, ToolStarted):
            asked[event.call.id] = event.call
        elif isinstance(event, ToolDone) and (call := asked.get(event.call_id)) is not None:
            if record.seq == change.record and change.kind == "again":
                continue  # not answered from the log: the call is made, if it may be
            if record.seq == change.record:
                event = _changed(event, change)
            elif record.seq in change.records:
                event = msgspec.structs.replace(event, content=change.after, error="", full=None)
            elif change.name == "max_observation_chars" and event.full is not None:
                event = msgspec.structs.replace(event, content=cut(event.full, change.value), full=None)
            results.setdefault(key_of(call.name, call.args), []).append(event)
    return results


def _changed(event: ToolDone, change: Change) -> ToolDone:
    if change.kind == "result":
        return msgspec.structs.replace(event, content=change.after, error="", full=None)
    return msgspec.structs.replace(event, content=edited(text_of(event.content), change.before, change.after))


class ExperimentGate(Plugin):
    """The last plug-in of an experiment: it sees each call as it would be made."""

    name = "experiment_gate"
    harmless = True
    conducts_experiments = True
    """Runs that are experiments are loaded for an agent that has it, and for no other."""

    def __init__(self, records: Sequence[Record], change: Change, plugins: Sequence[Any]) -> None:
        self._results = recorded_results(records, change)
        self._of_plugins: dict[str, Tool] = {
            tool.name: tool for plugin in plugins for tool in getattr(plugin, "tools", ())
        }
        self._replayed: dict[bytes, int] = {}
        self.ran: list[str] = []
        """Tools that were run."""
        self.reused = 0
        self.unknown: list[str] = []
        """Calls whose result is not in the log."""

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        if call.name not in run.state.tool_names():
            offered = ", ".join(sorted(run.state.tool_names())) or "none"
            message = f"There is no tool {call.name!r}. The tools are: {offered}."
            return ToolOutcome(message, "unknown_tool", executed=False)
        key = key_of(call.name, call.args)
        if recorded := self._results.get(key):
            # The same call may have had several results: in their order, and then the last one again.
            earlier = self._replayed.get(key)
            if earlier is None:
                earlier = sum(1 for s in run.state.steps if s.tool == call.name and key_of(s.tool, s.args) == key)
            self._replayed[key] = earlier + 1
            self.reused += 1
            done = recorded[min(earlier, len(recorded) - 1)]
            return ToolOutcome(
                done.content, done.error, final=done.final, source=done.source, executed=False,
                task_successful=done.task_successful,
            )  # fmt: skip
        tool = run.toolkit.get(call.name) or self._of_plugins.get(call.name)
        if tool is not None and may_run_again(tool):
            self.ran.append(call.name)
            return call
        self.unknown.append(call.name)
        return ToolOutcome(NOT_IN_EXPERIMENT, "unknown_outcome", executed=False)
