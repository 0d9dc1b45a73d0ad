"""Finds the model to probe from what a user types: `provider:model`, or the address of an OpenAI-compatible server."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from treadle._models.base import Model, meet
from treadle._models.catalog.default import SCRIPTED, model_named
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import provider_named
from treadle._models.catalog.registry import resolve_model
from treadle._models.contact.address import address_of, is_address
from treadle._models.contact.recognize import profile_of, refusal
from treadle._models.contact.servers import Contact
from treadle._models.http_model import ALL_ABILITIES, HttpModel
from treadle._types.errors import ConfigError, UnknownModelError
from treadle._types.profile import Profile


class Target(Struct, frozen=True):
    model: Model
    claimed: Profile
    spec: str
    """The model's name for the command line, for files and for code."""
    window: int | None = None
    others: tuple[str, ...] = ()
    """The other models of the server."""
    server: str = ""
    """What the server is, where it says so."""


async def target_of(spec: str, *, api_key: str | None = None, name: str = "") -> Target:
    """The model to probe. At an address, the first model the server lists, or the one called `name`."""
    if spec.startswith(SCRIPTED):
        model = model_named(spec)
        return Target(model, model.profile, spec)
    if is_address(spec):
        base, named = address_of(spec)
        spec, name = f"{base}#{name or named}".rstrip("#"), name or named
    options: dict[str, Any] = {} if api_key is None else {"api_key": api_key}
    model = resolve_model(spec, abilities=ALL_ABILITIES, **options)
    if not isinstance(model, HttpModel):
        return Target(model, resolve_model(spec).profile, spec)
    provider = provider_named(model.provider)
    contact = await model.contact() if model.asks_server else None
    await meet(model)
    if is_address(spec):
        if contact is None and (refused := await refusal(model.connection)) is not None:
            raise refused
        contact = _found(contact, model, name)
        spec = f"{model.address}#{model.name}"
    if contact is None:
        return Target(model, profile_for(provider, model.name), spec)
    others = tuple(other for other in contact.models if other != model.name)
    if ":" not in spec:  # a server on this machine, and its first model
        spec = f"{provider.name}:{model.name}"
    return Target(model, profile_of(contact, provider), spec, contact.window, others, contact.server)


def _found(contact: Contact | None, model: HttpModel, name: str) -> Contact:
    if contact is None or not contact.name:
        raise ConfigError(
            f"no OpenAI-compatible server at {model.address}: "
            "it does not list its models under /models; check the address and whether the server runs"
        )
    if name and name not in contact.models:
        raise UnknownModelError(
            f"the server at {model.address} has no model {name!r}; it has: {', '.join(contact.models[:20])}"
        )
    return contact
