"""Where requests may go: the providers of the usual SDKs, or the one address that the user gives."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from treadle._models.transport.hosts import is_local, ollama_address
from treadle._types.errors import ConfigError


class Upstream(Struct, frozen=True):
    """A server that requests are passed on to."""

    name: str
    """The first part of the path at the proxy: `/openai/v1/...`; empty when it is the only one."""
    host: str
    port: int
    tls: bool
    path: str = ""
    """Put in front of every path."""

    @property
    def address(self) -> str:
        usual = self.port == (443 if self.tls else 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}{'' if usual else f':{self.port}'}{self.path}"

    @property
    def host_header(self) -> bytes:
        return urlsplit(self.address).netloc.encode("idna" if not self.host.isascii() else "ascii")

    def target(self, path: str) -> str:
        """The path at the server for one at the proxy, without the name in front."""
        if self.path and (path == self.path or path.startswith((f"{self.path}/", f"{self.path}?"))):
            return path  # clients differ in whether their base URL has the version already
        return f"{self.path}{path}"


def upstream_at(url: str, name: str = "", *, option: str = "--to") -> Upstream:
    """The server at an address."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{option} {url}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{option} {url}: give an address such as https://api.openai.com/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"{option}: the address may have no user, query or fragment; keys belong in the program")
    tls = parts.scheme == "https"
    return Upstream(name, parts.hostname, port or (443 if tls else 80), tls, parts.path.rstrip("/"))


class SdkVariable(Struct, frozen=True):
    """A variable in which an SDK looks for the address of its provider."""

    variable: str
    name: str
    usual: str
    """Where the SDK sends requests without it; empty when the variable is only passed on if it is set."""
    read_by: str = ""


VARIABLES = (
    SdkVariable("OPENAI_BASE_URL", "openai", "https://api.openai.com/v1", "OpenAI SDKs and what is built on them"),
    SdkVariable("OPENAI_API_BASE", "openai", "https://api.openai.com/v1", "LangChain, LiteLLM"),
    SdkVariable("ANTHROPIC_BASE_URL", "anthropic", "https://api.anthropic.com", "Anthropic SDKs, Claude Code"),
    SdkVariable("ANTHROPIC_API_URL", "anthropic", "https://api.anthropic.com", "LangChain"),
    SdkVariable("ANTHROPIC_API_BASE", "anthropic", "https://api.anthropic.com", "LiteLLM"),
    SdkVariable("GOOGLE_GEMINI_BASE_URL", "gemini", "https://generativelanguage.googleapis.com", "google-genai"),
    SdkVariable("GEMINI_API_BASE", "gemini", "https://generativelanguage.googleapis.com", "LiteLLM"),
    SdkVariable("GROQ_BASE_URL", "groq", "https://api.groq.com", "Groq SDK"),
    SdkVariable("DEEPSEEK_API_BASE", "deepseek", "https://api.deepseek.com", "LangChain, LiteLLM"),
    SdkVariable("OPENROUTER_API_BASE", "openrouter", "https://openrouter.ai/api/v1", "LangChain, LiteLLM"),
    SdkVariable("MISTRAL_BASE_URL", "mistral", "https://api.mistral.ai/v1", "LangChain"),
    SdkVariable("XAI_BASE_URL", "xai", "https://api.x.ai/v1", "LangChain"),
    SdkVariable("OLLAMA_HOST", "ollama", "", "Ollama SDK; only where it is set, since its server reads it too"),
    SdkVariable("AZURE_OPENAI_ENDPOINT", "azure", "", "Azure's OpenAI SDKs; only where it is set"),
)
"""The variables that `treadle record -- COMMAND` sets for the command."""


class Routes(Struct, frozen=True):
    """The servers by the first part of the path; nothing else is passed on."""

    by_name: Mapping[str, Upstream]

    def find(self, path: str) -> tuple[Upstream, str] | None:
        """The server for a path at the proxy, and the path there."""
        if (only := self.by_name.get("")) is not None:
            return only, only.target(path)
        name, slash, rest = path.removeprefix("/").partition("/")
        upstream = self.by_name.get(name)
        return None if upstream is None else (upstream, upstream.target(f"{slash}{rest}" or "/"))


def routes_from(environment: Mapping[str, str], extra: Mapping[str, str]) -> Routes:
    """The servers of the SDKs' variables: where they point now, or the provider's own. `extra` has more, by name."""
    upstreams: dict[str, Upstream] = {}
    for sdk in VARIABLES:
        address = environment.get(sdk.variable, "").strip().replace("//0.0.0.0", "//127.0.0.1")
        if address:  # the first variable that is set decides
            address = ollama_address(address) if sdk.variable == "OLLAMA_HOST" else address
            upstreams.setdefault(sdk.name, upstream_at(address, sdk.name, option=sdk.variable))
    for sdk in VARIABLES:
        if sdk.usual:
            upstreams.setdefault(sdk.name, upstream_at(sdk.usual, sdk.name))
    return Routes(upstreams | {name: upstream_at(url, name) for name, url in extra.items()})


def child_environment(environment: Mapping[str, str], address: str, routes: Routes) -> dict[str, str]:
    """The environment of the recorded program: its SDKs find the proxy."""
    changed = dict(environment)
    for sdk in VARIABLES:
        upstream = routes.by_name.get(sdk.name)
        if upstream is not None:
            changed[sdk.variable] = f"{address}/{sdk.name}{upstream.path}"
    for variable in ("NO_PROXY", "no_proxy"):  # or a proxy of the network would be asked for this machine
        changed[variable] = ",".join(filter(None, (changed.get(variable, ""), "127.0.0.1,localhost")))
    return changed


class Gateway(Struct, frozen=True):
    """A proxy of the network that connections outside go through."""

    host: str
    port: int
    credentials: str = ""

    def request(self, upstream: Upstream) -> bytes:
        """Return the request for a connection to a server."""
        target = f"{upstream.host}:{upstream.port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials:
            lines.append(f"Proxy-Authorization: Basic {b64encode(self.credentials.encode()).decode()}")
        return "\r\n".join([*lines, "", ""]).encode()


def gateway_for(upstream: Upstream) -> Gateway | None:
    """The proxy that the environment names for a server (`HTTPS_PROXY`, `NO_PROXY`); None for one on this machine."""
    address = getproxies().get("https" if upstream.tls else "http", "")
    if not address or is_local(upstream.host) or proxy_bypass(upstream.host):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if not parts.hostname:
        return None
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Gateway(parts.hostname, parts.port or 80, user)


def tls_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
