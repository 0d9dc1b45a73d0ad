"""One open MCP client, owned by a task that opens it, runs the requests and closes it.

The SDK wants a client closed by the task that opened it, and may cancel the caller of a request when a server dies. So
only the owner task opens and closes the client, and every request runs in a task of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mcp import Client

from treadle._safety.logs import get_logger

logger = get_logger()

_STDERR_TAIL = 2_000
"""Bytes of a server's standard error that are kept."""

Work = Callable[["Client"], Awaitable[Any]]
Opener = Callable[["Session"], AbstractAsyncContextManager["Client"]]


class SessionLostError(Exception):
    """The connection is lost. `sent`: the server may have got the request. `permanent`: trying again is useless."""

    def __init__(self, text: str, sent: bool = True, permanent: bool = False) -> None:
        super().__init__(text)
        self.sent, self.permanent = sent, permanent


class Session:
    """Takes requests until it is `closed`; it is never reopened, a new one replaces it."""

    def __init__(self, opener: Opener, name: str) -> None:
        loop = asyncio.get_running_loop()
        self.closed = ""
        """Why it is closed; empty while it is open."""
        self.tools_changed = True
        """The server's tools may differ from those that were listed last."""
        self.errors: IO[str] | None = None
        """What the server writes to its standard error."""
        self.stderr_tail = ""
        """The end of that, when the session is over."""
        self.opened: asyncio.Future[None] = loop.create_future()
        self._lost = asyncio.Event()
        self._queue: asyncio.Queue[tuple[Work, asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pending: set[asyncio.Future[Any]] = set()
        self._task = loop.create_task(self._own(opener), name=f"treadle-mcp-{name}")

    async def ask(self, work: Work) -> Any:
        """Run `work` with the client. Cancelling the caller cancels the work, and the server is notified."""
        if self.closed:
            raise SessionLostError(self.closed, sent=False)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending.add(answer)
        answer.add_done_callback(self._pending.discard)
        self._queue.put_nowait((work, answer))
        return await answer

    def lose(self, reason: str) -> None:
        """Mark the connection as lost; the owner task then closes it."""
        self.closed = self.closed or reason
        self._lost.set()

    def read_stderr(self) -> None:
        """Read what the server wrote to its standard error, before the file is gone."""
        if self.errors is not None and not self.errors.closed:
            with suppress(OSError, ValueError):
                self.errors.seek(max(0, self.errors.seek(0, 2) - _STDERR_TAIL))
                self.stderr_tail = self.errors.read().strip()

    async def close(self) -> None:
        self.abandon()
        await asyncio.wait([self._task])

    def abandon(self) -> None:
        self.lose("it was closed")
        if not self.opened.done():
            self._task.cancel()

    async def _own(self, opener: Opener) -> None:
        reason, permanent = "the server closed the connection", False
        try:
            async with opener(self) as client:
                self.opened.set_result(None)
                try:
                    await self._serve(client)
                finally:
                    for task in self._tasks:
                        task.cancel()
                    if self._tasks:
                        await asyncio.wait(self._tasks)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # the event loop ends, not the server
                raise
        except Exception as error:
            reason, permanent = describe(error), isinstance(error, (FileNotFoundError, PermissionError))
        finally:
            self.lose(reason)
            for answer in [self.opened, *self._pending]:
                if not answer.done():
                    answer.set_exception(SessionLostError(self.closed, permanent=permanent))
            if not self.opened.cancelled():
                self.opened.exception()  # retrieved, so that asyncio does not log it when the caller has given up

    async def _serve(self, client: Client) -> None:
        lost = asyncio.ensure_future(self._lost.wait())
        watcher = asyncio.ensure_future(_watch_tool_changes(client, self))
        try:
            while not lost.done():
                request = asyncio.ensure_future(self._queue.get())
                await asyncio.wait([lost, request], return_when=asyncio.FIRST_COMPLETED)
                if request.done():
                    self._start(client, *request.result())
                else:
                    request.cancel()
        finally:
            lost.cancel()
            watcher.cancel()
            await asyncio.wait([watcher])

    def _start(self, client: Client, work: Work, answer: asyncio.Future[Any]) -> None:
        if answer.done():
            return
        task = asyncio.ensure_future(work(client))
        self._tasks.add(task)

        def finished(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            error = None if task.cancelled() else task.exception()
            if answer.done():
                return
            if task.cancelled() or (error is not None and _is_connection_loss(error)):
                sent = not (error is not None and _never_sent(error))
                self.lose("the server ended" if error is None else describe(error))
                answer.set_exception(SessionLostError(self.closed, sent))
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        task.add_done_callback(finished)
        answer.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)


async def _watch_tool_changes(client: Client, session: Session) -> None:
    """Newer servers announce changes only on a stream that the client subscribes to; older ones without being asked."""
    from mcp.client.subscriptions import ListenNotSupportedError

    tools = client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        return
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                session.tools_changed = True
    except ListenNotSupportedError:
        return
    except Exception as error:
        logger.debug("changes to an MCP server's tools will not be noticed: %s", describe(error))


def _is_connection_loss(error: BaseException) -> bool:
    """Tell whether an error means that the connection is lost, not that the server answered with an error."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED
    from pydantic import ValidationError

    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or "Session terminated" in error.message
    return not isinstance(error, (ValidationError, TimeoutError, ValueError, RuntimeError))


def _never_sent(error: BaseException) -> bool:
    """The connection was refused: the server cannot have acted on the request."""
    return "ConnectError" in type(error).__name__ or "Session terminated" in str(error)


def describe(error: BaseException) -> str:
    """A short text for an error (of a group, the first one), without URLs: they may contain keys."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"command not found: {error.filename}"
    text = re.sub(r"\b[a-z]+://\S+", "(address)", " ".join(str(error).split()))[:200]
    return text or type(error).__name__


class WatchedStream:
    """A transport's read stream that reports its end, so that a server that dies between requests is noticed."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream, self._ended = stream, ended

    async def __aenter__(self) -> WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended()
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
