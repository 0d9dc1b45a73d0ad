"""Tools of MCP servers, on the official SDK. It is imported when a connection is first used.

server = McpConnection("files", command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "."])
agent = Agent(model, plugins=[McpTools(server)])        # or: Agent(model, await server.tools())
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from treadle._models.base import Model, complete
from treadle._tools.base import Approval, Effect, Tool, ToolContext, ToolResponse
from treadle._tools.mcp.content import to_response
from treadle._tools.mcp.link import Link, LinkLostError, Work, describe
from treadle._tools.mcp.open import Elicitation, Endpoint, Sampling, Transport, open_client
from treadle._tools.validation import check_schema
from treadle._types.errors import MissingExtraError, SchemaError, ToolError
from treadle._types.messages import Message
from treadle._types.request import Request

if TYPE_CHECKING:
    from mcp_types import Tool as RemoteTool

    from mcp import Client

logger = logging.getLogger("treadle")

_CONTEXT = "treadle_context"
_BACK_OFF = (0.0, 0.3, 1.0, 2.0)
"""Seconds before each attempt to connect."""
_MAX_PAGES = 100


class _Home:
    """What a connection has in one event loop."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.link: Link | None = None
        self.listed: tuple[RemoteTool, ...] = ()


class McpConnection:
    """One MCP server. It is reached when first used, and again when it is used after it died."""

    def __init__(
        self,
        name: str,
        *,
        command: str = "",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        url: str = "",
        headers: Mapping[str, str] | None = None,
        transport: Transport = "http",
        timeout: float | None = 30.0,
        elicitation: Elicitation | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        self.name = name
        self.timeout = timeout
        self.endpoint = Endpoint(
            command=command,
            args=tuple(args),
            env=dict(env or {}),
            cwd=cwd,
            url=url,
            transport=transport,
            headers=dict(headers or {}),
        )
        self._opener = partial(open_client, self.endpoint, elicitation, sampling)
        self._homes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Home] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"McpConnection({self.name!r})"

    @property
    def _home(self) -> _Home:
        return self._homes.setdefault(asyncio.get_running_loop(), _Home())

    @property
    def changed(self) -> bool:
        """The server said that its tools changed, or it is a new one since they were listed."""
        link = self._home.link
        return link is not None and not link.dead and link.changed

    async def tools(self, *, only: Collection[str] = (), approval: Approval = "allow") -> list[Tool]:
        """Its tools under their own names, made safe for providers. One whose schema cannot be checked is left out."""
        return [
            made
            for remote in await self.listed()
            if (not only or remote.name in only)
            and (made := self.as_tool(remote, safe_name(remote.name), approval)) is not None
        ]

    async def listed(self) -> tuple[RemoteTool, ...]:
        """What the server offers now: asked again only after a change."""
        home = self._home
        link = await self._open()
        if link.changed:
            link.changed = False
            try:
                async with asyncio.timeout(self.timeout):
                    home.listed = await link.ask(_list)
            except Exception as error:
                link.changed = True
                raise ToolError(f"the MCP server {self.name!r} did not list its tools: {describe(error)}") from None
        return home.listed

    def as_tool(self, remote: RemoteTool, name: str, approval: Approval = "allow") -> Tool | None:
        """A tool that calls it, under the given name."""
        hints = remote.annotations
        effect: Effect = "unsafe"
        if hints is not None and (hints.read_only_hint or hints.idempotent_hint):
            effect = "pure" if hints.read_only_hint else "idempotent"
        try:
            check_schema(remote.input_schema, name)
        except SchemaError as error:
            logger.warning("MCP server %s: a tool is left out: %s", self.name, error)
            return None
        return self.tool(
            remote.name, name, remote.description or remote.title or "", remote.input_schema, effect, approval
        )

    def tool(
        self,
        original: str,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        effect: Effect,
        approval: Approval = "allow",
    ) -> Tool:
        return Tool(
            name, description, parameters, RemoteCall(self, original, effect), timeout=self.timeout, effect=effect, approval=approval,
            takes_extras=frozenset(), context_param=_CONTEXT,
        )  # fmt: skip

    async def call(
        self, name: str, args: dict[str, Any], context: ToolContext | None = None, effect: Effect = "unsafe"
    ) -> ToolResponse:
        """Call a tool of the server. What the server's tool reports as an error is a response; `ToolError` is for all else."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if context is not None:
                share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
                context.output(f"{message} ({share})\n" if message else f"{share}\n")

        async def work(client: Client) -> Any:
            return await client.call_tool(name, args, progress_callback=on_progress)

        return to_response(await self._ask(work, again=effect != "unsafe"))

    async def close(self) -> None:
        """End the connection of this event loop. It is opened again when used."""
        if (link := self._home.link) is not None:
            await link.close()

    async def _ask(self, work: Work, *, again: bool) -> Any:
        """What the server says; a request that cannot do harm twice, or was never sent, is sent again to a new server."""
        for last in (False, True):
            link = await self._open()
            try:
                return await link.ask(work)
            except LinkLostError as lost:
                if last or (lost.sent and not again):
                    unknown = "; whether the call took effect is not known" if lost.sent and not again else ""
                    raise ToolError(
                        f"the connection to the MCP server {self.name!r} was lost ({lost}){unknown}"
                    ) from None
            except Exception as error:
                raise ToolError(f"the MCP server {self.name!r} refused the call: {describe(error)}") from None
        raise AssertionError("unreachable")

    async def _open(self) -> Link:
        home = self._home
        await _import_sdk()
        async with home.lock:
            if home.link is not None and not home.link.dead:
                return home.link
            why = ""
            for wait in _BACK_OFF:
                await asyncio.sleep(wait)
                link = Link(self._opener, self.name)
                try:
                    async with asyncio.timeout(self.timeout):
                        await asyncio.shield(link.opened)
                except TimeoutError:
                    await link.close()
                    why = f"no answer within {self.timeout:g} s"
                    break
                except asyncio.CancelledError:
                    link.abandon()
                    raise
                except LinkLostError as error:
                    why = str(error)
                    if error.hopeless:
                        break
                else:
                    home.link = link
                    return link
            raise ToolError(f"the MCP server {self.name!r} cannot be reached: {why}")


class RemoteCall:
    """What a tool of an MCP server executes."""

    __signature__ = inspect.Signature()
    """None of our Python objects may be handed on to a server: what the model wrote goes, nothing else."""

    def __init__(self, connection: McpConnection, original: str, effect: Effect) -> None:
        self.connection, self.original = connection, original
        self.effect: Effect = effect

    async def __call__(self, /, **given: Any) -> ToolResponse:
        context = given.pop(_CONTEXT, None)
        return await self.connection.call(self.original, given, context, self.effect)


def safe_name(name: str, prefix: str = "") -> str:
    """A name every provider accepts."""
    whole = f"{prefix}_{name}" if prefix else name
    return re.sub(r"[^A-Za-z0-9_-]+", "_", whole).strip("_")[:64] or "tool"


def sample_with(model: Model) -> Sampling:
    """Lets a server ask this model."""

    async def sample(messages: Sequence[Message], max_tokens: int) -> str:
        return (
            await complete(model, Request(messages=list(messages), max_tokens=max_tokens, component="mcp_sampling"))
        ).text

    return sample


async def _import_sdk() -> None:
    """It takes a second: not in the event loop's time."""
    if "mcp" not in sys.modules:
        try:
            await asyncio.to_thread(import_module, "mcp")
        except ImportError:
            raise MissingExtraError("MCP", "mcp") from None
        # It reports each lost connection with a traceback; who wants them sets up logging, a terminal does not.
        logging.getLogger("mcp").addHandler(logging.NullHandler())


async def _list(client: Client) -> tuple[RemoteTool, ...]:
    found: list[RemoteTool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(found)
