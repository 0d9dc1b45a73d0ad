"""The tools of a run: the agent's, those plug-ins bring, those the caller brings, and a swap that waits for the next
round.

What the caller brings never stands in for what the agent has: behind a name, the agent's side is found first, and a run
in which both have a name is refused, whenever the agent's tool arrives (an MCP server lists its tools late)."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._tools.versions import changed_versions, version_of
from treadle._types.errors import DuplicateToolError
from treadle._types.request import ToolSchema
from treadle._types.state import RunState


class ToolOffer:
    """What may be called is what the state offers (`RunState.tools`); what stands behind a name is found here."""

    def __init__(self, toolkit: Toolkit, plugins: Iterable[Any], brought: Iterable[Tool] = ()) -> None:
        self.toolkit = toolkit
        self.of_plugins: dict[str, Tool] = {
            tool.name: tool for plugin in plugins for tool in getattr(plugin, "tools", ())
        }
        """Tools of plug-ins: not the agent's, but they may be offered too."""
        self.brought = Toolkit(brought)
        """Tools of the caller, for this run only."""
        self.swap: Toolkit | None = None
        """Tools that replace the toolkit at the next round."""
        self.refuse_taken_names()

    def get(self, name: str) -> Tool | None:
        return self.toolkit.get(name) or self.of_plugins.get(name) or self.brought.get(name)

    def names_of(self, tool: Tool) -> tuple[str, ...]:
        """Return the names that mean this tool and no other: what it was called before only where nobody else is, so
        that a server which calls its tool like the agent's gets nothing that was said about that one."""
        others = (one for one in (*self.toolkit, *self.of_plugins.values(), *self.brought) if one.name != tool.name)
        taken = {name for one in others for name in one.all_names}
        return tuple(name for name in tool.all_names if name == tool.name or name not in taken)

    @property
    def at_start(self) -> tuple[ToolSchema, ...]:
        """Return what a run offers before its plug-ins have said anything."""
        return (*self.toolkit.schemas, *self.brought.schemas)

    @property
    def acting(self) -> dict[str, tuple[str, ...]]:
        """Return the tools that say that they act, with the words they declare for what they do."""
        tools = (*self.toolkit, *self.of_plugins.values(), *self.brought)
        return {tool.name: tool.verbs for tool in tools if tool.declares_act}

    @property
    def versions(self) -> dict[str, str]:
        """Return the versions of the agent's own tools."""
        return {tool.name: version_of(tool) for tool in self.toolkit}

    def changed(self, recorded: Mapping[str, str]) -> dict[str, str]:
        """Return the tools that are not as they were recorded, with their versions."""
        return changed_versions(recorded, self.toolkit) if recorded else {}

    def renewed(self, schemas: Sequence[ToolSchema], changed: Container[str]) -> tuple[ToolSchema, ...]:
        """Return what is offered, with the schemas that the changed tools have now."""
        now = {tool.name: tool.schema for tool in self.toolkit if tool.name in changed}
        return tuple(
            msgspec.structs.replace(now[one.name], deferred=one.deferred) if one.name in now else one for one in schemas
        )

    def refuse_taken_names(self) -> None:
        """`DuplicateToolError` when the caller has brought a tool whose name the agent has, or has got meanwhile."""
        if not self.brought:
            return
        taken = {_plain(name): name for name in (*self.of_plugins, *self.toolkit.names)}
        for name in self.brought.names:
            if (own := taken.get(_plain(name))) is not None:
                alike = "" if own == name else f" ({own!r}, which reads alike)"
                raise DuplicateToolError(
                    f"the tool {name!r} was brought for this run, but the agent has one of that name{alike}: "
                    "give yours another name"
                )

    def swap_later(self, toolkit: Toolkit) -> None:
        """Take these tools from the next round on. Safe from any thread."""
        self.swap = toolkit

    def apply_swap(self, state: RunState) -> list[str]:
        """The names to offer after the swap: all new tools, the caller's, and the plug-ins' that were on offer."""
        assert self.swap is not None
        self.toolkit, self.swap = self.swap, None
        kept = [t.name for t in state.tools if t.name in self.of_plugins and t.name not in self.toolkit]
        return [*self.toolkit.names, *self.brought.names, *kept]

    def callable_tool(self, state: RunState, name: str) -> Tool | None:
        """Only what is offered at this moment may run: a deselected or withdrawn tool is unknown."""
        return self.get(name) if name in state.tool_names() else None

    def offered(self, state: RunState) -> Toolkit:
        """Return what the model can choose from: names near a wrong one must not be those of withdrawn tools."""
        return Toolkit(tool for schema in state.tools if (tool := self.get(schema.name)) is not None)


def _plain(name: str) -> str:
    """Names that become one where code calls them ("throw-away", "throw_away"), or that a reader takes for one."""
    return re.sub(r"\W", "_", name).strip("_").casefold()
