"""OpenAI's chat completions, and every server that speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.models.adapter import HttpModel, Reader
from treadle.models.http import Timeouts
from treadle.models.openai_reader import ChatReader
from treadle.models.openai_wire import ChatWriter
from treadle.models.providers import Provider
from treadle.models.wire import encoded
from treadle.types.profile import Profile
from treadle.types.request import Request


class OpenAIModel(HttpModel):
    """`OpenAIModel("gpt-4o")`, or any compatible server: `OpenAIModel("my-model", base_url="http://localhost:8000/v1")`.

    The key is `api_key` or the provider's variable (`OPENAI_API_KEY` ...); a server on this machine gets none unless one
    is passed. `abilities` overrides what the table of models says; `extra_body` is added to every request as it is.
    """

    path = "/chat/completions"

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
        provider: str | Provider = "openai",
        max_concurrency: int | None = None,
    ) -> None:
        super().__init__(
            name,
            provider=provider,
            base_url=base_url,
            api_key=api_key,
            abilities=abilities,
            profile=profile,
            headers=headers,
            timeout=timeout,
            extra_body=extra_body,
            max_concurrency=max_concurrency,
        )
        self._writer = ChatWriter(name, self._provider, self._profile, self._extra)

    def _body(self, request: Request, streaming: bool) -> bytes:
        return self._writer.body(request, encoded(request, self, "openai.chat"), streaming)

    def _reader(self, request: Request) -> Reader:
        return ChatReader(self._origin, self._profile)
