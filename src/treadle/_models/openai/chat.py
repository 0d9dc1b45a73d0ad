"""OpenAI's chat completions API, which many other servers offer too."""

from __future__ import annotations

from functools import cached_property

from treadle._models.http_model import HttpModel, Reader
from treadle._models.media import COMPATIBLE_CHAT, OPENAI_CHAT, MediaForms
from treadle._models.openai.chat_reader import ChatReader
from treadle._models.openai.chat_wire import ChatWriter
from treadle._models.transport.wire import encoded_messages
from treadle._types.request import Request


class OpenAIModel(HttpModel):
    """`OpenAIModel("gpt-4o")`, or a compatible server: `OpenAIModel("my-model",
    base_url="http://localhost:8000/v1")`."""

    path = "/chat/completions"
    default_provider = "openai"

    @property
    def media(self) -> MediaForms:  # pyright: ignore[reportIncompatibleVariableOverride]
        own = self._connection.base_url.rstrip("/") == self._provider.base_url.rstrip("/")
        return OPENAI_CHAT if own and not self._connection.local else COMPATIBLE_CHAT

    @cached_property
    def _writer(self) -> ChatWriter:
        return ChatWriter(self._name, self._provider, self._profile, self._extra)

    def _body(self, request: Request, streaming: bool) -> bytes:
        return self._writer.body(request, encoded_messages(request, self, "openai.chat"), streaming)

    def _reader(self, request: Request) -> Reader:
        return ChatReader(self._origin, self._profile)
