"""Open models worth having, by class of size. Facts from their publishers' cards; the hub says the exact size and hash.

What a class can do is what was measured here with models of that class (`docs/local_models.md`), not a promise about
each model.
"""

from __future__ import annotations

from msgspec import Struct

TINY = "short questions with one or two tools, guided by a schema; rarely sees that no tool is needed"
SMALL = "one tool out of five, two steps in a row; keep results short"
MEDIUM = "several tools and steps with native calls; plans are better left to a larger one"


class Choice(Struct, frozen=True):
    """A model of the hub under a short name."""

    name: str
    repo: str
    billions: float
    window: int
    licence: str
    template: str
    can: str

    @property
    def source(self) -> str:
        return f"hf:{self.repo}"


CHOICES = {
    choice.name: choice
    for choice in (
        Choice("qwen3-0.6b", "Qwen/Qwen3-0.6B-GGUF", 0.6, 32_768, "Apache-2.0", "chatml, thinks", TINY),
        Choice("lfm2.5-1.2b", "LiquidAI/LFM2.5-1.2B-Instruct-GGUF", 1.2, 32_768, "LFM 1.0", "chatml", TINY),
        Choice("gemma-3-1b", "ggml-org/gemma-3-1b-it-GGUF", 1.0, 32_768, "Gemma terms", "gemma", TINY),
        Choice("llama-3.2-1b", "bartowski/Llama-3.2-1B-Instruct-GGUF", 1.2, 131_072, "Llama 3.2", "llama 3", TINY),
        Choice("qwen3-1.7b", "Qwen/Qwen3-1.7B-GGUF", 1.7, 32_768, "Apache-2.0", "chatml, thinks", SMALL),
        Choice("smollm3-3b", "ggml-org/SmolLM3-3B-GGUF", 3.1, 65_536, "Apache-2.0", "chatml, thinks", SMALL),
        Choice("granite-4.0-micro", "ibm-granite/granite-4.0-micro-GGUF", 3.4, 131_072, "Apache-2.0", "granite", SMALL),
        Choice("llama-3.2-3b", "bartowski/Llama-3.2-3B-Instruct-GGUF", 3.2, 131_072, "Llama 3.2", "llama 3", SMALL),
        Choice("phi-4-mini", "unsloth/Phi-4-mini-instruct-GGUF", 3.8, 131_072, "MIT", "phi 4", SMALL),
        Choice("qwen3-4b", "Qwen/Qwen3-4B-GGUF", 4.0, 32_768, "Apache-2.0", "chatml, thinks", MEDIUM),
        Choice("gemma-3-4b", "ggml-org/gemma-3-4b-it-GGUF", 4.0, 131_072, "Gemma terms", "gemma", MEDIUM),
        Choice("qwen3-8b", "Qwen/Qwen3-8B-GGUF", 8.2, 32_768, "Apache-2.0", "chatml, thinks", MEDIUM),
    )
}  # fmt: skip
