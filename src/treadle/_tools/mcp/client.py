"""Tools of MCP servers, through the official SDK, which is imported when a connection is first used.

server = McpServer("files", command="npx", args=["-y", "@modelcontextprotocol/server-filesystem", "."])
agent = Agent(model, plugins=[McpTools(server)])        # or: Agent(model, await server.tools())
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
import weakref
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from treadle._safety.bounds import Seconds, bounded
from treadle._safety.logs import get_logger, process_redactor
from treadle._safety.secrets import address_secrets, environment_secrets, header_secrets, known_secrets
from treadle._tools.base import UNREVIEWED, Approval, Effect, Tool, ToolContext, ToolResponse
from treadle._tools.mcp.auth.access import Access
from treadle._tools.mcp.auth.settings import McpAuth, ShowLogin
from treadle._tools.mcp.content import to_response
from treadle._tools.mcp.review import reviewed_effects
from treadle._tools.mcp.session import Session, SessionLostError, Work, describe
from treadle._tools.mcp.transport import Answers, Elicitation, Endpoint, LogLevel, Sampling, Transport, open_client
from treadle._tools.validation import check_schema
from treadle._types.errors import MissingExtraError, SchemaError, ToolError

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Prompt, Resource, ResourceTemplate
    from mcp_types import Tool as RemoteTool

logger = get_logger()

_CONTEXT_PARAM = "treadle_context"
_BACK_OFF = (0.0, 0.3, 1.0, 2.0)
"""Seconds before each attempt to connect."""
_MAX_PAGES = 100


class _LoopState:
    """The state of a connection in one event loop."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.session: Session | None = None
        self.listed: tuple[RemoteTool, ...] = ()
        self.reviewed: dict[str, Effect] = {}
        """What a person has said about the tools that are listed."""


class McpServer:
    """One MCP server, connected when it is used."""

    @bounded
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
        timeout: Seconds | None = 30.0,
        elicitation: Elicitation | None = None,
        sampling: Sampling | None = None,
        auth: McpAuth | None = None,
        login: ShowLogin | None = None,
        roots: Sequence[str | Path] = (),
        log_level: LogLevel | None = None,
        effects: Mapping[str, Effect] | None = None,
    ) -> None:
        """`effects` says what its tools do, by the server's names of them, as `treadle mcp review` does for a person at
        the terminal. Every other tool counts as `unsafe`, whatever the server says of it."""
        self.name = name
        self.effects: Mapping[str, Effect] = dict(effects or {})
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
        secrets = [*header_secrets(headers or {}), *address_secrets(url), *environment_secrets(env or {})]
        known_secrets.keep(self, f"mcp-{name}", secrets)
        self._access = Access(name, url, headers or {}, auth, login)
        self.answers = Answers(
            elicitation=elicitation, sampling=sampling, roots=tuple(map(str, roots)), log_level=log_level or ""
        )
        """What the server may ask; taken when the connection is opened."""
        self.at_work: list[ToolContext] = []
        """The calls under way that a run made."""
        this = weakref.ref(self)  # a session that is open must not keep alive whom nobody has any more

        def answers() -> Answers:
            server = this()
            return server.answers if server is not None else Answers()

        self._opener = partial(open_client, self.endpoint, self._access, name, answers)
        self._states: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = WeakKeyDictionary()
        weakref.finalize(self, _abandon, self._states).atexit = False

    def __repr__(self) -> str:
        return f"McpConnection({self.name!r})"

    @property
    def auth(self) -> McpAuth:
        return self._access.auth

    @property
    def _state(self) -> _LoopState:
        return self._states.setdefault(asyncio.get_running_loop(), _LoopState())

    @property
    def changed(self) -> bool:
        """The server announced a change to its tools, or was reconnected since they were listed."""
        session = self._state.session
        return session is not None and not session.closed and session.tools_changed

    async def tools(self, *, only: Collection[str] = (), approval: Approval = "allow") -> list[Tool]:
        """Its tools, with names that providers accept. Tools whose schema is invalid are left out."""
        return [
            tool
            for remote in await self.listed()
            if (not only or remote.name in only)
            and (tool := self.as_tool(remote, safe_name(remote.name), approval)) is not None
        ]

    async def listed(self) -> tuple[RemoteTool, ...]:
        """The tools the server offers now; listed again only after a change."""
        state = self._state
        session = await self._open()
        if session.tools_changed:
            session.tools_changed = False
            try:
                async with asyncio.timeout(self.timeout):
                    state.listed = await session.ask(_list_tools)
                state.reviewed = reviewed_effects(self.name, self.endpoint, state.listed)
            except Exception as error:
                session.tools_changed = True
                raise ToolError(f"the MCP server {self.name!r} did not list its tools: {self._why(error)}") from None
        return state.listed

    def as_tool(self, remote: RemoteTool, name: str, approval: Approval = "allow") -> Tool | None:
        """A tool named `name` that calls the remote one; None when the remote schema is invalid."""
        # Its hints are a stranger's word: without a person's, whatever it is acts.
        answers: list[Effect] = [one[remote.name] for one in (self.effects, self._state.reviewed) if remote.name in one]
        effect: Effect = answers[0] if answers else UNREVIEWED
        try:
            check_schema(remote.input_schema, name)
        except SchemaError as error:
            logger.warning("MCP server %s: skipped a tool: %s", self.name, error)
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
            name,
            description,
            parameters,
            RemoteCall(self, original, effect),
            timeout=self.timeout,
            effect=effect,
            approval=approval,
            takes_extras=frozenset(),
            context_param=_CONTEXT_PARAM,
            untrusted=f"the MCP server {self.name}",
            earlier_names=tuple(dict.fromkeys(one for one in (original, safe_name(original)) if one != name)),
        )

    async def call(
        self, name: str, args: dict[str, Any], context: ToolContext | None = None, effect: Effect = "unsafe"
    ) -> ToolResponse:
        """Call a tool of the server. An error that the tool reports is a response; everything else is a `ToolError`."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if context is not None:
                share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
                context.output(f"{message} ({share})\n" if message else f"{share}\n")

        async def work(client: Client) -> Any:
            return await client.call_tool(name, args, progress_callback=on_progress)

        if context is None:
            return to_response(await self._ask(work, may_repeat=effect != "unsafe"))
        self.at_work.append(context)
        try:
            return to_response(await self._ask(work, may_repeat=effect != "unsafe"))
        finally:
            self.at_work.remove(context)

    async def resources(self) -> tuple[Resource | ResourceTemplate, ...]:
        """The resources the server offers, then its templates of resources."""
        return await self._ask(_list_resources, may_repeat=True)

    async def prompts(self) -> tuple[Prompt, ...]:
        """The prompts the server offers."""
        return await self._ask(_list_prompts, may_repeat=True)

    async def read_resource(self, uri: str) -> ToolResponse:
        """A resource, as if a tool had returned it."""
        return await self._ask(lambda client: _read_resource(client, uri), may_repeat=True)

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> ToolResponse:
        """A prompt with its arguments filled in, as if a tool had returned it."""
        return await self._ask(lambda client: _get_prompt(client, name, arguments or {}), may_repeat=True)

    async def close(self) -> None:
        """Close the connection of this event loop. It is opened again when used."""
        if (session := self._state.session) is not None:
            await session.close()

    async def _ask(self, work: Work, *, may_repeat: bool) -> Any:
        """The server's answer. A lost request is sent again if the server never got it or it may be repeated."""
        for last in (False, True):
            session = await self._open()
            try:
                return await session.ask(work)
            except SessionLostError as lost:
                if last or (lost.sent and not may_repeat):
                    unknown = "; it is unknown whether the call took effect" if lost.sent and not may_repeat else ""
                    raise ToolError(
                        f"the connection to the MCP server {self.name!r} was lost ({lost}){unknown}"
                    ) from None
            except Exception as error:
                raise ToolError(f"the MCP server {self.name!r} refused the call: {self._why(error)}") from None
        raise AssertionError("unreachable")

    def _why(self, error: BaseException) -> str:
        """A refused authorization explains more than the error that followed from it."""
        return self._access.problem or describe(error)

    async def log_in(self, show: ShowLogin, *, scope: str = "", port: int = 0) -> bool:
        """Let a person log in at the server, and keep the tokens.

        `show` gets the address to open in a browser. False: the server asked for no login.
        """
        access = self._access.for_login(show, scope, port)
        await _import_sdk()
        session = Session(partial(open_client, self.endpoint, access, self.name, Answers), self.name)
        try:
            await session.opened
            await session.ask(_list_tools)
        except Exception as error:
            why = access.problem or describe(error)
            raise ToolError(f"logging in at the MCP server {self.name!r} failed: {why}") from None
        finally:
            await session.close()
        return access.logged_in

    def forget_login(self) -> bool:
        """Remove the stored tokens; return whether there were any."""
        return self._access.file().remove()

    async def _open(self) -> Session:
        state = self._state
        await _import_sdk()
        async with state.lock:
            if state.session is not None and not state.session.closed:
                return state.session
            reason = stderr_tail = ""
            for wait in _BACK_OFF:
                await asyncio.sleep(wait)
                session = Session(self._opener, self.name)
                try:
                    # A person who logs in has the time of the login, not of a connection.
                    async with asyncio.timeout(None if self._access.show else self.timeout):
                        await asyncio.shield(session.opened)
                except TimeoutError:
                    await session.close()
                    reason, stderr_tail = f"no answer within {self.timeout:g} s", session.stderr_tail
                    break
                except asyncio.CancelledError:
                    session.abandon()
                    raise
                except SessionLostError as error:
                    reason, stderr_tail = self._access.problem or str(error), session.stderr_tail or stderr_tail
                    if error.permanent or self._access.problem:
                        break
                else:
                    state.session = session
                    return session
            if stderr_tail:
                # Without secrets: it goes to the log and to the model.
                reason += f"; it wrote: {process_redactor.text(' '.join(stderr_tail.split())[-600:])}"
            logger.warning("the MCP server %r cannot be reached: %s", self.name, reason)
            raise ToolError(f"the MCP server {self.name!r} cannot be reached: {reason}")


McpConnection = McpServer
"""The old name."""


def _abandon(states: Mapping[asyncio.AbstractEventLoop, _LoopState]) -> None:
    """The server object is gone without `close`: its connections end, each in its event loop."""
    for loop, state in list(states.items()):
        if state.session is not None and not loop.is_closed():
            with suppress(RuntimeError):  # it has just been closed
                loop.call_soon_threadsafe(state.session.abandon)


class RemoteCall:
    """The `execute` of an MCP server's tool."""

    __signature__ = inspect.Signature()
    """Without parameters, so that no extras are passed on: the server gets only what the model wrote."""

    def __init__(self, connection: McpServer, original: str, effect: Effect) -> None:
        self.connection, self.original = connection, original
        self.effect: Effect = effect

    async def __call__(self, /, **args: Any) -> ToolResponse:
        context = args.pop(_CONTEXT_PARAM, None)
        return await self.connection.call(self.original, args, context, self.effect)


def safe_name(name: str, prefix: str = "") -> str:
    """A name that every provider accepts."""
    full_name = f"{prefix}_{name}" if prefix else name
    return re.sub(r"[^A-Za-z0-9_-]+", "_", full_name).strip("_")[:64] or "tool"


async def _import_sdk() -> None:
    """Import the SDK in a thread: it takes a second."""
    if "mcp" not in sys.modules:
        try:
            await asyncio.to_thread(import_module, "mcp")
        except ImportError:
            raise MissingExtraError("MCP", "mcp") from None
        # It logs each lost connection with a traceback; those are shown only where logging is set up.
        logging.getLogger("mcp").addHandler(logging.NullHandler())


async def _list_tools(client: Client) -> tuple[RemoteTool, ...]:
    return await _every_page(lambda at: client.list_tools(cursor=at, cache_mode="refresh"), "tools")


async def _every_page(ask: Callable[[str | None], Awaitable[Any]], items: str) -> tuple[Any, ...]:
    """All items of a list that comes in pages; a server whose pages never end is left after many."""
    listed: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await ask(cursor)
        listed += getattr(page, items)
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(listed)


async def _list_resources(client: Client) -> tuple[Resource | ResourceTemplate, ...]:
    """The resources, then the templates."""
    if client.server_capabilities.resources is None:
        return ()
    plain = await _every_page(lambda at: client.list_resources(cursor=at, cache_mode="refresh"), "resources")
    templates = await _every_page(
        lambda at: client.list_resource_templates(cursor=at, cache_mode="refresh"), "resource_templates"
    )
    return (*plain, *templates)


async def _list_prompts(client: Client) -> tuple[Prompt, ...]:
    if client.server_capabilities.prompts is None:
        return ()
    return await _every_page(lambda at: client.list_prompts(cursor=at, cache_mode="refresh"), "prompts")


async def _read_resource(client: Client, uri: str) -> ToolResponse:
    from mcp_types import CallToolResult, EmbeddedResource

    contents = (await client.read_resource(uri, cache_mode="refresh")).contents
    return to_response(CallToolResult(content=[EmbeddedResource(resource=content) for content in contents]))


async def _get_prompt(client: Client, name: str, arguments: Mapping[str, str]) -> ToolResponse:
    """The prompt's messages, one after the other."""
    from mcp_types import CallToolResult

    result = await client.get_prompt(name, dict(arguments))
    return to_response(CallToolResult(content=[message.content for message in result.messages]))
