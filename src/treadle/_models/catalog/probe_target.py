"""Finds the model to probe from what a user types: `provider:model`, or the address of an OpenAI-compatible server."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle._models.base import Model
from treadle._models.catalog.default import SCRIPTED, model_named
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import PROVIDERS, Connection, Provider, connect, provider_named
from treadle._models.catalog.registry import resolve_model
from treadle._models.transport.http import Endpoint, Timeouts, session
from treadle._models.transport.wire import UNREADABLE, as_count, as_dict, as_list, as_text
from treadle._types.errors import ConfigError, UnknownModelError
from treadle._types.profile import Profile

ALL_ABILITIES = dict.fromkeys(
    ("tool_call", "parallel_calls", "forced_tool", "json_mode", "json_schema", "streaming"), True
)
"""An adapter omits from requests what its profile lacks; a probe has to send it."""
RESPONSE_SECONDS = 15.0
MAX_LIST = 4_000_000
_WINDOWS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


class Target(Struct, frozen=True):
    model: Model
    claimed: Profile
    spec: str
    """The model's name for the command line or for code."""
    window: int | None = None
    others: tuple[str, ...] = ()
    """The other models of the server."""


async def target_of(spec: str, *, api_key: str | None = None, name: str = "") -> Target:
    """The model to probe. At an address, the first model the server lists, or the one called `name`."""
    if "://" in spec:
        return await _at_address(spec, api_key, name)
    if spec.startswith(SCRIPTED):
        model = model_named(spec)
        return Target(model, model.profile, spec)
    options: dict[str, Any] = {} if api_key is None else {"api_key": api_key}
    model = resolve_model(spec, abilities=ALL_ABILITIES, **options)
    provider = provider_named(getattr(model, "provider", ""))
    if provider.adapter == "local":
        return Target(model, resolve_model(spec).profile, spec)
    window = None
    if provider.adapter == "openai":
        connection = connect(provider, None, api_key, None)
        window = await _window(connection, _entry(await _listing(connection) or [], model.name))
    return Target(model, profile_for(provider, model.name), spec, window)


async def _at_address(url: str, key: str | None, name: str) -> Target:
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/models")
    base = parts._replace(path=path, query="", fragment="").geturl()
    provider = _provider_at(base)
    # A key in the environment belongs to its provider and is sent to no other server.
    if provider is None:
        provider, addresses, key = provider_named("openai"), (base, base + "/v1"), key or ""
    else:
        addresses = (provider.base_url,)
    for address in addresses:
        connection = connect(provider, address, key, None)
        listed = await _listing(connection)
        if listed is not None:
            return await _listed(provider, connection, listed, name)
    raise ConfigError(
        f"no OpenAI-compatible server at {connect(provider, base, '', None).origin.address}: "
        "it does not list its models under /models; check the address and whether the server runs"
    )


async def _listed(provider: Provider, connection: Connection, listed: list[dict[str, Any]], name: str) -> Target:
    names = [as_text(entry.get("id")) for entry in listed]
    usable = [listed_name for listed_name in names if listed_name and "embed" not in listed_name.lower()]
    if name and name not in names:
        raise UnknownModelError(
            f"the server at {connection.origin.address} has no model {name!r}; it has: {', '.join(names[:20])}"
        )
    if not usable:
        raise UnknownModelError(f"the server at {connection.origin.address} lists no model")
    chosen = name or usable[0]
    model = resolve_model(
        f"{provider.name}:{chosen}", base_url=connection.base_url, api_key=connection.api_key, abilities=ALL_ABILITIES
    )
    spec = f"OpenAIModel({chosen!r}, base_url={connection.origin.address!r})"
    if connection.base_url == provider.base_url:
        spec = f"{provider.name}:{chosen}"
    others = tuple(other for other in usable if other != chosen)
    return Target(model, profile_for(provider, chosen), spec, await _window(connection, _entry(listed, chosen)), others)


def _provider_at(url: str) -> Provider | None:
    """The provider that has this address, if one of the table has it."""
    host = urlsplit(url).netloc.lower().replace("127.0.0.1", "localhost")
    matches = (
        p for p in PROVIDERS.values() if p.adapter == "openai" and p.base_url and urlsplit(p.base_url).netloc == host
    )
    return next(matches, None)


def _entry(listed: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next((entry for entry in listed if entry.get("id") == name), as_dict(None))


async def _listing(connection: Connection) -> list[dict[str, Any]] | None:
    """The models the server lists; None when it gives no list."""
    document = await _get(connection, connection.base_url + "/models")
    listed = as_dict(document).get("data")
    return [as_dict(entry) for entry in as_list(listed)] if isinstance(listed, list) else None


async def _window(connection: Connection, entry: dict[str, Any]) -> int | None:
    for field in _WINDOWS:
        if count := as_count(entry.get(field)) or as_count(as_dict(entry.get("meta")).get(field)):
            return count
    if entry.get("owned_by") == "llamacpp":
        # The list has the window the model was trained for; the one the server was started with is elsewhere.
        props = as_dict(await _get(connection, connection.base_url.removesuffix("/v1") + "/props"))
        return as_count(as_dict(props.get("default_generation_settings")).get("n_ctx")) or None
    return None


async def _get(connection: Connection, url: str) -> Any:
    """A JSON document, or None for any failure: it is needed for hints only."""
    from aiohttp import ClientError

    endpoint = Endpoint(url, connection.headers, connection.origin, Timeouts(total=RESPONSE_SECONDS, connect=5.0))
    address, arguments = endpoint.prepared()
    try:
        async with (await session()).get(address, **arguments) as response:
            body = await response.content.read(MAX_LIST) if response.status == 200 else b""
            while body and not response.content.at_eof() and len(body) < MAX_LIST:
                body += await response.content.read(MAX_LIST)
            return msgspec.json.decode(body)
    except (ClientError, TimeoutError, OSError, ValueError, *UNREADABLE):
        return None
