"""ToolSelection: above a number of tools, one cheap call picks those to offer; the model can ask for more."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.structured import structured_llm_call
from treadle._tools.base import Tool, ToolContext
from treadle._types.events import ToolSelectionStarted
from treadle._types.messages import Message, SystemMessage, UserMessage
from treadle._types.request import ToolSchema

MORE = "more_tools"
BROUGHT = "tools brought by a plug-in"
"""The reason for a change of tools before there is anything to choose from."""
_CATALOGUE_WIDTH = 80


def catalogue_line(tool: Tool | ToolSchema) -> str:
    line = f"- {tool.name}: {tool.description.strip().splitlines()[0] if tool.description.strip() else ''}"
    return line if len(line) <= _CATALOGUE_WIDTH else line[: _CATALOGUE_WIDTH - 3] + "..."


async def offer_also(run: RunContext[Any], names: Iterable[str], reason: str) -> None:
    """Offer these tools as well: at the end, so that what was sent before stays as it is."""
    offered = [tool.name for tool in run.state.tools]
    if missing := [name for name in names if name not in offered]:
        await run.offer_tools([*offered, *missing], reason)


async def _more_tools(context: ToolContext, names: list[str]) -> str:
    run: RunContext = context.run
    offered = [tool.name for tool in run.state.tools]
    requested = [name for name in names if run.toolkit.get(name) is not None and name not in offered]
    if not requested:
        hidden = [tool for tool in run.toolkit if tool.name not in offered]
        return "No such tools. Available on request:\n" + "\n".join(catalogue_line(tool) for tool in hidden)
    await offer_also(run, requested, f"asked for {', '.join(requested)}")
    return f"Added: {', '.join(requested)}. They can be called from now on."


MORE_TOOLS = Tool(
    MORE,
    "Make further tools available by name; call it with an empty list to see which there are.",
    {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}, "required": ["names"]},
    _more_tools,
    effect="idempotent",
    acts=False,
    concurrent=False,
    pinned=True,
    context_param="context",
)


class ToolSelection(Plugin):
    """When the selection fails, every tool is offered. Pinned tools stay; those not selected cannot be executed."""

    name = "selection"
    harmless = True
    loop_only = True
    tools: tuple[Tool, ...] = (MORE_TOOLS,)

    async def on_start(self, run: RunContext) -> None:
        threshold = run.settings.selection_threshold
        tools = list(run.toolkit)
        if threshold is None or len(tools) <= threshold or _selected(run):
            return
        await run.emit(ToolSelectionStarted(len(tools)))
        chosen = await self.choose(run, tools)
        if not chosen:
            return
        # What another plug-in or the caller has put on offer is in the state, and not in the toolkit.
        others = (
            tool for schema in run.state.tools if (tool := run.tool(schema.name)) and tool.name not in run.toolkit
        )
        pinned = [tool.name for tool in (*tools, *others) if tool.pinned and tool.name not in chosen]
        await run.offer_tools([*chosen, *pinned, *(tool.name for tool in self.tools)], "selection")

    async def choose(self, run: RunContext, tools: list[Tool]) -> list[str]:
        """The names of the tools to offer, the most important first; none: every tool is offered."""
        return await _choose(run, tools)


def _selected(run: RunContext) -> bool:
    """Return whether the start is behind this run: its requests have changed, other than by tools that a plug-in
    brought."""
    return any(why != "tools changed: " + BROUGHT for _, why in run.state.conversation.breaks)


async def _choose(run: RunContext, tools: list[Tool]) -> list[str]:
    """The names of existing tools that the model picks, in its order; empty when its reply cannot be used."""
    limit = run.settings.selection_max
    existing = {tool.name for tool in tools}
    schema = {
        "type": "object",
        "properties": {
            "tools": {"type": "array", "items": {"type": "string"}, "description": f"at most {limit} tool names"}
        },
        "required": ["tools"],
    }
    instruction = (
        f"Pick the tools that are needed to answer the question: at most {limit}, by name, most important first."
    )
    messages: list[Message] = [
        SystemMessage(run.prompts.get("select_tools", instruction)),
        UserMessage(f"Question:\n{run.state.question}\n\nTools:\n" + "\n".join(catalogue_line(tool) for tool in tools)),
    ]

    def parse(raw: dict[str, Any]) -> list[str]:
        names = [name for name in dict.fromkeys(raw["tools"]) if name in existing]
        if not names:
            raise ValueError(f"none of the names exists; choose from: {', '.join(sorted(existing))}"[:500])
        return names[:limit]

    ask = partial(run.ask, "selection")
    result = await structured_llm_call(
        run.model, messages, schema, parse, default_value=[], name="select_tools", ask=ask
    )
    return result.value
