"""OpenAI's chat completions, and every server that speaks them."""

from __future__ import annotations

from functools import cached_property

from treadle._models.openai.chat_reader import ChatReader
from treadle._models.openai.chat_wire import ChatWriter
from treadle._models.transport.adapter import HttpModel, Reader
from treadle._models.transport.wire import encoded
from treadle._types.request import Request


class OpenAIModel(HttpModel):
    """`OpenAIModel("gpt-4o")`, or any compatible server: `OpenAIModel("my-model", base_url="http://localhost:8000/v1")`."""

    path = "/chat/completions"
    default_provider = "openai"

    @cached_property
    def _writer(self) -> ChatWriter:
        return ChatWriter(self._name, self._provider, self._profile, self._extra)

    def _body(self, request: Request, streaming: bool) -> bytes:
        return self._writer.body(request, encoded(request, self, "openai.chat"), streaming)

    def _reader(self, request: Request) -> Reader:
        return ChatReader(self._origin, self._profile)
