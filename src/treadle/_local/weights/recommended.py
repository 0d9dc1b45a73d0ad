"""Open models worth having, by class of size. The hub says the exact size and hash, and which files there are.

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
    file: str
    """The file that is picked as long as the repository has it."""
    gigabytes: float
    """About; the hub says it exactly before anything is downloaded."""
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
        Choice("qwen3-0.6b", "Qwen/Qwen3-0.6B-GGUF", "Qwen3-0.6B-Q8_0.gguf",
               0.6, 0.6, 32_768, "Apache-2.0", "chatml, thinks", TINY),
        Choice("qwen3.5-0.8b", "unsloth/Qwen3.5-0.8B-GGUF", "Qwen3.5-0.8B-Q4_K_M.gguf",
               0.5, 0.8, 262_144, "Apache-2.0", "chatml, thinks", TINY),
        Choice("gemma-3-1b", "ggml-org/gemma-3-1b-it-GGUF", "gemma-3-1b-it-Q4_K_M.gguf",
               0.8, 1.0, 32_768, "Gemma terms", "gemma", TINY),
        Choice("lfm2.5-1.2b", "LiquidAI/LFM2.5-1.2B-Instruct-GGUF", "LFM2.5-1.2B-Instruct-Q4_K_M.gguf",
               0.7, 1.2, 32_768, "LFM 1.0", "chatml", TINY),
        Choice("llama-3.2-1b", "bartowski/Llama-3.2-1B-Instruct-GGUF", "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
               0.8, 1.2, 131_072, "Llama 3.2", "llama 3", TINY),
        Choice("qwen3-1.7b", "Qwen/Qwen3-1.7B-GGUF", "Qwen3-1.7B-Q8_0.gguf",
               1.8, 1.7, 32_768, "Apache-2.0", "chatml, thinks", SMALL),
        Choice("qwen3.5-2b", "unsloth/Qwen3.5-2B-GGUF", "Qwen3.5-2B-Q4_K_M.gguf",
               1.3, 2.0, 262_144, "Apache-2.0", "chatml, thinks", SMALL),
        Choice("smollm3-3b", "ggml-org/SmolLM3-3B-GGUF", "SmolLM3-Q4_K_M.gguf",
               1.9, 3.1, 65_536, "Apache-2.0", "chatml, thinks", SMALL),
        Choice("llama-3.2-3b", "bartowski/Llama-3.2-3B-Instruct-GGUF", "Llama-3.2-3B-Instruct-Q4_K_M.gguf",
               2.0, 3.2, 131_072, "Llama 3.2", "llama 3", SMALL),
        Choice("ministral-3-3b", "mistralai/Ministral-3-3B-Instruct-2512-GGUF",
               "Ministral-3-3B-Instruct-2512-Q4_K_M.gguf",
               2.1, 3.4, 262_144, "Apache-2.0", "mistral", SMALL),
        Choice("granite-4.0-micro", "ibm-granite/granite-4.0-micro-GGUF", "granite-4.0-micro-Q4_K_M.gguf",
               2.1, 3.4, 131_072, "Apache-2.0", "granite", SMALL),
        Choice("phi-4-mini", "unsloth/Phi-4-mini-instruct-GGUF", "Phi-4-mini-instruct-Q4_K_M.gguf",
               2.5, 3.8, 131_072, "MIT", "phi 4", SMALL),
        Choice("qwen3-4b", "Qwen/Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf",
               2.5, 4.0, 32_768, "Apache-2.0", "chatml, thinks", MEDIUM),
        Choice("qwen3.5-4b", "unsloth/Qwen3.5-4B-GGUF", "Qwen3.5-4B-Q4_K_M.gguf",
               2.7, 4.0, 262_144, "Apache-2.0", "chatml, thinks", MEDIUM),
        Choice("gemma-3-4b", "ggml-org/gemma-3-4b-it-GGUF", "gemma-3-4b-it-Q4_K_M.gguf",
               2.5, 4.0, 131_072, "Gemma terms", "gemma", MEDIUM),
        Choice("gemma-4-e2b", "ggml-org/gemma-4-E2B-it-GGUF", "gemma-4-E2B-it-Q4_K_M.gguf",
               3.4, 5.1, 131_072, "see its card", "gemma 4", MEDIUM),
        Choice("gemma-4-e4b", "ggml-org/gemma-4-E4B-it-GGUF", "gemma-4-E4B-it-Q4_K_M.gguf",
               5.0, 8.0, 131_072, "see its card", "gemma 4", MEDIUM),
        Choice("qwen3-8b", "Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf",
               5.0, 8.2, 32_768, "Apache-2.0", "chatml, thinks", MEDIUM),
        Choice("ministral-3-8b", "mistralai/Ministral-3-8B-Instruct-2512-GGUF",
               "Ministral-3-8B-Instruct-2512-Q4_K_M.gguf",
               5.2, 8.4, 262_144, "Apache-2.0", "mistral", MEDIUM),
    )
}  # fmt: skip
