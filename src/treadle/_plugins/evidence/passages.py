"""What an answer may rest on: the results of tools, in short passages with their records.

What a model wrote is no ground, nor is what a user asked for: a request is not evidence that it was met. The result of
an agent that was asked is none either: what its own tools said is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._plugins.evidence.words import Words, sentences, words_of
from treadle._types.events import Record, ToolDone
from treadle._types.messages import text_of

MAX_PASSAGES = 50_000
MAX_CHARACTERS = 10_000_000
"""Of all texts together; what comes after these two bounds is no ground."""
_MAX_PART = 100_000
"""Characters of a text that are read at once: nothing else of the process runs meanwhile."""
_MAX_DEPTH = 30


class Passage(Struct, frozen=True):
    run: str
    seq: int
    text: str
    words: Words
    cited_as: str = ""
    """The id it is cited with, `[ID:i]`, if it is a passage of a knowledge base."""
    title: str = ""
    """What it is about, where that is known."""


def passages_of(logs: Mapping[str, Sequence[Record]]) -> list[Passage]:
    """The passages of a run and of the runs inside it."""
    found: list[Passage] = []
    left = MAX_CHARACTERS
    for run, records in logs.items():
        for record in records:
            text = ground_of(record, logs)
            for piece, cited in _pieces(text[:left]) if text else ():
                for sentence in (one for part in _parts(piece) for one in sentences(part)):
                    found.append(Passage(run, record.seq, sentence.text, words_of(sentence.text), cited))
                    if len(found) >= MAX_PASSAGES:
                        return found
            left -= len(text)
            if left <= 0:
                return found
    return found


def _parts(text: str) -> Iterator[str]:
    """A text as it is, or cut where a line or a word ends."""
    begin = 0
    while len(text) - begin > _MAX_PART:
        end = begin + _MAX_PART
        at = max(text.rfind("\n", begin + 1, end), text.rfind(" ", begin + 1, end))
        end = at if at > 0 else end
        yield text[begin:end]
        begin = end
    yield text[begin:]


def ground_of(record: Record, logs: Mapping[str, Sequence[Record]]) -> str:
    """The text of a record that an answer may rest on; empty for every other record. The one place that says so."""
    event = record.event
    if not isinstance(event, ToolDone) or not event.executed or event.error or f"{record.run}.{event.call_id}" in logs:
        return ""
    return event.full if event.full is not None else text_of(event.content)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """A text, or each object of a JSON value as a line of its fields: what stands together belongs together."""
    if text[:1] not in "{[":
        yield text, ""
        return
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        yield text, ""
        return
    yield from _objects(value, "", 0)


def _objects(value: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        cited = str(fields["id"]) if "id" in fields and "document" in fields and "text" in fields else ""
        if cited:
            yield str(fields["text"]), cited
            return
        plain = {key: item for key, item in fields.items() if not isinstance(item, dict | list)}
        if plain:
            yield ", ".join(f"{key}: {item}" for key, item in plain.items()), ""
        for key, item in fields.items():
            if isinstance(item, dict | list):
                yield from _objects(item, key, depth + 1)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        plain = [str(item) for item in items if not isinstance(item, dict | list)]
        if plain:
            yield f"{name}: {', '.join(plain)}" if name else "\n".join(plain), ""
        for item in items:
            if isinstance(item, dict | list):
                yield from _objects(item, name, depth + 1)
    else:
        yield str(value), ""
