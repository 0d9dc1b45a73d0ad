"""OpenAI's chat completions API, which many other servers offer too."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from treadle._lazy import load
from treadle._models.http_model import HttpModel
from treadle._models.media import COMPATIBLE_CHAT, OPENAI_CHAT, MediaForms
from treadle._models.openai.chat_reader import ChatReader
from treadle._models.openai.chat_wire import API, ChatWriter
from treadle._models.transport.decision import decision_point
from treadle._types.request import Request

MAX_TOKENS = 1024
_ENDLESS = "_local.runtime.endless:EndlessText"


class OpenAIModel(HttpModel):
    """`OpenAIModel("gpt-4o")`, or a compatible server: `OpenAIModel("my-model",
    base_url="http://localhost:8000/v1")`."""

    path = "/chat/completions"
    api = API
    reader = ChatReader
    default_provider = "openai"
    asks_server = True

    @property
    def media(self) -> MediaForms:  # pyright: ignore[reportIncompatibleVariableOverride]
        return OPENAI_CHAT if self.at_home and not self._connection.local else COMPATIBLE_CHAT

    @cached_property
    def _writer(self) -> ChatWriter:
        return ChatWriter(self._name, self._server, self._profile, self._extra)

    def _adapt(self) -> None:
        self.__dict__.pop("_writer", None)

    def _with_defaults(self, request: Request) -> Request:
        if not self._as_in_process or request.tools:
            return request
        # What such a model writes by chance is worse, and it may never end: the defaults are those in process.
        return request.replace(
            temperature=0.0 if request.temperature is None else request.temperature,
            max_tokens=request.max_tokens or MAX_TOKENS,
        )

    def _watches(self, request: Request) -> tuple[Any, ...]:
        point = decision_point(request) if request.decision_after and self._profile.logprobs else None
        return point, load(_ENDLESS)() if self._may_be_endless(request) else None

    def _may_be_endless(self, request: Request) -> bool:
        return self._as_in_process and request.format is not None

    @property
    def _as_in_process(self) -> bool:
        return self._server.as_in_process and self._profile.assisted
