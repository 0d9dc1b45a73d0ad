"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.models.adapter import HttpModel
from treadle.models.anthropic_reader import MessagesReader
from treadle.models.anthropic_wire import API, MessagesWriter
from treadle.models.http import Timeouts
from treadle.models.providers import Provider
from treadle.models.wire import encoded
from treadle.types.profile import Profile
from treadle.types.request import Request

MAX_INSTALMENTS = 10
"""How often a paused turn is taken up again before the pause is handed to the caller."""


class AnthropicModel(HttpModel):
    """`AnthropicModel("claude-sonnet-4-5")`. Thinking is asked for by `extra_body={"thinking": {...}}`.

    The stable part of every prompt is marked for the provider's cache unless `cache_prompt` is off. Turns the provider
    pauses are taken up again inside one call.
    """

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
        provider: str | Provider = "anthropic",
        max_concurrency: int | None = None,
        cache_prompt: bool = True,
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
        self._writer = MessagesWriter(name, self._profile, self._extra, cache_prompt)

    def _path(self, streaming: bool) -> str:
        # Others who speak this protocol give their address without the version, as the provider's own kits do.
        return "/messages" if self._connection.base_url.endswith("/v1") else "/v1/messages"

    def _body(self, request: Request, streaming: bool) -> bytes:
        return self._writer.body(request, encoded(request, self, API), streaming)

    def _reader(self, request: Request) -> MessagesReader:
        return MessagesReader(self._origin, self._profile, self._name)

    def _go_on(self, request: Request, streaming: bool, reader: MessagesReader) -> bytes | None:
        if not reader.paused or reader.instalments >= MAX_INSTALMENTS:
            return None
        return self._writer.body(request, encoded(request, self, API), streaming, reader.go_on(), reader.container)
