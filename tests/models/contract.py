"""What every adapter must do, whatever its wire format. An adapter joins by adding a `Wire` to `WIRES`."""

from __future__ import annotations

from treadle.models.adapter import HttpModel
from treadle.models.openai import OpenAIModel

KEY = "contract-key-0815"


def model_for(api: str, url: str, provider: str = "") -> HttpModel:
    """The adapter that a recording was made for."""
    name = next((known for known in ("deepseek", "mistral", "openrouter", "ollama") if known in provider), "openai")
    return OpenAIModel("recorded", base_url=url, api_key=KEY, provider=name)
