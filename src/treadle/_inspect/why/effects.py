"""The gate of an experiment: nothing that could have an effect runs.

A call that the run has made before, with equal arguments, gets the result it got then. Any other is run only where its
tool is `pure` and cannot act on the run (an agent as a tool would start runs of its own). Then the stand-ins are asked:
what the user gives in place of a tool, a model that says what the call would have returned, or whoever can make the
call where it changes nothing. What is left has no result: the model is told so, and the experiment says that it met
something unknown.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from treadle._engine.acting.execute import NOT_IN_EXPERIMENT, may_run_again
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.changes import Change, edited
from treadle._models.base import Model, complete
from treadle._tools.base import Tool, ToolOutcome
from treadle._tools.results import cut
from treadle._types.errors import BudgetExhaustedError, ConfigError, TreadleError
from treadle._types.events import Noted, Record, RunStarted, ThinkDone, ToolDone, ToolsChanged, ToolStarted
from treadle._types.messages import SystemMessage, ToolCall, UserMessage, text_of
from treadle._types.request import Request, ToolSchema
from treadle._types.state import fold


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
            elif change.name == "max_observation_chars" and isinstance(event.content, str):
                whole = event.content if event.full is None else event.full
                event = msgspec.structs.replace(event, content=cut(whole, change.value), full=None)
            results.setdefault(key_of(call.name, call.args), []).append(event)
    return results


def _changed(event: ToolDone, change: Change) -> ToolDone:
    if change.kind == "result":
        return msgspec.structs.replace(event, content=change.after, error="", full=None)
    return msgspec.structs.replace(event, content=edited(text_of(event.content), change.before, change.after))


class StandIn(Protocol):
    """Answers calls in place of tools that may not run."""

    name: str
    """What it is, with its settings: part of the name of each experiment that it takes part in."""

    async def answer(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call; None where it has none. Nothing outside of it may change."""
        ...

    async def instead(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call that the log has a result of, if that result holds no more."""
        return None


Stub = str | Callable[..., Any]
"""What stands for a tool in experiments: its result, or a function of the call's arguments that has no effect."""


def stubs_of(options: Sequence[str]) -> dict[str, Stub]:
    """Stubs that were written as `tool=text`."""
    stubs: dict[str, Stub] = {}
    for one in options:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise ConfigError(f"stub {one!r}: write the name of a tool, '=' and what it returns")
        stubs[name] = text
    return stubs


class Stubs(StandIn):
    """Results and functions of the user, by the names of the tools that they stand for."""

    def __init__(self, stubs: Mapping[str, Stub]) -> None:
        self._stubs = dict(stubs)
        texts = {name: stub if isinstance(stub, str) else getattr(stub, "__qualname__", "") for name, stub in
                 stubs.items()}  # fmt: skip
        self.name = f"stubs {msgspec.json.encode(texts, order='sorted').decode()}"

    async def answer(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        if call.name not in self._stubs:
            return None
        stub = self._stubs[call.name]
        try:
            result = stub if isinstance(stub, str) else stub(**call.args)
            result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            return ToolOutcome(f"{type(error).__name__}: {error}", "exception", executed=False)
        return ToolOutcome(result if isinstance(result, str) else plain_text(result), executed=False)


IMAGINED = "imagined"
"""The note that says of which tool a model has guessed the result."""
_GUESS = (
    "A program's run is looked at again. It now calls a tool that cannot be called any more. From what the tool says "
    "of itself and the results it gave, write what this call would most probably have returned. Write the result and "
    "nothing else."
)
_SHOWN = 12
_SHOWN_CHARS = 1_500


class Guesses(StandIn):
    """A model says once for each call what it would have returned; the guess is the same for all experiments."""

    def __init__(self, model: Model, budget: SearchBudget, records: Sequence[Record]) -> None:
        self._model, self._budget = model, budget
        self.name = f"guesses of {model.name}"
        self._made = [step for step in fold(records).steps if not step.error]
        self._guesses: dict[bytes, asyncio.Task[str]] = {}

    async def answer(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        key = key_of(call.name, call.args)
        if key not in self._guesses:
            schema = next((one for one in run.state.tools if one.name == call.name), None)
            self._guesses[key] = asyncio.ensure_future(self._guess(call, schema))
        try:
            text = await asyncio.shield(self._guesses[key])
        except BudgetExhaustedError:  # the experiment waits until it is abandoned, and a later search resumes it
            del self._guesses[key]
            return await asyncio.get_running_loop().create_future()
        except TreadleError:  # the provider has failed: the outcome stays unknown
            return None
        await run.emit(Noted(ExperimentGate.name, {IMAGINED: call.name}))
        return ToolOutcome(text, executed=False)

    async def _guess(self, call: ToolCall, schema: ToolSchema | None) -> str:
        self._budget.take()
        same = [step for step in self._made if step.tool == call.name][-_SHOWN:]
        shown = [f"{plain_text(step.args)} returned:\n{step.observation[:_SHOWN_CHARS]}" for step in same]
        asked = [
            f"Tool {call.name}: {plain_text(schema) if schema else 'nothing is known of it'}",
            *shown,
            f"Now it is called with {plain_text(call.args)}",
        ]
        messages = [SystemMessage(_GUESS), UserMessage("\n\n".join(asked))]
        reply = await complete(self._model, Request(messages, temperature=0.0, component="guess"))
        self._budget.add(reply.usage)
        return reply.text


def plain_text(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


class ExperimentGate(Plugin):
    """The last plug-in of an experiment: it sees each call as it would be made."""

    name = "experiment_gate"
    harmless = True
    conducts_experiments = True
    """Runs that are experiments are loaded for an agent that has it, and for no other."""

    def __init__(
        self, records: Sequence[Record], change: Change, plugins: Sequence[Any], stand_ins: Sequence[StandIn] = ()
    ) -> None:
        self._stand_ins = stand_ins
        self._results = recorded_results(records, change)
        self._of_plugins: dict[str, Tool] = {
            tool.name: tool for plugin in plugins for tool in getattr(plugin, "tools", ())
        }
        events = [record.event for record in records]
        offered = {one.name for event in events if isinstance(event, RunStarted | ToolsChanged) for one in event.tools}
        self._undeclared = {event.name for event in events if isinstance(event, ToolDone)} - offered
        """Tools that the log has results of and no schema: what was imported need not say what was offered."""
        self._replayed: dict[bytes, int] = {}
        self.ran: list[str] = []
        """Tools that were run."""
        self.reused = 0
        self.unknown: list[str] = []
        """Calls whose result is not in the log."""

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        if call.name not in run.state.tool_names() | self._undeclared:
            offered = ", ".join(sorted(run.state.tool_names())) or "none"
            message = f"There is no tool {call.name!r}. The tools are: {offered}."
            return ToolOutcome(message, "unknown_tool", executed=False)
        for one in self._stand_ins:
            if (outcome := await one.instead(run, call)) is not None:
                return outcome
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
        for one in self._stand_ins:
            if (outcome := await one.answer(run, call)) is not None:
                return outcome
        self.unknown.append(call.name)
        return ToolOutcome(NOT_IN_EXPERIMENT, "unknown_outcome", executed=False)
