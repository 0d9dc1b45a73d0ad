"""Shared by the guards for small models: questions about a run, the texts a value can come from, and the constraint on
the next reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treadle._engine.context import RunContext
from treadle._plugins.state_queries import same_calls
from treadle._tools.base import HARMLESS
from treadle._types.events import ReplyConstrained
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage, text_of

_WRITTEN_BY_US = ("note", "reformat")
_NAMES_OF_0_1 = {
    "give_up": "insist",
    "example_value": "borrowed",
    "unsourced_call": "invented_call",
    "unsourced_answer": "invented_answer",
    "untried": "invented_untried",
}


def small_under_grammar(run: RunContext) -> bool:
    """Return whether the model is small and its replies follow our grammar, which can exclude a tool from one reply."""
    profile = run.model.profile
    return profile.small and profile.constrained and not run.dialect.native


def lacks_adapter(run: RunContext) -> bool:
    """Return whether it is such a model without an adapter. One with an adapter was trained on what some guards are
    for."""
    return small_under_grammar(run) and not run.model.profile.adapter


def is_insisted_on(run: RunContext, call: ToolCall) -> bool:
    """Return whether a call that was refused is made again, and goes through: at the second time by a model that was
    trained to call, or has no other tool. One without an adapter falls back on what it made up, and is refused
    twice."""
    twice = lacks_adapter(run) and len(run.state.tools) > 1
    return len(same_calls(run, call)) > twice


def all_harmless(run: RunContext) -> bool:
    """Return whether the model may be made to call a tool, whichever of those on offer it takes."""
    offered = [run.tool(schema.name) for schema in run.state.tools]
    return all(tool is not None and tool.effect in HARMLESS for tool in offered)


def prompt(run: RunContext, name: str, default: str) -> str:
    """The user's text for a prompt, under its name or the one it had in version 0.1; else the default."""
    return run.prompts.get(name, run.prompts.get(_NAMES_OF_0_1.get(name, name), default))


def source_texts(run: RunContext) -> Iterator[str]:
    """Everything a value may come from: the user's texts, the system prompt and the results of tools.

    Replies of this run and our notes about them are left out: a value in those may be made up.
    """
    state = run.state
    yield state.question
    if state.started is not None:
        yield state.started.system
    refused = {step.call_id for step in state.steps if step.error == "rejected"}
    for entry in state.conversation.window:
        match entry.message:
            case ToolMessage(call_id=call_id, content=content) if call_id not in refused:
                yield text_of(content)
            case UserMessage(kind=kind, content=content) if kind not in _WRITTEN_BY_US:
                yield text_of(content)
            case AssistantMessage(text=text) if entry.component == "history":
                yield text
            case _:
                pass


async def require_other_tool(run: RunContext, component: str, refused: str) -> None:
    """After a refused call: the next reply cannot call that tool, nor those that were refused just before it, as long
    as there is another."""
    barred = {refused}
    for step in reversed(run.state.steps):
        if step.error != "rejected":
            break
        barred.add(step.tool)
    offered = {schema.name for schema in run.state.tools}
    if not offered - barred:
        barred = {refused}
    if len(offered) > 1:
        await run.emit(call_wanted(run, component, barred, not run.model.profile.tiny))


def call_wanted(
    run: RunContext, component: str, barred: Iterable[str] = (), may_force: bool = True
) -> ReplyConstrained:
    """Return what the next reply is held to: a call. A model that may not be made to call any tool, because one of
    those on offer could change something, thinks first."""
    harmless = all_harmless(run)
    return ReplyConstrained(component, harmless and may_force, tuple(sorted(barred)), think=not harmless)


def call_of(run: RunContext, component: str, name: str) -> ReplyConstrained:
    """The same for a call of this tool, which the model has named itself."""
    others = sorted(schema.name for schema in run.state.tools if schema.name != name)
    tool = run.tool(name)
    harmless = tool is not None and tool.effect in HARMLESS
    return ReplyConstrained(component, harmless, tuple(others), think=not harmless)
