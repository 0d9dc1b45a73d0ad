"""What a network is asked to write, and what it wrote; without the libraries that one needs."""

from __future__ import annotations

from typing import NamedTuple


class Job(NamedTuple):
    prompt: str
    grammar: str | None = None
    decision_after: str = ""
    """Beginning of the reply after which the model decides; what it wants there is read before the grammar."""


class Written(NamedTuple):
    text: str
    complete: bool
    options: dict[str, float]
    """What could have followed `decision_after`, with its probability."""
    least: float = 1.0
    """The probability of the least certain token, among those that the grammar permits."""


def decides_next(written: str, after: str) -> bool:
    """Whether the next token decides. A blank at the end of `after` is mostly the beginning of that token: ` true`."""
    return bool(after) and (written.endswith(after) or (after[-1].isspace() and written.endswith(after.rstrip())))
