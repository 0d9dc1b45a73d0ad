"""Models on Google Vertex: Gemini, Claude, and the open models behind its OpenAI-compatible address."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self
from urllib.parse import quote

import msgspec

from treadle._models.anthropic.model import AnthropicModel
from treadle._models.anthropic.wire import MessagesWriter
from treadle._models.catalog.providers import Provider
from treadle._models.gemini.model import GeminiModel
from treadle._models.http_model import HttpModel
from treadle._models.openai.chat import OpenAIModel
from treadle._models.transport.http import Endpoint
from treadle._models.vertex.credentials import Credentials
from treadle._types.errors import ConfigError, ModelError, RequestRefusedError, TransientModelError

ANTHROPIC_VERSION = "vertex-2023-10-16"


class VertexModel(HttpModel):
    """`VertexModel("gemini-2.5-flash", project="my-project")`, `VertexModel("claude-sonnet-4-5@20250929")`, or
    `VertexModel("meta/llama-3.3-70b-instruct-maas")`.

    Without `access_token` and `credentials_file` the credentials are Google's application-default ones.
    """

    default_provider = "vertex"
    asks_server = False

    def __new__(cls, name: str, **options: Any) -> Self:
        kind: Any = _kind(name) if cls is VertexModel else cls
        return object.__new__(kind)

    def __init__(
        self,
        name: str,
        *,
        project: str = "",
        location: str = "",
        credentials_file: str = "",
        access_token: str = "",
        base_url: str | None = None,
        provider: str | Provider = "",
        **options: Any,
    ) -> None:
        self._location = location or _location()
        entry = msgspec.structs.replace(self._provider_of(provider), base_url=_address(self._location))
        super().__init__(_plain(name), base_url=base_url, provider=entry, **options)
        self._credentials = Credentials(self._origin, access_token=access_token, path=credentials_file, project=project)
        self._project = ""

    async def _signed(self, streaming: bool, body: bytes) -> tuple[Endpoint, Mapping[str, str] | None]:
        if not self._project:
            self._project = quote(await self._credentials.project(), safe=":")
        token = await self._credentials.token()
        return self._endpoint(streaming), {"authorization": f"Bearer {token}"}

    def _reconsidered(self, error: ModelError) -> ModelError:
        if not isinstance(error, RequestRefusedError) or error.status != 401 or not self._credentials.forget():
            return error
        return TransientModelError(str(error), status=401, usage=error.usage, provider=error.provider)

    def _path(self, streaming: bool) -> str:
        return f"/projects/{self._project}/locations/{self._location}/{self._method(streaming)}"

    def _method(self, streaming: bool) -> str:
        raise NotImplementedError


class VertexGemini(VertexModel, GeminiModel):
    """Gemini on Vertex: the same requests as with a key, at another address."""

    def _method(self, streaming: bool) -> str:
        method = "streamGenerateContent?alt=sse" if streaming else "generateContent"
        return f"publishers/google/models/{quote(self._name)}:{method}"


class VertexClaude(VertexModel, AnthropicModel):
    """Claude on Vertex: the body names the version of the protocol, the address names the model."""

    def __init__(self, name: str, *, abilities: Mapping[str, Any] | None = None, **options: Any) -> None:
        # Whether a schema is enforced there is not documented; a forced tool is, and serves the same.
        super().__init__(name, abilities={"json_schema": False, **(abilities or {})}, **options)

    @cached_property
    def _writer(self) -> MessagesWriter:
        head = {"anthropic_version": ANTHROPIC_VERSION}
        return MessagesWriter(self._name, self._profile, self._extra, self._provider_tools, head)

    def _method(self, streaming: bool) -> str:
        method = "streamRawPredict" if streaming else "rawPredict"
        return f"publishers/anthropic/models/{quote(self._name, safe='@')}:{method}"


class VertexChat(VertexModel, OpenAIModel):
    """The open models on Vertex, named `publisher/model`."""

    def _method(self, streaming: bool) -> str:
        return "endpoints/openapi/chat/completions"


def _plain(name: str) -> str:
    """`publishers/google/models/gemini-2.5-flash`, `google/gemini-2.5-flash` -> `gemini-2.5-flash`."""
    name = name.removeprefix("publishers/").replace("/models/", "/")
    publisher, _, rest = name.partition("/")
    return rest if rest and publisher in ("google", "anthropic", "models") else name


def _kind(name: str) -> type[VertexModel]:
    plain = _plain(name)
    if plain.startswith("claude"):
        return VertexClaude
    return VertexChat if "/" in plain else VertexGemini


def _location() -> str:
    named = os.environ.get("GOOGLE_CLOUD_LOCATION") or os.environ.get("GOOGLE_CLOUD_REGION")
    return named or os.environ.get("CLOUD_ML_REGION") or "global"


def _address(location: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]+", location):
        raise ConfigError(f"{location!r} is not a location of Vertex: it is written like 'us-east5', or 'global'")
    if location == "global":
        return "https://aiplatform.googleapis.com/v1"
    if location in ("us", "eu"):
        return f"https://aiplatform.{location}.rep.googleapis.com/v1"
    return f"https://{location}-aiplatform.googleapis.com/v1"
