"""MCP (L45): the tools of an MCP server, offered to a run and followed while they change."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.tool_selection import BROUGHT
from treadle._plugins.state_queries import last_note
from treadle._tools.base import Approval, Tool
from treadle._tools.mcp.client import McpConnection, RemoteCall, safe_name
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import Noted


class McpTools(Plugin):
    """Offers the server's tools, all or the named ones, under its own names; a name that is taken gets the server's in front.

    A server that cannot be reached costs a run its tools, not its life: the log says so.
    """

    brings_tools = True

    def __init__(self, connection: McpConnection, only: Collection[str] = (), approval: Approval = "allow") -> None:
        self.connection = connection
        self.only = frozenset(only)
        self.approval: Approval = approval
        self.name = f"mcp:{connection.name}"

    @classmethod
    def from_settings(cls, mcp_id: str, server: Any, only: Collection[str] = ()) -> McpTools:
        """From a document's description of a server; `{name}` in its texts stands for one of its variables."""

        def fill(text: str) -> str:
            for name, value in server.variables.items():
                text = text.replace(f"{{{name}}}", value)
            return text

        def all_of(texts: dict[str, str]) -> dict[str, str]:
            return {name: fill(text) for name, text in texts.items()}

        try:
            connection = McpConnection(
                mcp_id,
                command=fill(server.command),
                args=[fill(text) for text in server.args],
                env=all_of(server.env),
                url=fill(server.url),
                headers=all_of(server.headers),
                transport="sse" if server.transport == "sse" else "http",
                timeout=server.timeout,
            )
        except ConfigError as error:
            raise ConfigError(f"MCP server {mcp_id!r}: {error}") from None
        return cls(connection, only)

    async def on_start(self, run: RunContext) -> None:
        await self._offer(run, BROUGHT)

    async def on_resume(self, run: RunContext) -> None:
        try:
            tools = await self._made(run)
        except ToolError:
            tools = self._remembered(run)  # a call of one of them will try to reach the server again
        self._put(run, tools)

    async def before_round(self, run: RunContext) -> None:
        if self.connection.changed or (self._names(run) and not any(map(self._owns, run.toolkit))):
            await self._offer(run, f"tools of {self.connection.name} changed")

    async def _offer(self, run: RunContext, reason: str) -> None:
        try:
            tools = await self._made(run)
        except ToolError as error:
            told = {"problem": str(error)}
            if run.state.notes.get(self.name, [])[-1:] != [told]:
                await run.emit(Noted(self.name, told))
            return
        before = {tool.name: tool for tool in run.toolkit if self._owns(tool)}
        self._put(run, tools)
        names = {tool.name: _origin(tool) for tool in tools}
        if names != self._names(run):
            await run.emit(Noted(self.name, {"tools": names, "effects": {tool.name: tool.effect for tool in tools}}))
        now = {tool.name: tool for tool in tools}
        offered = [tool.name for tool in run.state.tools]
        # New ones go to the end, so that what was sent before stays as it is; one that was deselected stays so.
        wanted = [name for name in offered if name not in before or name in now]
        wanted += [name for name in now if name not in before and name not in offered]
        told = {schema.name: schema for schema in run.state.tools}
        if wanted != offered or any(name in told and tool.schema != told[name] for name, tool in now.items()):
            await run.offer_tools(wanted, reason)

    async def _made(self, run: RunContext) -> list[Tool]:
        taken = {tool.name for tool in (*run.toolkit, *run.plugin_tools.values()) if not self._owns(tool)}
        given = {original: name for name, original in self._names(run).items()}
        tools: list[Tool] = []
        for remote in await self.connection.listed():
            if self.only and remote.name not in self.only:
                continue
            name = given.get(remote.name) or self._free_name(remote.name, taken)
            if (made := self.connection.as_tool(remote, name, self.approval)) is not None:
                taken.add(name)
                tools.append(made)
        return tools

    def _free_name(self, original: str, taken: set[str]) -> str:
        name = safe_name(original)
        if name in taken:
            name = safe_name(original, self.connection.name)
        number = 2
        while name in taken:
            name, number = f"{safe_name(original)[:60]}_{number}", number + 1
        return name

    def _remembered(self, run: RunContext) -> list[Tool]:
        """The tools the log knows, for as long as the server itself cannot be asked."""
        origins = self._names(run)
        effects: Any = last_note(run.state, self.name, "effects") or {}
        return [
            self.connection.tool(
                origins[told.name],
                told.name,
                told.description,
                told.parameters,
                effects.get(told.name, "unsafe"),
                self.approval,
            )
            for told in run.state.tools
            if told.name in origins
        ]

    def _put(self, run: RunContext, tools: list[Tool]) -> None:
        run.replace_toolkit(Toolkit([*(tool for tool in run.toolkit if not self._owns(tool)), *tools]))

    def _owns(self, tool: Tool) -> bool:
        return isinstance(tool.execute, RemoteCall) and tool.execute.connection is self.connection

    def _names(self, run: RunContext) -> dict[str, str]:
        """What is offered, by the server's own names, as the log has it."""
        names: Any = last_note(run.state, self.name, "tools")
        return names or {}


def _origin(tool: Tool) -> str:
    return tool.execute.original if isinstance(tool.execute, RemoteCall) else tool.name
