"""Anthropic's Messages API."""

from __future__ import annotations

import re

from treadle._models.anthropic.reader import MessagesReader
from treadle._models.anthropic.wire import API, MessagesWriter
from treadle._models.http_model import HttpModel
from treadle._models.media import ANTHROPIC
from treadle._models.transport.http import Endpoint
from treadle._models.transport.wire import encoded_messages
from treadle._types.request import Request

MAX_CONTINUATIONS = 9
"""How often a paused turn is continued before the pause is returned to the caller."""


_FILES = "files-api-2025-04-14"
_BETA = {"web_fetch_20250910": "web-fetch-2025-09-10", "code_execution_20250825": "code-execution-2025-08-25"}
"""What has to be asked for in a header before these tools can be declared."""


class AnthropicModel(HttpModel):
    """`AnthropicModel("claude-sonnet-4-5", extra_body={"thinking": {...}})`.

    Turns that the provider pauses are continued inside one call.
    """

    api = API
    writer = MessagesWriter
    reader = MessagesReader
    default_provider = "anthropic"
    media = ANTHROPIC
    provider_tool_forms = {
        "web_search": {"type": "web_search_20250305", "name": "web_search"},
        "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
        "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
    }

    @property
    def searches_tools(self) -> bool:
        """True when its API can search deferred tools."""
        return re.search(r"claude-(?:[123]\b|instant|haiku-4)", self._name) is None and "claude" in self._name

    def _endpoint(self, streaming: bool) -> Endpoint:
        # Named in every request: a message may refer to a file that was uploaded there.
        kinds = {tool.get("type") for tool in self._provider_tools}
        features = [_FILES, *(feature for kind, feature in _BETA.items() if kind in kinds)]
        endpoint = super()._endpoint(streaming)
        if "anthropic-beta" not in endpoint.headers:
            endpoint.headers = {**endpoint.headers, "anthropic-beta": ",".join(features)}
        return endpoint

    def _path(self, streaming: bool) -> str:
        # Other servers with this protocol give their address without the version, as Anthropic's SDKs do.
        return "/messages" if self._connection.base_url.endswith("/v1") else "/v1/messages"

    def _continuation_body(self, request: Request, streaming: bool, reader: MessagesReader) -> bytes | None:
        if not reader.paused or reader.continuations >= MAX_CONTINUATIONS:
            return None
        messages = encoded_messages(request, self, API)
        return self._writer.body(request, messages, streaming, reader.start_continuation(), reader.container)
