"""The number of parameters that a model's name states: `llama-3.2-1b`, `qwen2.5:7b`, `SmolLM2-135M`, `Mixtral-8x7B`."""

from __future__ import annotations

import re

_SIZE = re.compile(
    r"(?<![^\W_])(?<!\d\.)"  # at the start of a word
    r"(?:(?P<experts>\d{1,3})x)?"
    r"(?:(?P<billions>\d{1,4}(?:\.\d{1,3})?)b|(?P<millions>\d{2,4})m)"  # "1m" is the length of a window, never a size
    r"(?![^\W_])",
    re.IGNORECASE,
)


def parameters_in(name: str) -> float | None:
    """Billions of parameters by the largest size in the name (others are of its parts); None without one."""
    sizes = [
        (float(match["billions"]) if match["billions"] else float(match["millions"]) / 1_000)
        * int(match["experts"] or 1)
        for match in _SIZE.finditer(name)
    ]
    return max(sizes, default=0.0) or None
