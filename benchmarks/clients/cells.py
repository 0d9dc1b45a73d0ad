"""What every client program here does with its cells: run each, and say what came of it, as a line of JSON."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

ADDRESS, TOKEN = sys.argv[1:3]
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one red pixel
)
CELLS = ("answer", "stream", "client_tool", "parallel", "typed", "image", "error", "retry", "abort")
PARAMETERS = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
ASK = "2+3?"
LOOK = "Look left, please."
LOOK_TWICE = "Look both ways, please."
DATA = "2+3, as data?"
SEE = "What is in the picture?"
BROKEN = "This is broken."
FLAKY = "Flaky: 2+3?"
SLOW = "Slowly: 2+3?"
FIVE, CAT, BOTH, SEEN = "It is 5.", "I see a cat.", "I see a cat and a cat.", "I see a picture."


def same(said: Any, wanted: Any) -> None:
    assert said == wanted, f"{said!r} instead of {wanted!r}"


def refused(error: Exception) -> None:
    """What the client raised says why."""
    assert "cannot be done" in str(error), f"no reason in: {type(error).__name__}: {str(error)[:300]}"


def cells(client: str, packages: list[str], *functions: Callable[[], Any]) -> None:
    """Run them in order; a function may be async. Nothing that one does stops another."""
    versions = " ".join(f"{name} {version(name)}" for name in packages)
    for function in functions:
        said = "yes"
        try:
            if inspect.iscoroutinefunction(function):
                asyncio.run(asyncio.wait_for(function(), 60))
            else:
                function()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"[:600]
        print(json.dumps([client, versions, function.__name__, said]), flush=True)
