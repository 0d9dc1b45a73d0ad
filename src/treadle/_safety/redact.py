"""Removes secrets from what enters a run's state, so that neither the log, nor the model, nor a reader sees them.

Most texts hold none. Searching for each secret with `in` costs 2 us for 400 characters and 37 us for 12 000; one
compiled regular expression for all of them costs 27 to 80 us and 840 to 2 400 us. So expressions only run on texts that
contain their mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeVar, cast

import msgspec

from treadle._safety.key_shapes import SHAPES, begins_at, keys_in, may_hold_key
from treadle._safety.secrets import environment_secrets
from treadle._types.errors import ConfigError

T = TypeVar("T")

_SHORTEST_GIVEN = 4
_LETTERS = "0123456789CDEFGHIJKLMNOPQRSTUVWXYZacdfijklmopqtuvwyz"
_WHOLE_PREFIXES = 64
"""Of a longer secret (a key file, say) not every beginning is kept; see `Redactor.open_from`."""


def _marks_by_part() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The marks by a part that several of them share: a text is searched for these few parts, and rarely for more."""
    by_part: dict[str, list[str]] = {}
    for shape in SHAPES:
        for mark in shape.marks:
            common = next((part for part in ("-", "gh", "AI", "IA", "yJ") if part in mark), mark)
            by_part.setdefault(common, []).append(mark)
    return tuple((part, tuple(marks)) for part, marks in by_part.items())


_MARKS_BY_PART = _marks_by_part()


class Redactor:
    """Replaces secrets by `[redacted:NAME]`.

    Secrets are: what `environment_secrets` finds in `env` (by default the environment of this process); those given,
    with names or without; and texts in the format of well-known keys.
    """

    def __init__(
        self, secrets: Iterable[str | tuple[str, str]] | Mapping[str, str] = (), *, env: Mapping[str, str] | None = None
    ) -> None:
        """`secrets` are values, or pairs of a name and a value."""
        pairs = (
            cast(Mapping[str, str], secrets).items()
            if isinstance(secrets, Mapping)
            else ((item if isinstance(item, tuple) else ("secret", item)) for item in secrets)
        )
        named = environment_secrets(os.environ if env is None else env)
        for name, value in pairs:
            if len(value) < _SHORTEST_GIVEN:
                raise ConfigError(
                    f"the secret {name!r} is shorter than {_SHORTEST_GIVEN} characters, "
                    "so it would be replaced inside ordinary words: give a longer one"
                )
            named[value] = name
        for value, name in list(named.items()):
            for form in _escaped(value):
                named.setdefault(form, name)
        # Longest first: one secret may be part of another.
        self._secrets = sorted(
            ((value, f"[redacted:{name}]") for value, name in named.items()), key=lambda item: -len(item[0])
        )

        self._values = tuple(named)
        self._beginnings: set[str] | None = None
        self._long: list[str] = []

    def suspects(self, data: str) -> bool:
        """Return whether a JSON text may contain a secret: the value of one, or the mark of a well-known key.

        A text, not its bytes: before it searches bytes, Python 3.11 makes an error of what is no number, and drops it.
        """
        for value in self._values:
            if value in data:
                return True
        for part, marks in _MARKS_BY_PART:
            if part in data:
                for mark in marks:  # not any(): a generator would cost more than the search
                    if mark in data:
                        return True
        return False

    def text(self, text: str) -> str:
        for secret, marker in self._secrets:
            if secret in text:
                text = text.replace(secret, marker)
        for shape in SHAPES:
            for mark in shape.marks:
                if mark in text:
                    text = shape.expression.sub(f"[redacted:{shape.name}]", text)
                    break
        return text

    def open_from(self, text: str) -> int:
        """Return where a secret may start that later characters complete or lengthen; the text's length if none does.

        No complete secret lies across this position.
        """
        blank = text
        for secret, _ in self._secrets:
            if secret in blank:
                blank = blank.replace(secret, " " * len(secret))
        views = [blank]
        if any(mark in blank for shape in SHAPES for mark in shape.marks):
            views.append(_without_keys(blank))
        start = min(map(begins_at, views))
        if beginnings := self._all_beginnings():
            for size in range(min(len(text), _WHOLE_PREFIXES), len(text) - start, -1):
                if text[-size:] in beginnings:
                    start = len(text) - size
                    break
        for value in self._long:
            position = text.find(value[:_WHOLE_PREFIXES])
            while 0 <= position < start:
                if value.startswith(text[position:]):
                    start = position
                position = text.find(value[:_WHOLE_PREFIXES], position + 1)
        return self._before_complete(text, views, start) if start < len(text) else start

    def is_plain(self, text: str) -> bool:
        """Return whether a short text neither contains a secret nor ends in the beginning of one."""
        if self._secrets:
            for value, _ in self._secrets:
                if value in text:
                    return False
            beginnings = self._all_beginnings()
            for size in range(1, min(len(text), _WHOLE_PREFIXES) + 1):
                if text[-size:] in beginnings:
                    return False
            for value in self._long:
                if value[:_WHOLE_PREFIXES] in text:
                    return False
        return not may_hold_key(text)

    def _all_beginnings(self) -> set[str]:
        if self._beginnings is None:
            self._beginnings = {
                value[:size] for value, _ in self._secrets for size in range(1, min(len(value), _WHOLE_PREFIXES + 1))
            }
            self._long = [value for value, _ in self._secrets if len(value) > _WHOLE_PREFIXES]
        return self._beginnings

    @cached_property
    def neutral(self) -> str:
        """A letter or digit with which no secret begins."""
        begun = {value[0] for value, _ in self._secrets} | set("srAgxhneBb")
        return next((letter for letter in _LETTERS if letter not in begun), "")

    @cached_property
    def neutral_escape(self) -> str:
        """An escaped line end with which no secret begins."""
        begun = {value[0] for value, _ in self._secrets}
        return next((f"\\{letter}" for letter in "tf" if letter not in begun and "\\" not in begun), "")

    @property
    def longest(self) -> int:
        """The length of the longest secret."""
        return len(self._secrets[0][0]) if self._secrets else 0

    def _before_complete(self, text: str, views: list[str], start: int) -> int:
        """Move `start` before any complete secret that lies across it; `views` are the text without other secrets."""
        moved = True
        while moved and start:
            moved = False
            for value, _ in self._secrets:
                position = text.find(value, max(0, start - len(value) + 1), start + len(value) - 1)
                if 0 <= position < start:
                    start, moved = position, True
            for begin, end in (key for view in views for key in keys_in(view)):
                if begin < start < end:
                    start, moved = begin, True
        return start

    def tree(self, value: T) -> T:
        """Redact a string, a struct, or a collection of such; return the same object if it has no secrets."""
        from treadle._safety.tree import binary_field, rewritten  # for the few values that have one

        return rewritten(value, self.text, binary_field)


def _escaped(value: str) -> list[str]:
    """Return the forms of a text in JSON and in JSON within JSON (the arguments of a call).

    Quotes and line ends are escaped, and, as many programs do it, everything that is not ASCII.
    """
    if value.isascii() and value.isalnum():
        return []
    import json  # only for the few that need it

    once = {msgspec.json.encode(value).decode()[1:-1], json.dumps(value)[1:-1]}
    twice = {json.dumps(form, ensure_ascii=False)[1:-1] for form in once}
    return sorted({*once, *twice} - {value})


def _without_keys(text: str) -> str:
    """Replace complete keys by blanks, so that the text after a key begins a word, as it does after a marker."""
    for shape in SHAPES:
        if any(mark in text for mark in shape.marks):
            text = shape.expression.sub(lambda key: key[0] if key.end() == len(key.string) else " " * len(key[0]), text)
    return text
