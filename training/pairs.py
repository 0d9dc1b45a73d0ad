"""What a model did right and wrong at the same place, side by side: pairs to learn a preference from.

A script says what is right there. A model that was trained on scripts alone never saw what it does wrong itself.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from training.mistakes import agrees, step_of
from training.render import Conversation
from training.scenario import Act, Step


class Place(NamedTuple):
    """A turn at which a model can be asked, and what the script does there."""

    kind: str
    prompt: str
    reply: str


class Pair(NamedTuple):
    kind: str
    prompt: str
    right: str
    wrong: str


def places(conversations: Iterable[Conversation]) -> list[Place]:
    return [Place(one.kind, turn.prompt, turn.reply) for one in conversations for turn in one.turns if turn.trained]


def pair(r: random.Random, place: Place, said: Sequence[str]) -> Pair | None:
    """The wrong thing that the model says most often, and its own right one, or else the script's; None where nothing
    is certainly wrong."""
    target = step_of(place.reply)
    if target is None:
        return None
    read = [(text, step_of(text)) for text in said]
    wrong = Counter(text for text, step in read if step is None or _is_wrong(step, target))
    if not wrong:
        return None
    right = [text for text, step in read if agrees(step, target)]
    most = max(wrong.values())
    chosen = r.choice([text for text, count in wrong.items() if count == most])
    return Pair(place.kind, place.prompt, r.choice(right) if right else place.reply, chosen)


def _is_wrong(said: Step, target: Step) -> bool:
    """An argument in other words may be as good: whether it is, nobody can tell here."""
    if agrees(said, target):
        return False
    if isinstance(said, Act) and isinstance(target, Act) and said.tool == target.tool:
        return not _only_other_words(said.args, target.args)
    return True


def _only_other_words(said: dict[str, Any], target: dict[str, Any]) -> bool:
    other = [key for key in said.keys() | target.keys() if said.get(key) != target.get(key)]
    return all(
        isinstance(said.get(key), str) and isinstance(target.get(key), str) and " " in said[key] and " " in target[key]
        for key in other
    )
