"""The wire formats of all adapters, for tests of what each must do (`test_contract.py`): add a `Wire` to `WIRES`."""

from __future__ import annotations

from models.clouds import BedrockKeyWire, BedrockWire, VertexChatWire, VertexClaudeWire, VertexGeminiWire
from models.wires import (
    HOW,
    KEY,
    AnthropicWire,
    ChatWire,
    GeminiWire,
    ResponsesWire,
    Sample,
    Sent,
    Wire,
    event,
    pieces,
)
from treadle._models.anthropic.model import AnthropicModel
from treadle._models.http_model import HttpModel
from treadle._models.openai.chat import OpenAIModel

__all__ = ["HOW", "KEY", "WIRES", "AnthropicWire", "Sample", "Sent", "Wire", "event", "model_for", "pieces"]

WIRES: list[Wire] = [
    ChatWire(),
    AnthropicWire(),
    GeminiWire(),
    ResponsesWire(),
    BedrockWire(),
    BedrockKeyWire(),
    VertexGeminiWire(),
    VertexClaudeWire(),
    VertexChatWire(),
]


def model_for(api: str, url: str, provider: str = "") -> HttpModel:
    """The adapter for the API of a recording."""
    if api == "anthropic.messages":
        return AnthropicModel("recorded", base_url=url, api_key=KEY)
    name = next((key for key in ("deepseek", "mistral", "openrouter", "ollama") if key in provider), "openai")
    return OpenAIModel("recorded", base_url=url, api_key=KEY, provider=name)
