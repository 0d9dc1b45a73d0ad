"""The base class of all models over HTTP: the model's profile, its address and key, and how a request is sent."""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import msgspec

from treadle._models.base import Closing
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import Connection, Provider, connect, provider_named
from treadle._models.contact.address import is_vendors
from treadle._models.media import NOTHING, MediaForms
from treadle._models.transport import http
from treadle._models.transport.failures import ONE_REQUEST, Origin, connection_lost
from treadle._models.transport.http import Endpoint, Exchange, Timeouts
from treadle._models.transport.limiter import limiter_for
from treadle._models.transport.provider_tools import ProviderTool, declared
from treadle._models.transport.reader import Reader
from treadle._models.transport.wire import encoded_messages
from treadle._safety.bounds import Count, bounded
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError, ModelError, TransientModelError
from treadle._types.profile import Profile
from treadle._types.request import Request, StreamPart

if TYPE_CHECKING:
    from treadle._models.catalog.probed_profiles import ProbedProfile
    from treadle._models.contact.servers import Contact


KeySource = Callable[[], str | Awaitable[str]]
"""Returns the token to send now, for a provider whose tokens expire."""
ALL_ABILITIES = dict.fromkeys(
    ("tool_call", "parallel_calls", "forced_tool", "json_mode", "json_schema", "streaming", "logprobs"), True
)


class HttpModel(Closing):
    """A model behind an HTTP API. A subclass has a `writer` of requests and a `reader` of responses.

    The key is `api_key` or the provider's variable (`OPENAI_API_KEY` ...); a server on this machine gets none unless
    one is passed. A function as `api_key` is asked for a bearer token before each request. `abilities` overrides
    the table of models; `timeout` limits a whole exchange, in seconds; `provider_tools` names tools that run at the
    provider (`web_search`, `code_execution`), or declares them in its own form; `extra_body` is added to every
    request unchanged; `max_concurrency` applies to every model that uses the same key.
    """

    path = ""
    api = ""
    """The name of its format: what was encoded for one is not used for another."""
    writer: Callable[..., Any]
    reader: Callable[..., Reader]
    default_provider = ""
    asks_server = False
    """Its protocol is spoken by servers of many kinds: one that is no provider's is asked what it is."""
    media: MediaForms = NOTHING
    """What the format takes beside text."""
    provider_tool_forms: Mapping[str, Mapping[str, Any]] = {}
    """The tools that run at the provider and need no settings, in its own form."""
    encoded_path = False
    """The path is sent as it is written, because a signature covers it."""

    @bounded
    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | KeySource | None = None,
        abilities: Mapping[str, Any] | None = None,
        profile: Profile | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | Timeouts | None = None,
        extra_body: Mapping[str, Any] | None = None,
        provider: str | Provider = "",
        max_concurrency: Count | None = None,
        provider_tools: Sequence[ProviderTool] = (),
    ) -> None:
        self._provider = self._provider_of(provider)
        self._key_source: KeySource | None = None
        if callable(api_key):
            self._key_source, api_key = api_key, ""
        self._connection = connect(self._provider, base_url, api_key, headers)
        self._origin: Origin = self._connection.origin
        self._key = ""
        """The token that was sent last, of a provider whose tokens expire."""
        if self._key_source is not None:
            self._origin.missing_key = ""
        self._name = name
        self._server = self._provider
        """The entry of the table whose deviations from the protocol apply; another one after first contact."""
        self._abilities = dict(abilities or {})
        self._met = profile is not None or not self.asks_server or is_vendors(self._connection.base_url)
        self._stranger = False
        if profile is None:
            facts = profile_for(self._provider, name)
            if facts.calls_known and not self.at_home:
                facts = msgspec.structs.replace(facts, calls_known=False)  # whoever serves it there
            # A vendor's model of which the table has even the price is the same whoever passes it on.
            self._met = self._met or (self._provider.serves is None and facts.prices is not None)
            profile = self._with_probed_facts(facts, name)
        self._profile = self.media.of(profile).with_abilities(self._abilities)
        self._timeouts = _timeouts(timeout, thinks=self._profile.reasoning, local=self._connection.local)
        self._extra = dict(extra_body or {})
        self._provider_tools = declared(provider_tools, self.provider_tool_forms, self._provider.name)
        self._limiter = limiter_for(self._connection.base_url, self._connection.api_key, max_concurrency)
        self._endpoints: dict[bool, Endpoint] = {}

    @cached_property
    def _writer(self) -> Any:
        return self.writer(self._name, self._profile, self._extra, self._provider_tools)

    @classmethod
    def _provider_of(cls, provider: str | Provider) -> Provider:
        return provider if isinstance(provider, Provider) else provider_named(provider or cls.default_provider)

    @property
    def name(self) -> str:
        return self._name or self.address

    @property
    def provider(self) -> str:
        return self._provider.name

    @property
    def address(self) -> str:
        """Where requests go, without credentials."""
        return self._origin.address

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def connection(self) -> Connection:
        """Address and headers, for requests beside those to the model."""
        return self._connection

    @property
    def at_home(self) -> bool:
        """True when requests go to the provider itself, not to another server with its protocol."""
        return self._connection.base_url.rstrip("/") == self._provider.base_url.rstrip("/")

    @property
    def searches_tools(self) -> bool:
        """True when its API can search `deferred` tools itself."""
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, provider={self.provider!r})"

    async def meet(self) -> None:
        """First contact: ask the server once what it is and what its model can do."""
        if self._met:
            return
        contact = await self.contact()
        if contact is None:
            self._met = bool(self._name)
            return
        from treadle._models.contact.recognize import profile_of, served_by

        self._met, self._stranger, self._name = True, True, contact.name
        self._server = served_by(contact, self._provider)
        probed = self._with_probed_facts(profile_of(contact, self._provider), self._name)
        self._take_profile(self.media.of(probed))

    async def contact(self) -> Contact | None:
        """Ask the server about itself and its model; None when it does not answer."""
        from treadle._models.contact.recognize import recognize  # for such servers only

        return await recognize(self._connection, self._provider, self._name)

    @property
    def untried(self) -> bool:
        """True when only a trial can tell if its native calls work."""
        offered = self._profile.tool_call and not self._profile.calls_natively
        return self._stranger and offered and "tool_call" not in self._abilities

    def refused_tools(self, *, store: bool) -> None:
        """The server has refused tools: do not offer them again."""
        from treadle._models.catalog.probed_profiles import ProbedProfile, remember

        abilities = {"tool_call": False}
        remember(
            ProbedProfile(self.provider, self._name, self.address, None, abilities, probed=time.time(), refused=True),
            store=store,
        )
        self._take_profile(self._profile.with_abilities(abilities))

    def tried(self, probed: ProbedProfile, *, store: bool) -> None:
        """Use and remember what a probe has measured."""
        from treadle._models.catalog.probed_profiles import remember

        remember(probed, store=store)
        self._take_profile(self._with_probed_facts(self._profile, self._name))

    def _with_probed_facts(self, profile: Profile, name: str) -> Profile:
        from treadle._models.catalog.probed_profiles import with_probed_facts

        return with_probed_facts(profile, self.provider, name, self.address)

    def with_every_ability(self) -> Self:
        """A copy for a probe, which has to send what a profile lacks."""
        twin = copy.copy(self)
        twin._abilities = ALL_ABILITIES
        twin._take_profile(self._profile)
        return twin

    def _take_profile(self, profile: Profile) -> None:
        self._profile = profile.with_abilities(self._abilities)
        self._adapt()

    def _adapt(self) -> None:
        """Forget what was derived from the profile."""

    async def _find_model(self) -> None:
        await self.meet()
        if not self._name:
            from treadle._models.contact.recognize import refusal

            if (refused := await refusal(self._connection)) is not None:
                raise refused
            text = f"no model was found at {self.address}: is the server running, and does it list its models there?"
            raise connection_lost(self._origin, f"{text} Name one: {self.address}#MODEL")

    def _may_be_endless(self, request: Request) -> bool:
        """Tell whether a reply may have no end, so that it is checked while it streams."""
        return False

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        if not self._name:
            await self._find_model()
        # A reply that is not what the model wants can be broken off only while it comes.
        early = request.answer_from is not None or self._may_be_endless(request)
        streaming = (request.stream or early) and self._profile.streaming
        reader = self.reader_of(request)
        limiter = self._limiter
        body = self.body_of(request, streaming=streaming)
        try:
            while body is not None:
                endpoint, headers = await self._signed(streaming, body)
                async with limiter, Exchange(endpoint, body, headers, streaming=streaming) as response:
                    while not reader.done and (
                        payloads := await (response.rest() if reader.complete else response.batch())
                    ):
                        for payload in payloads:
                            deltas = reader.feed(payload)
                            if request.stream:
                                for delta in deltas:
                                    yield delta
                body = self._continuation_body(request, streaming, reader)
            reply = reader.reply()
        except ModelError as error:
            if error.usage is ONE_REQUEST:
                error.usage = reader.spent()
            if isinstance(error, TransientModelError) and error.status == 429 and error.retry_after:
                limiter.back_off(error.retry_after)
            meant = self._reconsidered(error)
            if meant is not error:
                raise meant from None
            raise
        yield reply

    async def aclose(self) -> None:
        """Close the connections of the running event loop. A later
        exchange opens new ones; without this they close with the loop."""
        await http.close_if_idle()

    def _endpoint(self, streaming: bool) -> Endpoint:
        endpoint = self._endpoints.get(streaming)
        if endpoint is None:
            connection = self._connection
            url = connection.base_url + self._path(streaming)
            endpoint = self._endpoints[streaming] = Endpoint(
                url, connection.headers, self._origin, self._timeouts, encoded=self.encoded_path
            )
        return endpoint

    async def _signed(self, streaming: bool, body: bytes) -> tuple[Endpoint, Mapping[str, str] | None]:
        """Where a body goes, and the headers that it alone needs, for a provider that wants a signature or a token of
        limited life."""
        if self._key_source is None:
            return self._endpoint(streaming), None
        return self._endpoint(streaming), {"authorization": f"Bearer {await self._current_key(self._key_source)}"}

    async def _current_key(self, source: KeySource) -> str:
        """Ask for the token in a thread, because the libraries of clouds fetch it without `await`."""
        from asyncio import to_thread

        key = await to_thread(source)
        key = await key if isinstance(key, Awaitable) else key
        if not key:
            raise ConfigError(f"{self.provider}: the function that was passed as api_key returned no token")
        if key != self._key:
            self._key = key
            self._origin.mask([key])
            known_secrets.keep(self, f"{self.provider}-token", [key])
        return key

    def _reconsidered(self, error: ModelError) -> ModelError:
        """Change a failure that means something else at this provider than at others."""
        return error

    def _path(self, streaming: bool) -> str:
        return self.path

    def body_of(self, request: Request, *, streaming: bool = False) -> bytes:
        """The body of a request in this provider's format."""
        request = self._with_defaults(request)
        return self._writer.body(request, encoded_messages(request, self, self.api), streaming)

    def reader_of(self, request: Request) -> Reader:
        """A new reader of this provider's responses."""
        return self.reader(self._origin, self._profile, self._name, *self._watches(request))

    def _with_defaults(self, request: Request) -> Request:
        """The request with the settings that a server would choose badly."""
        return request

    def _watches(self, request: Request) -> tuple[Any, ...]:
        """What looks at the reply while it is read."""
        return ()

    def _continuation_body(self, request: Request, streaming: bool, reader: Any) -> bytes | None:
        """The next request of the same call, for a provider that returns its reply in several responses; else None."""
        return None


def _timeouts(timeout: float | Timeouts | None, *, thinks: bool, local: bool) -> Timeouts:
    """A number limits the whole exchange. A model that thinks may be silent for long at any time, one that reads its
    prompt on this machine before it begins."""
    if isinstance(timeout, Timeouts):
        return timeout
    usual = Timeouts() if timeout is None else Timeouts(total=timeout)
    total = usual.total
    limits = {"first": usual.first, "stall": usual.stall, "progress": usual.progress}
    patient = {"first", "stall", "progress"} if thinks else {"first"} if local else set[str]()
    bounded = {
        name: total if name in patient or limit is None or total is None else min(limit, total)
        for name, limit in limits.items()
    }
    return msgspec.structs.replace(usual, **bounded)
