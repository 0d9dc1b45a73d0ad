"""OpenAI's Responses API, which its newest models need for tools together with reasoning."""

from __future__ import annotations

import re

from treadle._models.http_model import HttpModel
from treadle._models.media import RESPONSES
from treadle._models.openai.responses_reader import ResponsesReader
from treadle._models.openai.responses_wire import API, ResponsesWriter


class ResponsesModel(HttpModel):
    """`ResponsesModel("gpt-5.4", extra_body={"reasoning": {"effort": "low"}})`."""

    path = "/responses"
    api = API
    writer = ResponsesWriter
    reader = ResponsesReader
    default_provider = "openai-responses"
    media = RESPONSES
    provider_tool_forms = {
        "web_search": {"type": "web_search"},
        "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
        "image_generation": {"type": "image_generation"},
    }

    @property
    def searches_tools(self) -> bool:
        """True when its API can search deferred tools: since gpt-5.4, the smallest aside."""
        version = re.search(r"gpt-(\d+)(?:\.(\d+))?", self._name)
        return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4) and "nano" not in self._name
