"""Formats of well-known keys: find complete keys in a text, and a key that is cut off at the end of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

LONGEST_OPEN = 8192
"""A stream holds back at most this many characters of a possible key; a longer one is cut there."""


class KeyShape(Struct, frozen=True):
    name: str
    marks: tuple[str, ...]
    """One of them is in every text the expression can match: most texts need no expression."""
    source: str
    begun: str
    """What stands at the end of a text whose next characters could complete a key."""
    before: int = 0
    """How many characters before a key show that it is one."""

    @property
    def expression(self) -> re.Pattern[str]:
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Most processes never see a key of most kinds, so nothing is compiled before it is needed."""
    return re.compile(source, re.DOTALL)


def _prefixes(mark: str, rest: str) -> str:
    """An expression for every beginning of `mark`, or all of it followed by `rest`."""
    expression = rest
    for character in reversed(mark):
        expression = f"{re.escape(character)}(?:{expression})?"
    return expression


def _shape(name: str, marks: tuple[str, ...], expression: str, *begun: str, before: int = 0) -> KeyShape:
    return KeyShape(name, marks, expression, "|".join(begun), before)


_WORD = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a key can begin: not in the middle of a word, but after a line end that is escaped as in JSON."""

SHAPES: tuple[KeyShape, ...] = (
    _shape("api-key", ("sk-",), rf"{_WORD}sk-[A-Za-z0-9_-]{{20,}}", _WORD + _prefixes("sk-", "[A-Za-z0-9_-]*")),
    _shape(
        "api-key",
        ("k_live_", "k_test_"),
        rf"{_WORD}[rs]k_(?:live|test)_[A-Za-z0-9]{{10,}}",
        *(_WORD + _prefixes(f"{a}k_{b}_", "[A-Za-z0-9]*") for a in "rs" for b in ("live", "test")),
    ),
    _shape(
        "aws-key",
        ("AKIA", "ASIA"),
        rf"{_WORD}A[KS]IA[0-9A-Z]{{16}}",
        *(_WORD + _prefixes(mark, "[0-9A-Z]{0,16}") for mark in ("AKIA", "ASIA")),
    ),
    _shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"{_WORD}(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{{30,}}",
        *(_WORD + _prefixes(mark, "[A-Za-z0-9_]*") for mark in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    ),
    _shape(
        "gitlab-token",
        ("glpat-",),
        rf"{_WORD}glpat-[A-Za-z0-9_-]{{20,}}",
        _WORD + _prefixes("glpat-", "[A-Za-z0-9_-]*"),
    ),
    _shape(
        "google-key", ("AIza",), rf"{_WORD}AIza[0-9A-Za-z_-]{{35}}", _WORD + _prefixes("AIza", "[0-9A-Za-z_-]{0,35}")
    ),
    _shape(
        "slack-token",
        ("xox",),
        rf"{_WORD}xox[abeoprs]-[0-9A-Za-z-]{{10,}}",
        *(_WORD + _prefixes(f"xox{kind}-", "[0-9A-Za-z-]*") for kind in "abeoprs"),
    ),
    _shape("hub-token", ("hf_",), rf"{_WORD}hf_[A-Za-z0-9]{{30,}}", _WORD + _prefixes("hf_", "[A-Za-z0-9]*")),
    _shape("npm-token", ("npm_",), rf"{_WORD}npm_[A-Za-z0-9]{{36,}}", _WORD + _prefixes("npm_", "[A-Za-z0-9]*")),
    _shape(
        "web-token",  # a JWT
        ("eyJ",),
        rf"{_WORD}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*",
        _WORD + _prefixes("eyJ", r"[A-Za-z0-9_.-]*"),
    ),
    _shape(
        "bearer-token",
        ("earer ",),
        r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{20,}",
        *(_prefixes(f"{letter}earer ", r"[A-Za-z0-9._~+/=-]*") for letter in "Bb"),
        before=len("Bearer "),
    ),
    _shape(
        "private-key",
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        _prefixes("-----BEGIN ", r"[A-Z ]{0,60}-{0,4}"),
    ),
)


_PEM_BEGIN = r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
_PEM_END = r"-----END [A-Z ]*PRIVATE KEY-----"
_KEY_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/=-"
_LEAD = 96
"""What may stand before a key's own characters and belongs to it: `Bearer `, the head of a key file."""


@cache
def _begun() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(shape.begun for shape in SHAPES)})\Z", re.DOTALL)


@cache
def _suspect() -> re.Pattern[str]:
    marks = "|".join(re.escape(mark) for shape in SHAPES for mark in shape.marks)
    return re.compile(rf"{marks}|(?:{'|'.join(shape.begun for shape in SHAPES)})\Z", re.DOTALL)


def may_hold_key(text: str) -> bool:
    """Return whether a short text may contain a key or the beginning of one, with one search instead of many."""
    return _suspect().search(text) is not None


def begins_at(text: str) -> int:
    """Return where a key starts that may continue after the end of the text; the text's length if there is none.

    Only the end of the text is searched, so that the time is linear in its length whatever it contains.
    """
    word = len(text.rstrip(_KEY_CHARACTERS))
    match = _begun().search(text, max(0, word - _LEAD))
    start = match.start() if match is not None else len(text)
    if "PRIVATE KEY" in text:
        ended = max((match.end() for match in _compiled(_PEM_END).finditer(text)), default=0)
        begin = _compiled(_PEM_BEGIN).search(text, ended)
        start = min(start, begin.start()) if begin is not None else start
    return start


def keys_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each complete key; the start includes the prefix that identifies it."""
    for shape in SHAPES:
        if any(mark in text for mark in shape.marks):
            for match in shape.expression.finditer(text):
                yield max(0, match.start() - shape.before), match.end()


def is_whole_key(text: str) -> bool:
    """Return whether the whole text is one key: dropping a part of it leaves it a key."""
    return any(
        mark in text and shape.expression.fullmatch(text) is not None for shape in SHAPES for mark in shape.marks
    )
