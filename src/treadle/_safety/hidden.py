"""Detect characters that a model reads but a person does not see, sees in another order, or takes for others.

Whoever accepts a text must be able to see all of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

_HIDDEN = re.compile(r"[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
"""Tags, which spell out letters that no screen shows, and marks that turn the direction of a text around."""
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f")
"""The flags of England, Scotland and Wales are written with tags."""


def hidden_text(text: str) -> str:
    """Describe the first invisible character of a text; return an empty string if it has none."""
    match = _HIDDEN.search(_FLAG.sub(lambda flag: " " * len(flag[0]), text))
    if match is None:
        return ""
    line = text.count("\n", 0, match.start()) + 1
    return (
        f"line {line} has a character that nobody sees (U+{ord(match[0]):04X}): whoever accepts it must see all of it"
    )


_TOKEN = re.compile(r"[^ \n\t]+")
_UNSEEN = ("Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp", "Zs")
"""Categories of characters without a picture of their own."""
_MOST = 5


def visible(text: str) -> str:
    """Write out every character that is not seen (`a<U+200B>b`), and every letter that looks like one of another
    script beside which it stands. What has none of them stays as it is."""
    if text.isascii() and text.isprintable():
        return text
    return _TOKEN.sub(lambda token: _spelled(token[0]), text)


def unseen_in(args: Mapping[str, Any]) -> str:
    """Return the values of a call that do not say what they seem to say, written out; empty when there are none."""
    shown = [f"{visible(name)} is {visible(text)[:200]!r}" for name, text in _texts("", args) if visible(text) != text]
    return f"it has characters that look like others or like nothing: {'; '.join(shown[:_MOST])}" if shown else ""


def _spelled(token: str) -> str:
    latin = any(char.isascii() and char.isalpha() for char in token)
    odd = [_is_unseen(char) or (latin and _is_foreign(char)) for char in token]
    return "".join(f"<U+{ord(char):04X}>" if strange else char for char, strange in zip(token, odd, strict=True))


def _is_unseen(char: str) -> bool:
    return not char.isprintable() if char.isascii() else unicodedata.category(char) in _UNSEEN


def _is_foreign(char: str) -> bool:
    """Return whether it is no Latin letter, sign or digit although it may look like one."""
    if char.isascii() or not char.isalnum():
        return False
    return not unicodedata.name(char, "").startswith("LATIN ")


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in cast("Mapping[Any, Any]", value).items():
            yield "a name", str(key)
            yield from _texts(str(key), inner)
    elif isinstance(value, list | tuple):
        for inner in cast("list[Any]", value):
            yield from _texts(name, inner)
