"""Models by name and by role, and models from a name like `provider:model`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any, cast

from treadle._lazy import load
from treadle._models.base import Model
from treadle._models.catalog.providers import PROVIDERS, Provider, provider_named
from treadle._models.contact.address import address_of, is_address, provider_at
from treadle._types.errors import ConfigError, NotAModelError, UnknownModelError

_LAZY_IMPORTS = {
    "openai": "_models.openai.chat:OpenAIModel",
    "anthropic": "_models.anthropic.model:AnthropicModel",
    "gemini": "_models.gemini.model:GeminiModel",
    "bedrock": "_models.bedrock.model:BedrockModel",
    "vertex": "_models.vertex.model:VertexModel",
    "responses": "_models.openai.responses:ResponsesModel",
    "local": "_local.model:LocalModel",
}
"""A protocol -> the module and the class that speak it."""


class ModelRegistry:
    """Models by name and role."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._roles: dict[str, tuple[str, ...]] = {}

    def register(self, name: str, model: Model | str, roles: Iterable[str] | str = ()) -> Model:
        """Add a model under a name, with `roles` (`general`, `fast`, `reasoning`, or your own)."""
        if name in self._models:
            raise ConfigError(f"a model named {name!r} is already registered; choose another name")
        resolved = resolve_model(model)
        self._models[name] = resolved
        self._roles[name] = (roles,) if isinstance(roles, str) else tuple(roles)
        return resolved

    def get(self, name: str) -> Model:
        if name not in self._models:
            raise UnknownModelError(f"no model named {name!r} is registered; {_suggestion(name, self._models)}")
        return self._models[name]

    def role(self, role: str) -> Model:
        """The first model with this role, else the default."""
        return next((self._models[name] for name, roles in self._roles.items() if role in roles), self.default)

    @property
    def default(self) -> Model:
        if not self._models:
            raise ConfigError("no model is registered; add one with registry.register(name, model)")
        general = (self._models[name] for name, roles in self._roles.items() if "general" in roles)
        return next(general, next(iter(self._models.values())))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._models)

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __len__(self) -> int:
        return len(self._models)


def resolve_model(spec: str | Model, **options: Any) -> Model:
    """A model from `"provider:model"`, `"model@Provider"`, the address of a server (`"http://host:8080/v1"`, with
    `#model` behind it or its first one), or the name of one on this machine (`"ollama"`).

    `options` go to the model's constructor (`base_url`, `api_key`, `abilities`, ...).
    """
    if not isinstance(spec, str):
        if isinstance(spec, type) or not _is_model(spec):
            raise NotAModelError(_no_model(spec))
        if options:
            names = ", ".join(options)
            raise ConfigError(f"{names} cannot be set on an existing model: pass it to the model's constructor instead")
        return spec
    if is_address(spec):
        return _at_address(spec, options)
    provider, name = _split(spec)
    protocol = provider.protocol
    if provider.name == "openai" and "base_url" not in options:
        from treadle._models.catalog.profiles import wants_responses

        protocol = "responses" if wants_responses(name) else protocol
    if protocol != "local":
        options = {"provider": provider, **options}
    return cast("Model", load(_LAZY_IMPORTS[protocol])(name, **options))


def _at_address(spec: str, options: dict[str, Any]) -> Model:
    address = address_of(spec)
    provider = provider_at(address.base_url)
    if provider is not None and provider.needs_key and not address.model:
        raise UnknownModelError(f"{spec!r} is {provider.name}'s own server, which has many models: write {spec}#MODEL")
    # A key in the environment belongs to its provider and is sent to no other server.
    server = {"provider": provider} if provider is not None else {"provider": provider_named("openai"), "api_key": ""}
    options = {"base_url": address.base_url, **server, **options}
    return cast("Model", load(_LAZY_IMPORTS["openai"])(address.model, **options))


def check_model_name(spec: str) -> None:
    """Refuse a name whose provider does not exist; whether the provider has the model, only it can say."""
    if is_address(spec):
        address_of(spec)
    else:
        _split(spec)


def _is_model(value: object) -> bool:
    """The same as `isinstance` with the protocol at a tenth of its cost: this is called for every new agent."""
    return (
        hasattr(value, "name") and hasattr(value, "profile") and hasattr(value, "stream") and hasattr(value, "aclose")
    )


def _no_model(value: object) -> str:
    """Return why a value is not a model, and what to write instead."""
    if isinstance(value, type):
        return f"{value.__name__} is a class, not a model: write {value.__name__}(...)"
    if inspect.isroutine(value):
        return (
            "a function is not a model: write FunctionModel(function), from treadle.testing, or 'provider:model' for a "
            "real one"
        )
    made = f"{type(value).__module__}.{type(value).__name__}".lower()
    client = next((name for name in ("openai", "anthropic", "genai", "groq", "mistral") if name in made), "")
    hint = f" (a client of another library is not needed: write '{client}:MODEL')" if client else ""
    return (
        f"{type(value).__name__} is not a model: pass 'provider:model', or an object with name, profile, stream and "
        f"aclose{hint}"
    )


def _split(spec: str) -> tuple[Provider, str]:
    text = spec.strip()
    if (
        re.match(r"(?:\[[\da-fA-F:]+\]|[\w.-]+):\d{2,5}(?:[/#]|$)", text)
        and text.split(":", 1)[0].lower() not in PROVIDERS
    ):
        raise UnknownModelError(f"{spec!r} looks like the address of a server: write http://{text}")
    if ":" in text and text.split(":", 1)[0].strip().lower() in PROVIDERS:
        provider, _, name = text.partition(":")
    elif "@" in text:
        name, _, provider = text.rpartition("@")
    elif ":" in text:
        provider, _, name = text.partition(":")
    elif (server := PROVIDERS.get(text.lower())) is not None and server.serves is not None and not server.needs_key:
        return server, ""  # the first model that the server on this machine lists
    else:
        head, slash, rest = text.partition("/")
        meant = f"{head.lower()}:{rest}" if slash and head.lower() in PROVIDERS else f"openai:{text or 'gpt-5'}"
        raise UnknownModelError(
            f"{spec!r} names no provider: write 'provider:model', such as {meant!r} or 'ollama:llama3.2'"
        )
    if not name.strip():
        raise UnknownModelError(f"{spec!r} names no model: write 'provider:model', such as '{provider.strip()}:gpt-5'")
    return provider_named(provider), name.strip()


def _suggestion(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"registered are: {', '.join(names) or 'none'}"
