"""OpenAI's Responses API, which its newest models need for tools and thoughts together."""

from __future__ import annotations

from functools import cached_property

from treadle._models.openai.responses_reader import ResponsesReader
from treadle._models.openai.responses_wire import API, ResponsesWriter
from treadle._models.transport.adapter import HttpModel, Reader
from treadle._models.transport.wire import encoded
from treadle._types.request import Request


class ResponsesModel(HttpModel):
    """`ResponsesModel("gpt-5.4")`. How hard to think comes by `extra_body={"reasoning": {"effort": "low"}}`."""

    path = "/responses"
    default_provider = "openai-responses"

    @cached_property
    def _writer(self) -> ResponsesWriter:
        return ResponsesWriter(self._name, self._profile, self._extra)

    def _body(self, request: Request, streaming: bool) -> bytes:
        return self._writer.body(request, encoded(request, self, API), streaming)

    def _reader(self, request: Request) -> Reader:
        return ResponsesReader(self._origin, self._profile, self._name)
