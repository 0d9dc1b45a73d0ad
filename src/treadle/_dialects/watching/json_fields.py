"""Watches replies in JSON: the strings in it that are the answer or a thought, as they are written."""

from __future__ import annotations

import re

from treadle._dialects.reading.shapes import ANSWER_KEYS, ARGS_KEYS, FINAL_NAMES, NAME_KEYS, THOUGHT_KEYS
from treadle._dialects.watching.base import Piece

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_OPENING = re.compile(r"[{\[]")
_RUN = re.compile(r'[^"\\]*')
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")


class _Level:
    """An object or array that is open."""

    __slots__ = ("key", "name", "object", "owner", "wants_key")

    def __init__(self, is_object: bool, owner: _Level | None) -> None:
        self.object = is_object
        self.owner = owner
        self.key = ""
        self.name = ""
        """What the object calls, if it has said so."""
        self.wants_key = is_object


class AnswerField:
    """Reads the answer in a JSON object that holds more than that; it may still not count."""

    def __init__(self) -> None:
        self._fields = JsonFields()

    def feed(self, text: str) -> list[Piece]:
        return [piece._replace(provisional=True) for piece in self._fields.feed(text) if piece.answer]


class JsonFields:
    """Reads JSON piece by piece; words before it are passed over. Broken JSON is left to the decoder."""

    def __init__(self, completion: str = "") -> None:
        self._final_names = FINAL_NAMES | {completion.lower()} if completion else FINAL_NAMES
        self._held = ""
        self._levels: list[_Level] = []
        self._string: list[str] | None = None
        """The text of the string that is being read, while it is a key or a name."""
        self._in_string = False
        self._shown_as = ""
        """answer | thought: as what the string that is being read is shown."""
        self._answered = False

    def feed(self, text: str) -> list[Piece]:
        if self._answered:
            return []
        self._held += text
        pieces: list[Piece] = []
        position, held = 0, self._held
        while position < len(held) and not self._answered:
            moved = self._in_text(held, position, pieces) if self._in_string else self._between(held, position)
            if moved == position:
                break
            position = moved
        self._held = held[position:]
        return pieces

    def _between(self, held: str, position: int) -> int:
        if not self._levels:
            start = _OPENING.search(held, position)
            if start is None:
                return len(held)
            self._levels.append(_Level(start.group() == "{", None))
            return start.end()
        char, level = held[position], self._levels[-1]
        if char == '"':
            self._begin_string(level)
        elif char in "{[":
            self._levels.append(_Level(char == "{", level))
        elif char in "}]":
            self._levels.pop()
        elif char == ",":
            level.wants_key = level.object
        elif char == ":":
            level.wants_key = False
        return position + 1

    def _begin_string(self, level: _Level) -> None:
        self._in_string = True
        self._string, self._shown_as = [], ""
        if not level.wants_key and level.object:
            self._shown_as = self._meaning(level)

    def _meaning(self, level: _Level) -> str:
        if level.key in THOUGHT_KEYS and not self._is_arguments(level):
            return "thought"
        if level.key not in ANSWER_KEYS:
            return ""
        named = self._naming(level)
        if self._is_arguments(level):
            return "answer" if named and named.lower() in self._final_names else ""
        return "answer" if not named or named.lower() in self._final_names else ""

    def _is_arguments(self, level: _Level) -> bool:
        return level.owner is not None and level.owner.object and level.owner.key in ARGS_KEYS

    def _naming(self, level: _Level) -> str:
        return level.owner.name if self._is_arguments(level) and level.owner is not None else level.name

    def _in_text(self, held: str, position: int, pieces: list[Piece]) -> int:
        found = _RUN.match(held, position)
        assert found is not None
        if found.end() > position:
            self._add(found.group(), pieces)
            return found.end()
        if held[position] == '"':
            self._end_string()
            return position + 1
        return self._escape(held, position, pieces)

    def _escape(self, held: str, position: int, pieces: list[Piece]) -> int:
        if position + 1 >= len(held):
            return position
        code = held[position + 1]
        if code != "u":
            self._add(_ESCAPES.get(code, "\\" + code), pieces)
            return position + 2
        found = _UNICODE.match(held, position)
        if found is None:
            if len(held) < position + 12:
                return position
            self._add("\\u", pieces)
            return position + 2
        high, low = (int(part, 16) if part else 0 for part in found.groups())
        if 0xD800 <= high < 0xDC00:
            if not low:
                if len(held) < position + 12:
                    return position
                self._add("\ufffd", pieces)
                return position + 6
            self._add(chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), pieces)
            return found.end()
        self._add("\ufffd" if 0xDC00 <= high < 0xE000 else chr(high), pieces)
        return position + 6

    def _add(self, text: str, pieces: list[Piece]) -> None:
        if self._shown_as:
            answer = self._shown_as == "answer"
            certain = answer and bool(name := self._naming(self._levels[-1])) and name.lower() in self._final_names
            pieces.append(Piece(text, answer, provisional=not certain))
        elif self._string is not None:
            self._string.append(text)

    def _end_string(self) -> None:
        self._in_string = False
        level = self._levels[-1]
        text = "".join(self._string or ())
        if level.wants_key:
            level.key = text
        elif level.object and (level.key in NAME_KEYS or (level.key == "type" and text.lower() in self._final_names)):
            level.name = text.strip()
        if self._shown_as == "answer":
            self._answered = True
        self._string, self._shown_as = None, ""
