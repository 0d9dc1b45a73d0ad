"""The table of providers: addresses, key variables, and how each deviates from the protocol it uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle._models.transport.failures import Origin
from treadle._models.transport.hosts import is_local, ollama_address
from treadle._safety.secrets import address_secrets, header_secrets, known_secrets
from treadle._types.errors import ConfigError, MissingKeyError, UnknownModelError
from treadle._types.profile import Prices, Profile

if TYPE_CHECKING:
    from urllib.parse import SplitResult

FREE = Prices(0.0, 0.0, 0.0, 0.0)
_SERVER = Profile(json_mode=True, json_schema=True)
_LOCAL = Profile(json_mode=True, json_schema=True, strict_schema=True, logprobs=True, prices=FREE)


class Provider(Struct, frozen=True, omit_defaults=True):
    """One provider. `protocol` names the entry of the registry's table."""

    name: str
    base_url: str
    key_env: str = ""
    """The variable that holds the key; empty when none is needed."""
    also_key_env: str = ""
    """Another variable that may hold it."""
    needs_key: bool = True
    key_of_server: bool = False
    """The variable is that of such a server itself, not of an account elsewhere: it applies on this machine too."""
    key_header: str = "authorization"
    base_env: str = ""
    """The variable that can hold another address."""
    protocol: str = "openai"
    serves: Profile | None = None
    """For a server of other companies' models: what it offers for all of them (constraints, forced tools, price)."""
    stream_usage: bool = True
    """It accepts `stream_options`; other servers report usage in streams without it, or never."""
    seed_name: str = "seed"
    grammar_name: str = ""
    """The field for a grammar; empty when there is none."""
    schema_name: str = ""
    """The field for a bare JSON schema, where the server has one of its own."""
    takes_tuning: bool = False
    """A request says whether the model uses what it was tuned with."""
    as_in_process: bool = False
    """It runs the runtime that models in process have: an assisted model gets the same settings."""
    required_choice: str = "required"
    call_id_length: int = 0
    """Call ids must be this many letters and digits; 0 when any id of up to 40
    characters is accepted."""
    reasoning_field: str = ""
    """The field in which a reasoning model expects its thoughts back with every call it made, also empty ones."""
    headers: Mapping[str, str] = {}
    aliases: tuple[str, ...] = ()


_TABLE = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", base_env="OPENAI_BASE_URL"),
    Provider(
        "openai-responses",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        base_env="OPENAI_BASE_URL",
        protocol="responses",
    ),
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        key_header="x-api-key",
        base_env="ANTHROPIC_BASE_URL",
        protocol="anthropic",
        headers={"anthropic-version": "2023-06-01"},
        aliases=("claude",),
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        also_key_env="GOOGLE_API_KEY",
        key_header="x-goog-api-key",
        protocol="gemini",
        aliases=("google", "google-ai"),
    ),
    Provider(
        "bedrock",
        "",  # it follows from the region
        "AWS_BEARER_TOKEN_BEDROCK",
        needs_key=False,
        base_env="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        protocol="bedrock",
        aliases=("amazon-bedrock", "aws"),
    ),
    Provider(
        "vertex",
        "",  # it follows from the location
        needs_key=False,
        base_env="GOOGLE_VERTEX_BASE_URL",
        protocol="vertex",
        aliases=("google-vertex", "vertexai", "vertex-ai"),
    ),
    Provider("local", "", needs_key=False, protocol="local"),
    Provider(
        "ollama",
        "http://localhost:11434/v1",
        "OLLAMA_API_KEY",
        needs_key=False,
        base_env="OLLAMA_HOST",
        serves=_LOCAL,
        as_in_process=True,
    ),
    Provider(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        needs_key=False,
        key_of_server=True,
        serves=Profile(
            json_mode=True, json_schema=True, strict_schema=True, forced_tool=True, logprobs=True, prices=FREE
        ),
    ),
    Provider(
        "llamacpp",
        "http://localhost:8080/v1",
        "LLAMA_API_KEY",
        needs_key=False,
        key_of_server=True,
        serves=Profile(json_mode=True, json_schema=True, grammar=True, logprobs=True, prices=FREE),
        takes_tuning=True,
        grammar_name="grammar",
        schema_name="json_schema",
        as_in_process=True,
        aliases=("llama.cpp", "llama-cpp"),
    ),
    Provider(
        "lmstudio",
        "http://localhost:1234/v1",
        needs_key=False,
        serves=Profile(json_schema=True, prices=FREE),
        aliases=("lm-studio",),
    ),
    Provider("tgi", "http://localhost:3000/v1", "HF_TOKEN", needs_key=False, serves=Profile(prices=FREE)),
    Provider(
        "litellm",
        "http://localhost:4000/v1",
        "LITELLM_API_KEY",
        needs_key=False,
        key_of_server=True,
        serves=Profile(json_mode=True),
    ),
    Provider("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", reasoning_field="reasoning_content"),
    Provider(
        "groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", serves=Profile(json_mode=True, forced_tool=True)
    ),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        stream_usage=False,
        seed_name="random_seed",
        required_choice="any",
        call_id_length=9,
        aliases=("mistralai",),
    ),
    Provider(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        serves=Profile(json_mode=True, replay_reasoning=True),
    ),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", serves=_SERVER, aliases=("togetherai",)),
    Provider("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", serves=_SERVER),
    Provider("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", serves=_SERVER),
    Provider("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", serves=Profile()),
    Provider(
        "huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", serves=Profile(json_mode=True), aliases=("hf",)
    ),
    Provider("xai", "https://api.x.ai/v1", "XAI_API_KEY", aliases=("x-ai", "grok")),
    Provider(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        serves=Profile(json_mode=True),
        aliases=("kimi", "moonshotai"),
    ),
    Provider(
        "zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", serves=Profile(json_mode=True), aliases=("zhipu", "z-ai")
    ),
    Provider(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        serves=Profile(json_mode=True),
        aliases=("dashscope", "alibaba", "tongyi-qianwen"),
    ),
    Provider("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", serves=Profile(json_schema=True)),
    Provider(
        "azure",
        "",
        "AZURE_OPENAI_API_KEY",
        key_header="api-key",
        base_env="AZURE_OPENAI_ENDPOINT",
        aliases=("azure-openai",),
    ),
)
PROVIDERS: Mapping[str, Provider] = {
    name: provider for provider in _TABLE for name in (provider.name, *provider.aliases)
}


def provider_named(name: str) -> Provider:
    """The provider of that name; case, spaces and underscores do not matter."""
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    provider = PROVIDERS.get(key) or PROVIDERS.get(key.replace("-", ""))
    if provider is None:
        from difflib import get_close_matches

        close = get_close_matches(key, PROVIDERS, n=3)
        names = ", ".join(sorted({entry.name for entry in _TABLE}))
        hint = f"did you mean {' or '.join(close)}?" if close else f"expected one of: {names}."
        raise UnknownModelError(
            f"unknown provider {name!r}; {hint} Any compatible server works by its address: http://HOST:PORT/v1#MODEL"
        )
    return provider


class Connection(Struct, frozen=True):
    """The address and headers of requests. It has the key, so `repr` shows neither."""

    base_url: str
    headers: Mapping[str, str]
    origin: Origin
    api_key: str
    local: bool

    def __repr__(self) -> str:
        return f"Connection({self.origin!r})"


def connect(
    provider: Provider, base_url: str | None, api_key: str | None, headers: Mapping[str, str] | None
) -> Connection:
    """Determine the address and the key: an argument wins over the environment, the environment over the table."""
    stated = "" if base_url else _address_from_environment(provider)
    address = (base_url or stated or provider.base_url).rstrip("/")
    if not address:
        raise ConfigError(f"{provider.name} has no default address: pass base_url=... or set {provider.base_env}")
    parts = parts_of(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"{address!r} is not a valid base_url: it needs http:// or https:// and a host, like http://localhost:8000/v1"
        )
    local = is_local(parts.hostname)
    for_it = not local or bool(stated) or provider.key_of_server
    key = _key(provider, api_key, address, may_have_none=local, for_it=for_it)
    sent = {"content-type": "application/json", "user-agent": "treadle", **provider.headers}
    if key:
        sent[provider.key_header] = f"Bearer {key}" if provider.key_header == "authorization" else key
    extra = {name.lower(): value for name, value in (headers or {}).items()}
    port = f":{parts.port}" if parts.port else ""
    shown = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    # A long value, or one under such a name, is treated as a secret.
    secret_names = ("auth", "key", "token", "secret", "cookie")
    secrets = [value for name, value in extra.items() if len(value) >= 20 or any(part in name for part in secret_names)]
    secrets += [key, parts.password or ""]
    with_key = bool(key) or provider.key_header in extra or not (provider.base_url or provider.needs_key)
    missing = "" if with_key else _where_keys_go(provider, shown, for_it and api_key is None)
    at_home = not provider.base_url or address == provider.base_url.rstrip("/")
    called = provider.name if at_home else f"{provider.name} at {parts.scheme}://{parts.hostname}{port}"
    origin = Origin(provider.name, shown, secrets, provider.key_env, missing, called)
    known_secrets.keep(origin, f"{provider.name}-key", [key, *header_secrets(extra), *address_secrets(address)])
    return Connection(address, sent | extra, origin, key, local)


def _key(provider: Provider, api_key: str | None, address: str, *, may_have_none: bool, for_it: bool) -> str:
    if api_key is not None:
        return api_key.strip()
    # Some server on this machine must not get the key of a provider. Where the environment has both, they belong
    # together: a gateway with a key of its own, or the proxy of `treadle record`.
    if not for_it or not provider.key_env:
        return ""
    key = (
        os.environ.get(provider.key_env, "").strip()
        or os.environ.get(provider.also_key_env or provider.key_env, "").strip()
    )
    if not key and provider.needs_key and not may_have_none:
        raise MissingKeyError(
            f"{provider.name} needs a key: set {provider.key_env} (to any word, if {address} needs none)"
        )
    return key


def _where_keys_go(provider: Provider, address: str, for_it: bool) -> str:
    """Return the advice for a server that refuses requests without a key."""
    if for_it and provider.key_env:
        return f"set {provider.key_env}"
    return (
        f"set OPENAI_BASE_URL={address} and OPENAI_API_KEY and name the model openai:MODEL, "
        "or give treadle doctor --key-env VARIABLE"
    )


def parts_of(address: str) -> SplitResult:
    from urllib.parse import urlsplit  # which imports much: only a program that has a model needs it

    return urlsplit(address)


def _address_from_environment(provider: Provider) -> str:
    value = os.environ.get(provider.base_env, "").strip() if provider.base_env else ""
    if not value:
        return ""
    if provider.name == "azure" and "/openai" not in value:
        value = value.rstrip("/") + "/openai/v1"
    if provider.name == "ollama":
        value = ollama_address(value)
        value = value if parts_of(value).path.strip("/") else f"{value.rstrip('/')}/v1"
    return value
