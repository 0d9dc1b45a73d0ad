"""One open MCP client: a task of its own opens it, serves what is asked of it, and closes it.

The SDK wants a client closed by the task that opened it, and may cancel whoever is calling when a server dies. So nobody but the
owner task touches the client's life, and every request runs in a task that can be lost without losing anything else.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mcp import Client

logger = logging.getLogger("treadle")

Work = Callable[["Client"], Awaitable[Any]]
Opener = Callable[["Link"], AbstractAsyncContextManager["Client"]]


class LinkLostError(Exception):
    """The connection is gone. `sent`: the server may have seen the request. `hopeless`: another attempt would be the same."""

    def __init__(self, text: str, sent: bool = True, hopeless: bool = False) -> None:
        super().__init__(text)
        self.sent, self.hopeless = sent, hopeless


class Link:
    """Ask it while it is open; once it is `dead` it stays so, and a new one takes its place."""

    def __init__(self, opener: Opener, name: str) -> None:
        loop = asyncio.get_running_loop()
        self.dead = ""
        """Why it is closed; empty while it is not."""
        self.changed = True
        """The server's tools may not be those that were listed last."""
        self.opened: asyncio.Future[None] = loop.create_future()
        self._gone = asyncio.Event()
        self._queue: asyncio.Queue[tuple[Work, asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._task = loop.create_task(self._own(opener), name=f"treadle-mcp-{name}")

    async def ask(self, work: Work) -> Any:
        """Do `work` with the client. Cancelling the caller cancels the work, of which the server is told."""
        if self.dead:
            raise LinkLostError(self.dead, sent=False)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        self._queue.put_nowait((work, answer))
        return await answer

    def lose(self, why: str) -> None:
        """The connection turned out to be of no use any more."""
        self.dead = self.dead or why
        self._gone.set()

    async def close(self) -> None:
        self.abandon()
        await asyncio.wait([self._task])

    def abandon(self) -> None:
        self.lose("it was closed")
        if not self.opened.done():
            self._task.cancel()

    async def _own(self, opener: Opener) -> None:
        why, hopeless = "the server closed the connection", False
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
            if task is not None and task.cancelling():  # our loop ends, not the server
                raise
        except Exception as error:
            why, hopeless = describe(error), isinstance(error, (FileNotFoundError, PermissionError))
        finally:
            self.lose(why)
            for answer in [self.opened, *self._waiting]:
                if not answer.done():
                    answer.set_exception(LinkLostError(self.dead, hopeless=hopeless))
            if not self.opened.cancelled():
                self.opened.exception()  # whoever asked has given up: not worth a warning

    async def _serve(self, client: Client) -> None:
        gone = asyncio.ensure_future(self._gone.wait())
        follow = asyncio.ensure_future(_follow(client, self))
        try:
            while not gone.done():
                request = asyncio.ensure_future(self._queue.get())
                await asyncio.wait([gone, request], return_when=asyncio.FIRST_COMPLETED)
                if request.done():
                    self._start(client, *request.result())
                else:
                    request.cancel()
        finally:
            gone.cancel()
            follow.cancel()
            await asyncio.wait([follow])

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
            if task.cancelled() or (error is not None and _is_loss(error)):
                sent = not (error is not None and _never_sent(error))
                self.lose("the server went away" if error is None else describe(error))
                answer.set_exception(LinkLostError(self.dead, sent))
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        task.add_done_callback(finished)
        answer.add_done_callback(lambda made: task.cancel() if made.cancelled() else None)


async def _follow(client: Client, link: Link) -> None:
    """Newer servers tell of changes on a stream that must be asked for; older ones just do."""
    from mcp.client.subscriptions import ListenNotSupportedError

    tools = client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        return
    try:
        async with client.listen(tools_list_changed=True) as changes:
            async for _ in changes:
                link.changed = True
    except ListenNotSupportedError:
        return
    except Exception as error:
        logger.debug("changes of an MCP server's tools are not followed: %s", describe(error))


def _is_loss(error: BaseException) -> bool:
    """Whether the connection is gone, as against an answer that says no."""
    from mcp_types import CONNECTION_CLOSED
    from pydantic import ValidationError

    from mcp import MCPError

    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or "Session terminated" in error.message
    return not isinstance(error, (ValidationError, TimeoutError, ValueError, RuntimeError))


def _never_sent(error: BaseException) -> bool:
    """Refused at the door: the server cannot have acted on it."""
    return "ConnectError" in type(error).__name__ or "Session terminated" in str(error)


def describe(error: BaseException) -> str:
    """An error in a few words, the first real one of a group, without addresses: they may hold keys."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"there is no such command: {error.filename}"
    text = re.sub(r"\b[a-z]+://\S+", "(address)", " ".join(str(error).split()))[:200]
    return text or type(error).__name__


class Watched:
    """A transport's read stream that tells when it ends: a server that dies while nobody asks is known to be dead."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream, self._ended = stream, ended

    async def __aenter__(self) -> Watched:
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
