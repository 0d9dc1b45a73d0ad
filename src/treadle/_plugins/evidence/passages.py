"""What an answer may rest on: the results of tools and what the user said, in short passages with their records.

What a model wrote is no ground. So the result of an agent that was asked is none either: what its own tools said is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._plugins.evidence.words import Words, sentences, words_of
from treadle._types.events import Injected, MessageAdded, Record, RunStarted, ToolDone
from treadle._types.messages import UserMessage, text_of
from treadle._types.provenance import own_text
from treadle._types.provenance import words_of as said_by_person

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
    said: bool = False
    """By the user, not by a tool."""
    cited_as: str = ""
    """The id it is cited with, `[ID:i]`, if it is a passage of a knowledge base."""


def passages_of(logs: Mapping[str, Sequence[Record]]) -> list[Passage]:
    """The passages of a run and of the runs inside it."""
    found: list[Passage] = []
    left = MAX_CHARACTERS
    for run, records in logs.items():
        for record in records:
            for text, said, cited in _texts(record, logs):
                for part in _parts(text[:left]):
                    for piece in sentences(part):
                        found.append(Passage(run, record.seq, piece.text, words_of(piece.text), said, cited))
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


def _texts(record: Record, logs: Mapping[str, Sequence[Record]]) -> Iterator[tuple[str, bool, str]]:
    event = record.event
    match event:
        case RunStarted(question=question, history=history) if not record.depth:
            # What a run inside another is asked was written by a model.
            yield own_text(question), True, ""
            yield from ((text, True, "") for text in said_by_person(history))
        case Injected(texts=texts):
            yield from ((text, True, "") for text in texts)
        case MessageAdded(message=UserMessage(origin="person", content=content)):
            yield own_text(content), True, ""
        case ToolDone(executed=True, error="") if f"{record.run}.{event.call_id}" not in logs:
            text = event.full if event.full is not None else text_of(event.content)
            yield from ((piece, False, cited) for piece, cited in _pieces(text))
        case _:
            pass


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
