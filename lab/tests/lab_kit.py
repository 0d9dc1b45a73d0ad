"""Conversations as the generator makes them, made once."""

from __future__ import annotations

import asyncio
import functools
import re
from pathlib import Path

from training import build
from training.render import Conversation

LAB = Path(__file__).resolve().parents[1]

NUMBER = re.compile(r"\d+(?:\.\d+)?")


@functools.cache
def conversations(scale: float = 0.02, seed: int = 4) -> tuple[list[Conversation], dict[str, int]]:
    """With the names of those that the engine did not take."""
    dropped: dict[str, int] = {}

    async def gather() -> list[Conversation]:
        return [one async for one in build.conversations(scale, seed, None, dropped)]

    return asyncio.run(gather()), dropped


def said(prompt: str) -> str:
    """What a model sees behind the instructions and tools: questions, results, its own words."""
    return prompt.partition("<|im_end|>")[2]
