"""Anthropic's Messages API."""

from __future__ import annotations

from functools import cached_property

from treadle._models.anthropic.reader import MessagesReader
from treadle._models.anthropic.wire import API, MessagesWriter
from treadle._models.transport.adapter import HttpModel
from treadle._models.transport.wire import encoded
from treadle._types.request import Request

MAX_INSTALMENTS = 10
"""How often a paused turn is taken up again before the pause is handed to the caller."""


class AnthropicModel(HttpModel):
    """`AnthropicModel("claude-sonnet-4-5")`. Thinking is asked for by `extra_body={"thinking": {...}}`.

    Turns the provider pauses are taken up again inside one call.
    """

    default_provider = "anthropic"

    @cached_property
    def _writer(self) -> MessagesWriter:
        return MessagesWriter(self._name, self._profile, self._extra)

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
