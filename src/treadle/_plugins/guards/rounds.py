"""What plug-ins that look at each round have in common."""

from __future__ import annotations

from collections.abc import Iterator

from treadle._engine.context import RunContext
from treadle._types.events import ReplyConstrained
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage, text_of
from treadle._types.state import RunState
from treadle._types.state_values import Step

_HARMLESS = ("pure", "idempotent")
_OURS = ("note", "reformat")


def under_grammar(run: RunContext) -> bool:
    """Whether the model's replies are held to our grammar. Such a one is small, and can be kept from a tool for one reply."""
    return run.model.profile.grammar and not run.dialect.native


def last_round(state: RunState) -> list[Step]:
    """The calls of the latest reply that made some, with their results."""
    steps = state.steps
    start = len(steps)
    while start and steps[start - 1].iteration == steps[-1].iteration:
        start -= 1
    return steps[start:]


def made_before(run: RunContext, call: ToolCall) -> list[Step]:
    """The steps with this very call."""
    return [step for step in run.state.steps if step.tool == call.name and step.args == call.args]


def last_note(state: RunState, component: str, key: str) -> object:
    """What the component noted last under this key; None when it never did."""
    notes = state.notes.get(component)
    return next((note[key] for note in reversed(notes) if note.get(key) is not None), None) if notes else None


def told(run: RunContext) -> Iterator[str]:
    """What the user and the tools have said; not what the model says in this run, nor what we say to it about that."""
    state = run.state
    yield state.question
    if state.started is not None:
        yield state.started.system
    refused = {step.call_id for step in state.steps if step.error == "rejected"}
    for entry in state.window:
        match entry.message:
            case ToolMessage(call_id=call_id, content=content) if call_id not in refused:
                yield text_of(content)
            case UserMessage(kind=kind, content=content) if kind not in _OURS:
                yield text_of(content)
            case AssistantMessage(text=text) if entry.component == "history":
                yield text
            case _:
                pass


async def send_elsewhere(run: RunContext, name: str, tool: str) -> None:
    """A call was refused: the next reply is a call of another tool, if there is one."""
    if len(run.state.tools) > 1:
        await run.emit(ReplyConstrained(name, all_harmless(run) and not run.model.profile.tiny, (tool,)))


def all_harmless(run: RunContext) -> bool:
    """Whether a model may be made to call one of its tools, whichever it takes."""
    offered = [run.tool(schema.name) for schema in run.state.tools]
    return all(tool is not None and tool.effect in _HARMLESS for tool in offered)
