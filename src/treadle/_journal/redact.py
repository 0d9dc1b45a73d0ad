"""Removes secrets from what enters a run's state, so that neither the log, nor the model, nor a reader sees them.

Most texts hold none. Searching for each secret with `in` costs 2 us for 400 characters and 37 us for 12 000; one
compiled regular expression for all of them costs 27 to 80 us and 840 to 2 400 us. So expressions only run on texts that
contain their mark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from treadle._types.errors import ConfigError

T = TypeVar("T")

_SECRET_NAME = re.compile(r"(_KEY|_TOKEN|_SECRET)$|PASSWORD", re.IGNORECASE)
_SHORTEST_FROM_ENV = 8
_SHORTEST_GIVEN = 4

# (name, marks, expression): one of the marks is in every text the expression can match.
_PATTERNS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    ("api-key", ("sk-",), re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}")),
    ("aws-key", ("AKIA", "ASIA"), re.compile(r"(?<![A-Za-z0-9])A[KS]IA[0-9A-Z]{16}(?![A-Za-z0-9])")),
    (
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{30,}"),
    ),
    ("google-key", ("AIza",), re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("slack-token", ("xox",), re.compile(r"xox[abeoprs]-[0-9A-Za-z-]{10,}")),
    ("bearer-token", ("earer ",), re.compile(r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{20,}")),
    (
        "private-key",
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    ),
)


def _marks_by_part() -> dict[bytes, list[bytes]]:
    """The marks by a part that several of them share: a text is searched for these few parts, and rarely for more."""
    by_part: dict[bytes, list[bytes]] = {}
    for _, marks, _ in _PATTERNS:
        for mark in marks:
            common = next((part for part in ("gh", "IA") if part in mark and "AIza" not in mark), mark)
            by_part.setdefault(common.encode(), []).append(mark.encode())
    return by_part


_MARKS_BY_PART = _marks_by_part()


class Redactor:
    """Replaces secrets by `[redacted:NAME]`.

    Secrets are: the values in `env` (by default the environment of this process) of at least 8 characters whose name
    ends in _KEY, _TOKEN or _SECRET or contains PASSWORD; those given, with names or without; and texts in the format of
    well-known keys.
    """

    def __init__(
        self, secrets: Iterable[str] | Mapping[str, str] = (), *, env: Mapping[str, str] | None = None
    ) -> None:
        given = (
            cast(Mapping[str, str], secrets).items()
            if isinstance(secrets, Mapping)
            else (("secret", value) for value in secrets)
        )
        variables = (os.environ if env is None else env).items()
        named = {
            value: name for name, value in variables if len(value) >= _SHORTEST_FROM_ENV and _SECRET_NAME.search(name)
        }
        for name, value in given:
            if len(value) < _SHORTEST_GIVEN:
                raise ConfigError(
                    f"the secret {name!r} is shorter than {_SHORTEST_GIVEN} characters, "
                    "so it would be replaced inside ordinary words: give a longer one"
                )
            named[value] = name
        for value, name in list(named.items()):  # quotes and line ends are escaped in JSON
            named.setdefault(msgspec.json.encode(value).decode()[1:-1], name)
        # Longest first: one secret may be part of another.
        self._secrets = sorted(
            ((value, f"[redacted:{name}]") for value, name in named.items()), key=lambda item: -len(item[0])
        )

        self._values = tuple(value.encode() for value in named)

    def suspects(self, data: bytes) -> bool:
        """Whether a JSON text may contain a secret: the value of one, or the mark of a well-known key."""
        for value in self._values:
            if value in data:
                return True
        for part, marks in _MARKS_BY_PART.items():  # noqa: SIM110 - a generator would cost more than the search
            if part in data and any(mark in data for mark in marks):
                return True
        return False

    def text(self, text: str) -> str:
        for secret, marker in self._secrets:
            if secret in text:
                text = text.replace(secret, marker)
        for name, marks, expression in _PATTERNS:
            for mark in marks:
                if mark in text:
                    text = expression.sub(f"[redacted:{name}]", text)
                    break
        return text

    def tree(self, value: T) -> T:
        """A string, a struct, or lists, tuples and dicts of such, without secrets; the same object if it has none."""
        return cast(T, self._walk(value))

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Struct):
            return self._walk_struct(value)
        if isinstance(value, dict):
            return self._walk_dict(cast(dict[Any, Any], value))
        if isinstance(value, (list, tuple)):
            items = cast(list[Any] | tuple[Any, ...], value)
            walked = [self._walk(item) for item in items]
            if all(a is b for a, b in zip(walked, items, strict=True)):
                return items
            return tuple(walked) if isinstance(items, tuple) else walked
        return value

    def _walk_dict(self, value: dict[Any, Any]) -> dict[Any, Any]:
        walked: dict[Any, Any] = {}
        same = True
        for old_key, old in value.items():
            key, new = self._walk(old_key), self._walk(old)
            walked[key] = new
            same = same and key is old_key and new is old
        return value if same else walked

    def _walk_struct(self, value: Struct) -> Struct:
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            new = self._walk(old)
            if new is not old:
                changed[name] = new
        return msgspec.structs.replace(value, **changed) if changed else value
