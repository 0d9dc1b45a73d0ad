"""The text of a run in which words were found: its question, a message to it, the result of a tool, its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle._types.events import Injected, Record, RunFinished, RunStarted, ToolDone
from treadle._types.messages import text_of

_AROUND = 60
"""Characters shown on either side of a match."""


class Match(Struct, frozen=True):
    where: str
    """question | message | tool | answer"""
    tool: str
    """The tool whose result it is."""
    excerpt: str


def first_match(records: Sequence[Record], words: Sequence[str]) -> Match | None:
    """Return the first text with all the words, which are case-folded."""
    for where, tool, text in _texts(records):
        folded = text.casefold()
        if all(word in folded for word in words):
            return Match(where, tool, _excerpt(text, folded.find(words[0])))
    return None


def _texts(records: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    for record in records:
        match record.event:
            case RunStarted(question=question):
                yield "question", "", text_of(question)
            case Injected(texts=texts):
                yield from (("message", "", text) for text in texts)
            case ToolDone(name=name, content=content, full=full):
                yield "tool", name, full if full is not None else text_of(content)
            case RunFinished(answer=text):
                yield "answer", "", text
            case _:
                pass


def _excerpt(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND * 2
    shown = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{shown}{'…' if end < len(text) else ''}"
