"""What all adapters over HTTP share: the model's facts, its address and key, and the one path a request takes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from treadle._models.catalog.known import as_probed
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import Provider, connect, provider_named
from treadle._models.transport.failures import ATTEMPT, Origin, dropped, unreadable
from treadle._models.transport.http import Endpoint, Exchange, Timeouts
from treadle._models.transport.limiter import limiter_for
from treadle._models.transport.wire import UNREADABLE, whole_characters
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.profile import Profile
from treadle._types.request import Delta, Reply, Request, StreamPart
from treadle._types.usage import Usage


class Reader(Protocol):
    """Reads the payloads of one answer."""

    done: bool
    """Nothing more is wanted."""

    complete: bool
    """The reply is whole; only something about it (usage) may still come."""

    def feed(self, payload: bytes) -> Sequence[Delta]:
        """The deltas one payload brings; a typed error if it is an error in disguise."""
        ...

    def reply(self) -> Reply:
        """The whole reply; a typed error if the answer ended before it was complete."""
        ...

    def spent(self) -> Usage:
        """What the call is known to have cost so far."""
        ...


class HttpModel:
    """A model behind an HTTP API. A subclass says what goes out (`_body`) and how to read what comes back (`_reader`).

    The key is `api_key` or the provider's variable (`OPENAI_API_KEY` ...); a server on this machine gets none unless one
    is passed. `abilities` overrides what the table of models says; `timeout` is the time for a whole exchange in seconds;
    `extra_body` is added to every request as it is; `max_concurrency` holds for everyone who uses the same key.
    """

    path = ""
    default_provider = ""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        abilities: Mapping[str, Any] | None = None,
        profile: Profile | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | Timeouts | None = None,
        extra_body: Mapping[str, Any] | None = None,
        provider: str | Provider = "",
        max_concurrency: int | None = None,
    ) -> None:
        self._provider = (
            provider if isinstance(provider, Provider) else provider_named(provider or self.default_provider)
        )
        self._connection = connect(self._provider, base_url, api_key, headers)
        self._origin: Origin = self._connection.origin
        self._name = name
        found = profile or as_probed(profile_for(self._provider, name), self._provider.name, name, self.address)
        self._profile = found.with_abilities(dict(abilities or {}))
        self._timeouts = _timeouts(timeout, patient=self._profile.reasoning or self._connection.local)
        self._extra = dict(extra_body or {})
        self._limiter = limiter_for(self._connection.base_url, self._connection.api_key, max_concurrency)
        self._endpoints: dict[bool, Endpoint] = {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def provider(self) -> str:
        return self._provider.name

    @property
    def address(self) -> str:
        """Where requests go, fit to be shown: without credentials."""
        return self._origin.address

    @property
    def profile(self) -> Profile:
        return self._profile

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, provider={self.provider!r})"

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        streaming = request.stream and self._profile.streaming
        reader = self._reader(request)
        limiter = self._limiter
        body = self._body(request, streaming)
        try:
            while body is not None:
                async with limiter, Exchange(self._endpoint(streaming), body) as answer:
                    while not reader.done and (
                        payloads := await (answer.rest() if reader.complete else answer.batch())
                    ):
                        for payload in payloads:
                            deltas = reader.feed(payload)
                            if request.stream:
                                for delta in deltas:
                                    yield delta
                body = self._go_on(request, streaming, reader)
            reply = reader.reply()
        except ModelError as error:
            if error.usage is ATTEMPT:
                error.usage = reader.spent()
            if isinstance(error, TransientModelError) and error.status == 429 and error.retry_after:
                limiter.back_off(error.retry_after)
            raise
        yield reply

    async def aclose(self) -> None:
        """Nothing to do: connections belong to the event loop, idle ones close by themselves and all of them with it."""

    def _endpoint(self, streaming: bool) -> Endpoint:
        endpoint = self._endpoints.get(streaming)
        if endpoint is None:
            connection = self._connection
            url = connection.base_url + self._path(streaming)
            endpoint = self._endpoints[streaming] = Endpoint(url, connection.headers, self._origin, self._timeouts)
        return endpoint

    def _path(self, streaming: bool) -> str:
        return self.path

    def _body(self, request: Request, streaming: bool) -> bytes:
        """The request as this provider wants it: every adapter has its own."""
        raise NotImplementedError

    def _reader(self, request: Request) -> Reader:
        """What reads this provider's replies: every adapter has its own."""
        raise NotImplementedError

    def _go_on(self, request: Request, streaming: bool, reader: Any) -> bytes | None:
        """The next request of the same call, for a provider that gives its reply in instalments."""
        return None


def _timeouts(timeout: float | Timeouts | None, *, patient: bool) -> Timeouts:
    """A number bounds the whole exchange. A model that thinks, or reads its prompt on this machine, may be silent for long."""
    if isinstance(timeout, Timeouts):
        return timeout
    usual = Timeouts() if timeout is None else Timeouts(total=timeout)
    stall = usual.total if patient or usual.stall is None or usual.total is None else min(usual.stall, usual.total)
    return msgspec.structs.replace(usual, stall=stall)


def decode(payload: bytes, origin: Origin) -> list[Any]:
    """The JSON documents in a payload. Usually one; some servers forget the blank line between two events."""
    try:
        return [msgspec.json.decode(payload)]
    except UNREADABLE:
        pass
    try:
        return [_lenient(payload)]
    except (ValueError, RecursionError):
        pass
    try:
        return [_lenient(line) for line in payload.split(b"\n") if line.strip()]
    except (ValueError, RecursionError):
        if payload.startswith((b"{", b"[")) and not payload.rstrip().endswith((b"}", b"]")):
            raise dropped(origin, "the reply was cut off") from None
        raise unreadable(origin, "the reply is not JSON", payload) from None


def _lenient(payload: bytes) -> Any:
    """Python's own reader takes what the strict one refuses: NaN, raw control characters, half a surrogate pair."""
    from json import loads

    return whole_characters(loads(payload.decode("utf-8-sig", "replace"), strict=False))
