"""A model whose requests are collected and answered by the provider's batch interface, round by round.

Runs that use it are ordinary runs: each waits for its reply, as it would for a slow model. When all of them wait, what
they asked is one batch. So a run with tools takes one batch for each of its rounds.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol

import msgspec

from treadle._models.base import Closing
from treadle._models.batching.apis import BatchApi, Progress, Result
from treadle._models.http_model import HttpModel
from treadle._models.transport.failures import connection_lost, error_for_status
from treadle._models.transport.wire import encode
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.profile import Prices, Profile
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

DISCOUNT = 0.5
"""What a request in a batch costs, of its usual price."""
MAX_SILENCE = 20
"""How often in a row the provider may fail to say how far a batch is."""


class BatchStore(Protocol):
    """Remembers which batches were handed in, so that a program that was killed does not hand them in again."""

    def batches(self) -> dict[str, str]:
        """The key of each request that was handed in -> the id of its last batch."""
        ...

    def add(self, batch: str, keys: Sequence[str]) -> None: ...


class Waiting(msgspec.Struct):
    key: str
    body: bytes
    answer: asyncio.Future[Result]


class Batcher:
    """Collects requests and hands them in together."""

    def __init__(
        self,
        api: BatchApi,
        store: BatchStore,
        *,
        everybody_waits: Callable[[int], bool],
        on_progress: Callable[[str, Progress], None] = lambda batch, progress: None,
        poll_seconds: float = 30.0,
        linger: float = 60.0,
    ) -> None:
        self._api, self._store = api, store
        self._everybody_waits = everybody_waits
        self._on_progress = on_progress
        self._poll_seconds, self._linger = poll_seconds, linger
        self._waiting: list[Waiting] = []
        self._changed = asyncio.Event()
        self._known = store.batches()
        self._seen: dict[str, int] = {}
        self._fetched: dict[str, dict[str, Result]] = {}

    async def answer(self, body: bytes) -> Result:
        digest = hashlib.sha256(body).hexdigest()[:40]
        number = self._seen[digest] = self._seen.get(digest, -1) + 1  # the same question may be asked twice
        waiting = Waiting(f"{digest}-{number}", body, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self.look()
        return await waiting.answer

    def look(self) -> None:
        """Something has changed: a request came, or a run has ended."""
        self._changed.set()

    async def serve(self) -> None:
        """Hand in what is asked, until cancelled."""
        while True:
            await self._round_is_full()
            batch, self._waiting = self._waiting[: self._api.largest], self._waiting[self._api.largest :]
            batch = [one for one in batch if not one.answer.done()]
            if not batch:
                continue
            try:
                await self._answer_all(batch)
            except ModelError as error:
                for one in batch:
                    if not one.answer.done():
                        one.answer.set_exception(_copy(error))

    async def _round_is_full(self) -> None:
        while not self._waiting or not self._everybody_waits(len(self._waiting)):
            self._changed.clear()
            try:
                async with asyncio.timeout(self._linger if self._waiting else None):
                    await self._changed.wait()
            except TimeoutError:
                return  # some run is busy with a tool: it comes into the next round

    async def _answer_all(self, batch: list[Waiting]) -> None:
        """First what was handed in by a program that was killed since; the rest is handed in now."""
        earlier: dict[str, list[Waiting]] = {}
        for one in batch:
            if handed_in := self._known.pop(one.key, ""):
                earlier.setdefault(handed_in, []).append(one)
        new = [one for one in batch if not any(one in group for group in earlier.values())]
        for handed_in, group in earlier.items():
            new += _settle(group, await self._results(handed_in))
        if not new:
            return
        handed_in = await self._api.submit([(one.key, one.body) for one in new])
        self._store.add(handed_in, [one.key for one in new])
        for one in _settle(new, await self._results(handed_in)):
            one.answer.set_result(Result(408, b'{"error":{"message":"the batch ended before this request"}}'))

    async def _results(self, batch: str) -> dict[str, Result]:
        if batch not in self._fetched:
            silence = 0
            while True:
                try:
                    progress = await self._api.poll(batch)
                    silence = 0
                except TransientModelError:
                    silence += 1
                    if silence > MAX_SILENCE:
                        raise
                else:
                    self._on_progress(batch, progress)
                    if progress.ended:
                        break
                await asyncio.sleep(self._poll_seconds)
            self._fetched[batch] = await self._api.results(batch)
        return self._fetched[batch]


def _settle(group: list[Waiting], results: dict[str, Result]) -> list[Waiting]:
    """Answer those that have a result; returns the others."""
    for one in group:
        if one.key in results and not one.answer.done():
            one.answer.set_result(results[one.key])
    return [one for one in group if not one.answer.done()]


def _copy(error: ModelError) -> ModelError:
    """One exception for each waiting run: a shared one would collect all their tracebacks."""
    return type(error)(str(error), status=error.status, usage=error.usage, provider=error.provider)


class BatchedModel(Closing):
    """`inner`, answered in batches, at half its price."""

    def __init__(self, inner: HttpModel, batcher: Batcher) -> None:
        self._inner, self._batcher = inner, batcher
        self.media = inner.media
        prices = inner.profile.prices
        self._profile = msgspec.structs.replace(inner.profile, prices=_cheaper(prices), streaming=False)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def profile(self) -> Profile:
        return self._profile

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        inner = self._inner
        reader = inner.reader_of(request)
        result = await self._batcher.answer(_without_stream(inner.body_of(request)))
        origin = inner.connection.origin
        if not 200 <= result.status < 300:
            raise (
                error_for_status(origin, result.status, {}, result.body)
                if result.status
                else connection_lost(origin, "the request of the batch was not answered")
            )
        for delta in reader.feed(result.body):
            if request.stream:
                yield delta
        reply: Reply = reader.reply()
        yield msgspec.structs.replace(reply, usage=_half(reply.usage))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _without_stream(body: bytes) -> bytes:
    fields: dict[str, Any] = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    fields.pop("stream", None)
    return encode(fields)


def _cheaper(prices: Prices | None) -> Prices | None:
    if prices is None:
        return None
    halves = {
        name: value * DISCOUNT for name in prices.__struct_fields__ if (value := getattr(prices, name)) is not None
    }
    return Prices(**halves)


def _half(usage: Usage) -> Usage:
    return usage if usage.cost is None else msgspec.structs.replace(usage, cost=usage.cost * DISCOUNT)
