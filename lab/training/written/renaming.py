"""Other names for the tools of a world: what a tool is called must not be what is learnt by heart.

The tasks of a world are few and its names always the same, so a model can learn which name goes with which question. A
tool that it has never seen has to be chosen by what its name and its description mean.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

ALIKE = (
    ("get", "fetch", "read", "show", "retrieve"),
    ("find", "search", "lookup"),
    ("list", "show", "get"),
    ("add", "create", "make"),
    ("update", "change", "edit"),
    ("check", "verify"),
)
"""First words of names that say the same."""
STYLES = ("snake", "snake", "camel", "pascal", "kebab")
BARE = 0.12
"""Part of the worlds in which a name says nothing, and the description everything."""


def other_names(r: random.Random, tools: Sequence[str], parameters: Sequence[str]) -> dict[str, str]:
    """Names and what takes their place. One of a single word stays: the word may mean something else elsewhere."""
    style, bare = r.choice(STYLES), r.random() < BARE
    others: dict[str, str] = {}
    for place, name in enumerate(tools):
        if len(words := _words(name)) > 1:
            others[name] = f"tool_{place + 1}" if bare else _styled(_said_otherwise(r, words), style)
    for name in parameters:
        if len(words := _words(name)) > 1 and name not in others:
            others[name] = _styled(words, "camel" if style in ("camel", "pascal") else "snake")
    everything = {*tools, *parameters}
    made = [others.get(name, name) for name in sorted(everything)]
    return others if len(set(made)) == len(everything) else {}


def with_names(text: str, others: dict[str, str]) -> str:
    """The text with the other names in every place, so in descriptions, results and errors as well."""
    if not others:
        return text
    names = "|".join(map(re.escape, sorted(others, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda found: others[found[0]], text)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def _said_otherwise(r: random.Random, words: list[str]) -> list[str]:
    if same := [group for group in ALIKE if words[0] in group]:
        return [r.choice(r.choice(same)), *words[1:]]
    return ["get", *words] if r.random() < 0.3 else words


def _styled(words: list[str], style: str) -> str:
    if style in ("snake", "kebab"):
        return ("_" if style == "snake" else "-").join(words)
    joined = "".join(word.capitalize() for word in words)
    return joined if style == "pascal" else joined[0].lower() + joined[1:]
