"""How programmers name tools: in one style or another, with or without a prefix."""

from __future__ import annotations

import random
from collections.abc import Callable

from training.worlds import words as w

Style = Callable[[str], str]
PREFIXES = ("api", "crm", "erp", "app", "db", "my", "svc", "v2", "company", "internal", "mcp", "tool")


def _camel(name: str) -> str:
    first, *rest = _parts(name)
    return first + "".join(part.capitalize() for part in rest)


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in _parts(name))


def _parts(name: str) -> list[str]:
    return [part for part in name.replace("-", "_").split("_") if part]


def style(r: random.Random) -> Style:
    """Mostly as it is: the names of functions in Python."""
    choice = r.random()
    if choice < 0.66:
        return lambda name: name
    if choice < 0.8:
        return _camel
    if choice < 0.86:
        return lambda name: "-".join(_parts(name))
    if choice < 0.9:
        return _pascal
    prefix = r.choice(PREFIXES)
    joint = r.choice(("_", "__", "-"))
    return lambda name: f"{prefix}{joint}{name}"[:64]


def styled(r: random.Random, name: str) -> str:
    return style(r)(name)


def a(noun: str) -> str:
    """With its article."""
    return f"an {noun}" if w.snake(noun)[:1] in "aeio" or noun.startswith("umb") else f"a {noun}"
