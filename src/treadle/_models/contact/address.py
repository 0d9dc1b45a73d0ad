"""Models named by an address: `http://host:8080/v1`, `http://host:8080/v1#model`."""

from __future__ import annotations

from typing import NamedTuple

from treadle._models.catalog.providers import PROVIDERS, Provider, parts_of
from treadle._types.errors import UnknownModelError

_ENDS = ("/chat/completions", "/completions", "/models", "/embeddings")
_VENDOR_DOMAINS = (".azure.com", ".amazonaws.com", ".googleapis.com")


class Address(NamedTuple):
    base_url: str
    model: str
    """Empty: the first one that the server lists."""


def is_address(spec: str) -> bool:
    return spec.strip().lower().startswith(("http://", "https://"))


def address_of(spec: str) -> Address:
    """The two parts of such a name. What is behind the base address of an API is cut off, a missing `/v1` added."""
    try:
        parts = parts_of(spec.strip())
        _ = parts.port
    except ValueError as error:
        raise UnknownModelError(f"{spec!r} is not an address: {error}") from None
    if not parts.hostname:
        raise UnknownModelError(f"{spec!r} names no host: write it like http://127.0.0.1:8080/v1#model")
    path = parts.path.rstrip("/")
    for end in _ENDS:
        path = path.removesuffix(end)
    base = parts._replace(path=path or "/v1", query="", fragment="").geturl()
    provider = provider_at(base)
    if provider is not None and not path:
        base = provider.base_url
    from urllib.parse import unquote

    return Address(base, unquote(parts.fragment).strip())


def provider_at(url: str) -> Provider | None:
    """The provider that has this address, if one of the table has it."""
    host = parts_of(url).netloc.lower().replace("127.0.0.1", "localhost")
    matches = (
        p for p in PROVIDERS.values() if p.protocol == "openai" and p.base_url and parts_of(p.base_url).netloc == host
    )
    return next(matches, None)


def is_vendors(url: str) -> bool:
    """Return whether a server belongs to a provider of the table: what it is does not need to be found out."""
    host = (parts_of(url).hostname or "").lower()
    if host.endswith(_VENDOR_DOMAINS):
        return True
    return any(p.needs_key and p.base_url and parts_of(p.base_url).hostname == host for p in PROVIDERS.values())
