"""The tools of a run: the agent's, those plug-ins bring, and a swap that waits for the next round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle._tools.base import Tool
from treadle._tools.toolkit import Toolkit
from treadle._types.state import RunState


class ToolOffer:
    """What may be called is what the state offers (`RunState.tools`); what stands behind a name is found here."""

    def __init__(self, toolkit: Toolkit, plugins: Iterable[Any]) -> None:
        self.toolkit = toolkit
        self.of_plugins: dict[str, Tool] = {
            tool.name: tool for plugin in plugins for tool in getattr(plugin, "tools", ())
        }
        """Tools of plug-ins: not the agent's, but they may be offered too."""
        self.swap: Toolkit | None = None
        """Tools that replace the toolkit at the next round."""

    def get(self, name: str) -> Tool | None:
        return self.toolkit.get(name) or self.of_plugins.get(name)

    def swap_later(self, toolkit: Toolkit) -> None:
        """Take these tools from the next round on. Safe from any thread."""
        self.swap = toolkit

    def apply_swap(self, state: RunState) -> list[str]:
        """The names to offer after the swap: all new tools, and the plug-ins' that were on offer."""
        assert self.swap is not None
        self.toolkit, self.swap = self.swap, None
        kept = [t.name for t in state.tools if t.name in self.of_plugins and t.name not in self.toolkit]
        return [*self.toolkit.names, *kept]

    def callable_tool(self, state: RunState, name: str) -> Tool | None:
        """Only what is offered at this moment may run: a deselected or withdrawn tool is unknown."""
        return self.get(name) if name in state.tool_names() else None

    def offered(self, state: RunState) -> Toolkit:
        """What the model can choose from: names near a wrong one must not be those of withdrawn tools."""
        return Toolkit(tool for schema in state.tools if (tool := self.get(schema.name)) is not None)
