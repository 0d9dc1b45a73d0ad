"""Google's Gemini models through generateContent."""

from __future__ import annotations

from urllib.parse import quote

from treadle._models.gemini.reader import GeminiReader
from treadle._models.gemini.wire import API, GeminiWriter
from treadle._models.http_model import HttpModel
from treadle._models.media import GEMINI
from treadle._models.transport.wire import encoded_messages
from treadle._types.request import Request

MAX_CONTINUATIONS = 9
"""How often the rest of a long reply is requested before the part that is there is returned to the caller."""


class GeminiModel(HttpModel):
    """`GeminiModel("gemini-2.5-flash", extra_body={...})`: more of `generationConfig`, such as a thinking budget."""

    api = API
    writer = GeminiWriter
    reader = GeminiReader
    default_provider = "gemini"
    media = GEMINI
    provider_tool_forms = {
        "web_search": {"googleSearch": {}},
        "code_execution": {"codeExecution": {}},
        "web_fetch": {"urlContext": {}},
    }

    def _path(self, streaming: bool) -> str:
        method = "streamGenerateContent?alt=sse" if streaming else "generateContent"
        return f"/models/{quote(self._name.removeprefix('models/'))}:{method}"

    def _continuation_body(self, request: Request, streaming: bool, reader: GeminiReader) -> bytes | None:
        if not reader.continuation_token or reader.continuations >= MAX_CONTINUATIONS:
            return None
        messages = encoded_messages(request, self, API)
        return self._writer.body(request, messages, streaming, reader.start_continuation())
