"""Says plainly that something cannot be told or done, before it says why.

"I see the creatives, but not who was paid for them" leaves the reader to find the refusal in it. Half of the refusals
were written so, and a model that learns from them sounds as if it had answered."""

from __future__ import annotations

import random
import re

_PLAIN = re.compile(
    r"\b(?:can't|cannot|can not|couldn't|could not|unable|not able|none of|nothing|have no"
    r"|no (?:\w+ )?(?:tool|way|access)"
    r"|(?:don't|do not|doesn't|does not) (?:\w+ )?(?:have|know|tell|show|see|cover|keep|record|list|say))\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\?|^(?:who|what|which|when|where|how|why|whose|is|are|does|did|do)\b", re.IGNORECASE)
OF_A_QUESTION = (
    "I can't tell you that.",
    "I'm sorry, I can't tell you that.",
    "I don't know that.",
    "Sorry, I can't find that out.",
    "I cannot tell.",
    "I'm afraid I can't answer that.",
)
OF_A_WISH = (
    "I'm sorry, I can't help with that.",
    "I can't do that, I'm afraid.",
    "Sorry, I can't.",
    "I cannot do that.",
)
"""Fit for what is wanted done, and for half a sentence that asks for something."""


def plainly(r: random.Random, question: str, answer: str) -> str:
    """The answer with a plain refusal before it, unless it has one or asks back."""
    if _PLAIN.search(answer) or answer.rstrip().endswith("?"):
        return answer
    return f"{r.choice(OF_A_QUESTION if _ASKED.search(question) else OF_A_WISH)} {answer}"
