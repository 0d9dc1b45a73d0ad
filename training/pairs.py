"""What a model did right and wrong at the same place, side by side: pairs to learn a preference from.

A script says what is right there. A model that was trained on scripts alone never saw what it does wrong itself.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from training.mistakes import agrees, step_of
from training.render import Conversation
from training.scenario import Act, Say, Step


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
    read = [(text, is_right(step_of(text), target)) for text in said]
    wrong = Counter(text for text, fits in read if fits is False)
    if not wrong:
        return None
    right = [text for text, fits in read if fits]
    most = max(wrong.values())
    chosen = r.choice([text for text, count in wrong.items() if count == most])
    return Pair(place.kind, place.prompt, r.choice(right) if right else place.reply, chosen)


def is_right(said: Step | None, target: Step) -> bool | None:
    """None: nobody can tell here."""
    if isinstance(said, Say) and isinstance(target, Say) and agrees(said, target):
        return _same_names(said.text, target.text)
    if agrees(said, target):
        return True
    if isinstance(said, Act) and isinstance(target, Act) and said.tool == target.tool:
        return None if _only_other_words(said.args, target.args) else False
    return False


def _same_names(said: str, target: str) -> bool | None:
    """Whether an answer names what it should. With a name too many or too few it may be right in other words; one in
    place of another is not."""
    missing, added = _names(target) - _words(said), _names(said) - _words(target)
    if not missing:
        return None if added else True
    return False if added else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _names(text: str) -> set[str]:
    """Words with a capital letter that do not begin a sentence."""
    return set(re.findall(r"(?<=[^.!?:\s] )[\"'(]*([A-Z]\w+)", text))


def _only_other_words(said: dict[str, Any], target: dict[str, Any]) -> bool:
    """An argument in other words may be as good."""
    other = [key for key in said.keys() | target.keys() if said.get(key) != target.get(key)]
    return all(
        isinstance(said.get(key), str) and isinstance(target.get(key), str) and " " in said[key] and " " in target[key]
        for key in other
    )
