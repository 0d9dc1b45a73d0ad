"""Notifies an address that a client has named when its run has ended, or waits: the client need not stay connected.

What clients have asked for is in the journal. What could not be delivered, because the server stopped or the address
did not answer, is tried again when a server starts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from treadle._journal.base import MONTH
from treadle._journal.catalog.values import RequestNote
from treadle._safety.logs import get_logger
from treadle._server.errors import bad_request, not_found
from treadle._server.live.branches import OwnedRun
from treadle._server.live.hub import Hub
from treadle._server.live.repeats import digest
from treadle._tools.builtin.http.client import GuardedClient, NotAllowed
from treadle._types.errors import ToolError, TreadleError
from treadle._types.ids import fresh_id

logger = get_logger("treadle.server")

_UNDELIVERED = digest("push", "undelivered")
_PAUSES = (0.5, 4.0)
"""Seconds before the next attempts."""
_MOST, _REMEMBERED = 10, 10_000
_Word = Annotated[str, Meta(max_length=2000, pattern="^[ -~]*$")]


class Authentication(Struct, frozen=True):
    scheme: _Word = ""
    credentials: _Word = ""


class PushConfig(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The address that is notified about a run, and what it gets to know who notifies it."""

    url: Annotated[str, Meta(min_length=1, max_length=2000)]
    id: Annotated[str, Meta(max_length=64)] = ""
    task_id: Annotated[str, Meta(max_length=200)] = ""
    token: _Word = ""
    authentication: Authentication | None = None

    @property
    def headers(self) -> dict[str, str]:
        own = {"X-A2A-Notification-Token": self.token} if self.token else {}
        if self.authentication is not None and self.authentication.credentials:
            own["Authorization"] = f"{self.authentication.scheme} {self.authentication.credentials}".strip()
        return own


class Update(Struct, frozen=True):
    """The state of a run that has ended or waits."""

    seq: int
    ended: bool
    body: dict[str, Any]


Describe = Callable[[Hub, OwnedRun], Awaitable[Update | None]]


class Push:
    def __init__(self, hub: Hub, hosts: Iterable[str], describe: Describe) -> None:
        """`hosts` may be notified although their addresses are private."""
        self._hub, self._journal, self._describe = hub, hub.journal, describe
        self._client = GuardedClient(allow_hosts=hosts, max_bytes=100_000)
        self._sent: dict[tuple[str, PushConfig], tuple[int, asyncio.Future[bool]]] = {}
        """The record that each was notified of last, and whether that was delivered."""
        self._changing = asyncio.Lock()
        self._notifying: set[asyncio.Task[None]] = set()
        hub.on_ended.append(self.notify)

    async def configs(self, run: OwnedRun) -> list[PushConfig]:
        notes = await self._journal.noted_requests(digest("push", run), since=0.0)
        return msgspec.json.decode(notes[0].content, type=list[PushConfig]) if notes else []

    async def config(self, run: OwnedRun, config_id: str) -> PushConfig:
        config = next((one for one in await self.configs(run) if one.id == config_id), None)
        if config is None:
            raise not_found(f"push notification config {config_id[:80]!r} of this task")
        return config

    def check(self, config: PushConfig) -> None:
        """Refuse an address inside the network. A host name is resolved, and checked, when the address is notified."""
        try:
            self._client.checked(config.url)
        except ToolError as error:
            raise bad_request(f"url: {error}") from None

    async def add(self, run: OwnedRun, config: PushConfig) -> PushConfig:
        """Notify this address, too; a config with the same id is replaced."""
        self.check(config)
        config = msgspec.structs.replace(config, id=config.id or fresh_id(), task_id=run)
        async with self._changing:
            others = [one for one in await self.configs(run) if one.id != config.id]
            if len(others) >= _MOST:
                raise bad_request(f"a task has at most {_MOST} push notification configs")
            await self._note(_UNDELIVERED, run, "")
            await self._save(run, [*others, config])
        self.notify(run)  # it may have ended already
        return config

    async def remove(self, run: OwnedRun, config_id: str) -> None:
        async with self._changing:
            await self._save(run, [one for one in await self.configs(run) if one.id != config_id])

    def notify(self, run: OwnedRun) -> None:
        """Notify the addresses of a run of its state, each once."""
        task = asyncio.ensure_future(self._notify(run))
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    async def catch_up(self) -> None:
        """Send the notifications that were not delivered before the server stopped."""
        for note in await self._journal.noted_requests(_UNDELIVERED, since=0.0):
            self.notify(OwnedRun(note.run_id))  # to the addresses that its owner has named

    async def close(self) -> None:
        for task in (left := [*self._notifying]):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._client.close()

    async def _notify(self, run: OwnedRun) -> None:
        try:
            configs = await self.configs(run)
            if not configs or (update := await self._describe(self._hub, run)) is None:
                return
            delivered = await asyncio.gather(*(self._once(run, one, update) for one in configs))
            if update.ended and all(delivered):
                await self._journal.forget_request(_UNDELIVERED, run)
        except TreadleError as error:
            logger.warning("run %s: its push notifications could not be sent: %s", run, error, extra={"run": run})

    async def _once(self, run: OwnedRun, config: PushConfig, update: Update) -> bool:
        seq, sending = self._sent.get((run, config), (-1, None))
        if sending is None or seq < update.seq:
            sending = asyncio.ensure_future(self._send(run, config, update))
            self._sent[run, config] = update.seq, sending
            if len(self._sent) > _REMEMBERED:
                del self._sent[next(iter(self._sent))]
        return await sending

    async def _send(self, run: OwnedRun, config: PushConfig, update: Update) -> bool:
        problem = ""
        for pause in (0.0, *_PAUSES):
            await asyncio.sleep(pause)
            try:
                answer = await self._client.request(
                    "POST", config.url, json=update.body, headers=config.headers, leave=False
                )
            except ToolError as error:
                problem = str(error)
                if isinstance(error, NotAllowed):
                    break
                continue
            if answer.status < 300:
                return True
            problem = f"status {answer.status}"
            if answer.status < 500 and answer.status not in (408, 429):
                break
        logger.warning("run %s: a push notification was not delivered: %s", run, problem, extra={"run": run})
        return False

    async def _note(self, key: str, run: OwnedRun, content: str) -> None:
        """Kept for a month, longer than the notes of requests, among which it is."""
        now = time.time()
        note = RequestNote(run, content, now + MONTH)
        await self._journal.note_request(key, note, since=now - self._hub.settings.repeat_window, alone=False)

    async def _save(self, run: OwnedRun, configs: list[PushConfig]) -> None:
        await self._note(digest("push", run), run, msgspec.json.encode(configs).decode())
