"""McpTools: the tools of an MCP server, offered to a run and updated while they change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec import structs

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.tool_selection import BROUGHT
from treadle._plugins.mcp_answers import RunAnswers
from treadle._plugins.mcp_mentions import attach_named
from treadle._plugins.state_queries import last_note
from treadle._tools.base import UNREVIEWED, Approval, Tool
from treadle._tools.mcp.auth.settings import McpAuth
from treadle._tools.mcp.client import McpConnection, RemoteCall, safe_name
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import Noted, PhaseChanged


class McpTools(Plugin):
    """`only` names those that are offered; a name that is taken gets the server's in front."""

    brings_tools = True

    def __init__(
        self,
        connection: McpConnection,
        only: Collection[str] = (),
        approval: Approval = "allow",
        *,
        mentions: bool = False,
        sampling: bool = False,
        elicitation: bool = False,
    ) -> None:
        """`mentions`: a question may name resources (`@server:uri`); whoever asks can then read all of them.
        `sampling`: the server may ask the run's model. `elicitation`: it may ask whoever approves the run's calls.
        """
        self.connection = connection
        self.mentions = mentions
        answers = RunAnswers(connection)
        if sampling:
            connection.answers = structs.replace(connection.answers, sampling=answers.sample)
        if elicitation:
            connection.answers = structs.replace(connection.answers, elicitation=answers.elicit)
        self.only = frozenset(only)
        self.approval: Approval = approval
        self.name = f"mcp:{connection.name}"

    @classmethod
    def from_settings(cls, mcp_id: str, server: Any, only: Collection[str] = ()) -> McpTools:
        """From a document's description of a server."""

        def fill(text: str) -> str:
            for name, value in server.variables.items():
                text = text.replace(f"{{{name}}}", value)
            return text

        def fill_values(texts: dict[str, str]) -> dict[str, str]:
            return {name: fill(text) for name, text in texts.items()}

        try:
            connection = McpConnection(
                mcp_id,
                command=fill(server.command),
                args=[fill(text) for text in server.args],
                env=fill_values(server.env),
                url=fill(server.url),
                headers=fill_values(server.headers),
                transport="sse" if server.transport == "sse" else "http",
                timeout=server.timeout,
                roots=[fill(folder) for folder in server.roots],
                log_level=server.log_level or None,
                auth=None if server.auth is None else _filled(server.auth, fill),
            )
        except ConfigError as error:
            raise ConfigError(f"MCP server {mcp_id!r}: {error}") from None
        return cls(connection, only, sampling=server.sampling, elicitation=server.elicitation)

    async def aclose(self) -> None:
        """Close the connection to the server; it is opened again when used."""
        await self.connection.close()

    async def on_start(self, run: RunContext) -> None:
        await self._offer(run, BROUGHT)
        if self.mentions:
            await attach_named(run, self.connection, self.name)

    async def on_resume(self, run: RunContext) -> None:
        try:
            tools = await self._server_tools(run)
        except ToolError:
            tools = self._recorded_tools(run)  # a call of one of them will try to reach the server again
        self._replace_own(run, tools)
        if self.mentions:
            await attach_named(run, self.connection, self.name)

    async def before_round(self, run: RunContext) -> None:
        if self.connection.changed or (self._names(run) and not any(map(self._owns, run.toolkit))):
            await self._offer(run, f"tools of {self.connection.name} changed")

    async def _offer(self, run: RunContext, reason: str) -> None:
        try:
            tools = await self._server_tools(run)
        except ToolError as error:
            problem = {"problem": str(error), "report": str(error)}
            if run.state.notes.get(self.name, [])[-1:] != [problem]:
                await run.emit(Noted(self.name, problem), PhaseChanged(f"going on without tools: {error}"))
            return
        before = {tool.name: tool for tool in run.toolkit if self._owns(tool)}
        self._replace_own(run, tools)
        names = {tool.name: _origin(tool) for tool in tools}
        if names != self._names(run):
            await run.emit(Noted(self.name, {"tools": names}))
        now = {tool.name: tool for tool in tools}
        offered = [tool.name for tool in run.state.tools]
        # New ones go to the end, so that what was sent before stays as it is; one that was not selected stays so.
        wanted = [name for name in offered if name not in before or name in now]
        wanted += [name for name in now if name not in before and name not in offered]
        schemas = {schema.name: schema for schema in run.state.tools}
        if wanted != offered or any(name in schemas and tool.schema != schemas[name] for name, tool in now.items()):
            await run.offer_tools(wanted, reason)

    async def _server_tools(self, run: RunContext) -> list[Tool]:
        taken = {tool.name for tool in (*run.toolkit, *run.plugin_tools.values()) if not self._owns(tool)}
        earlier = {original: name for name, original in self._names(run).items()}
        tools: list[Tool] = []
        for remote in await self.connection.listed():
            if self.only and remote.name not in self.only:
                continue
            name = earlier.get(remote.name) or self._free_name(remote.name, taken)
            if (tool := self.connection.as_tool(remote, name, self.approval)) is not None:
                taken.add(name)
                tools.append(tool)
        return tools

    def _free_name(self, original: str, taken: set[str]) -> str:
        name = safe_name(original)
        if name in taken:
            name = safe_name(original, self.connection.name)
        number = 2
        while name in taken:
            name, number = f"{safe_name(original)[:60]}_{number}", number + 1
        return name

    def _recorded_tools(self, run: RunContext) -> list[Tool]:
        """The tools by the log, for as long as the server cannot be reached."""
        origins = self._names(run)
        return [
            self.connection.tool(
                origins[schema.name],
                schema.name,
                schema.description,
                schema.parameters,
                self.connection.effects.get(origins[schema.name], UNREVIEWED),
                self.approval,
            )
            for schema in run.state.tools
            if schema.name in origins
        ]

    def _replace_own(self, run: RunContext, tools: list[Tool]) -> None:
        run.replace_toolkit(Toolkit([*(tool for tool in run.toolkit if not self._owns(tool)), *tools]))

    def _owns(self, tool: Tool) -> bool:
        return isinstance(tool.execute, RemoteCall) and tool.execute.connection is self.connection

    def _names(self, run: RunContext) -> dict[str, str]:
        """The server's own name of each tool, by the name it is offered under; from the log."""
        names: Any = last_note(run.state, self.name, "tools")
        return names or {}


def _filled(auth: McpAuth, fill: Callable[[str], str]) -> McpAuth:
    """Built anew, so that it is checked with the values filled in."""
    texts = {name: value for name in auth.__struct_fields__ if isinstance(value := getattr(auth, name), str)}
    return structs.replace(auth, **{name: fill(text) for name, text in texts.items()})


def _origin(tool: Tool) -> str:
    return tool.execute.original if isinstance(tool.execute, RemoteCall) else tool.name
