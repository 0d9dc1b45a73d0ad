# ruff: noqa: RUF001 - models write these characters
"""The tokens of lenient JSON: spaces and comments, strings in any quotes, numbers, literals.

A token that the text ends in is `CUT`: `12` may have been meant to be `120`. One budget covers all attempts on a text.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from treadle._dialects.reading.parsed import UnreadableJson

MAX_DIGITS = 300
MAX_TOKENS = 20_000
"""How many tokens are read in one text, over all attempts together: bounds the time on hostile input."""

CUT: Any = object()
"""Stands for a value that the text ended in."""

QUOTES = {
    '"': re.compile(r'[^"\\]*'),
    "'": re.compile(r"[^'\\]*"),
    "“": re.compile(r'[^”"\\]*'),
    "‘": re.compile(r"[^’'\\]*"),
}
"""Each opening quote with the pattern of what may follow up to an escape or the closing quote."""
WORD = re.compile(r"[^\W\d][\w$-]*|\$[\w$-]*")
NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_LEADING_ZERO = re.compile(r"[-+]?0\d")
_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_DELIMITERS = frozenset(" \t\r\n,}]):/#;<`")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "”": "”",
    "’": "’",
}


UNKNOWN_ESCAPE = "a backslash stands before a character that needs none: write each backslash of a text twice"
TRIPLE_QUOTED_ESCAPE = "a backslash in a text between triple quotes has two meanings: use plain JSON strings"
LINE_CONTINUED = "a backslash at the end of a line has two meanings: write \\n or nothing"
HALF_CHARACTER = "a \\u escape gives half a character"
LEADING_ZERO = "a number begins with 0: write a text in quotes"


class TokenReader:
    """A position in a text and what can be read there. `exhausted` says that the budget of tokens is used up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = MAX_TOKENS
        self._pos: int = 0
        self._keys = 0
        self._cut_text: str | None = None
        """The part of a string that is there, when the text ended inside it."""
        self._doubt = ""
        """Why the value that is being read may not be what was meant."""

    @property
    def exhausted(self) -> bool:
        return self._budget < 0

    def _fail(self) -> NoReturn:
        self._budget -= 4  # an attempt costs more than its tokens
        raise UnreadableJson(self._pos, self._keys > 0)

    def _spend(self, amount: int = 1) -> None:
        self._budget -= amount
        if self._budget < 0:
            self._fail()

    def _peek(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _skip(self) -> str:
        """The next character after spaces and comments.

        Empty at the end of the text, at a tag and at a code fence: JSON ends there too.
        """
        char = self._peek()
        if char and char in " \t\r\n/#\u00a0\f\v":
            match = _SPACE.match(self._text, self._pos)
            if match and match.end() > self._pos:
                self._spend((match.end() - self._pos) // 64)
                self._pos = match.end()
                char = self._peek()
        return "" if char == "<" or (char == "`" and self._text.startswith("```", self._pos)) else char

    def _string(self, quote: str) -> Any:
        if quote in "\"'" and self._text.startswith(quote * 3, self._pos):
            return self._triple_quoted(quote * 3)
        text, pattern = self._text, QUOTES[quote]
        pieces: list[str] = []
        begin = self._pos
        self._pos += 1
        while True:
            match = pattern.match(text, self._pos)
            assert match is not None
            pieces.append(match.group())
            self._pos = match.end()
            char = self._peek()
            if not char:
                self._spend((self._pos - begin) // 64)
                self._cut_text = "".join(pieces)
                return CUT
            self._pos += 1
            if char != "\\":
                self._spend((self._pos - begin) // 64)
                return "".join(pieces)
            piece = self._escape()
            if piece is CUT:
                return CUT
            pieces.append(piece)

    def _triple_quoted(self, quotes: str) -> Any:
        end = self._text.find(quotes, self._pos + 3)
        if end < 0:
            self._spend((len(self._text) - self._pos) // 64)
            return CUT
        value = self._text[self._pos + 3 : end]
        if "\\" in value:
            self._doubt = TRIPLE_QUOTED_ESCAPE
        self._pos = end + 3
        return value

    def _escape(self) -> Any:
        """Return what follows a backslash. An escape that does not exist keeps its backslash (`\\d` in a pattern).

        Whoever wrote such an escape did not escape at all: in `C:\\Users\\new` the second one would be a line break.
        """
        char = self._peek()
        if not char:
            return CUT
        self._pos += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "\n":
            self._doubt = LINE_CONTINUED
            return "\n"
        code = self._hex(4 if char == "u" else 2) if char in "ux" else None
        if code is None:
            self._doubt = UNKNOWN_ESCAPE
            return "\\" + char
        if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._pos):
            before = self._pos
            self._pos += 2
            low = self._hex(4)
            if low is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            self._pos = before
        if 0xD800 <= code < 0xE000:
            self._doubt = HALF_CHARACTER
            return "\ufffd"
        return chr(code)

    def _hex(self, width: int) -> int | None:
        digits = self._text[self._pos : self._pos + width]
        if len(digits) < width or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            return None
        self._pos += width
        return int(digits, 16)

    def _number(self) -> Any:
        match = NUMBER.match(self._text, self._pos)
        if match is None:
            if self._pos + 1 == len(self._text):  # a lone sign or point at the very end
                return CUT
            self._fail()
        self._pos = match.end()
        following = self._peek()
        if not following:
            return CUT  # 12 may have been meant to be 120
        digits = match.group().replace("_", "")
        if following not in _DELIMITERS or len(digits) > MAX_DIGITS:
            self._fail()
        if _LEADING_ZERO.match(digits):
            self._doubt = LEADING_ZERO
        if digits.lstrip("+-").isdigit():
            return int(digits)
        number = float(digits)
        if number in (float("inf"), float("-inf")):
            self._fail()
        return number

    def _literal(self) -> Any:
        match = WORD.match(self._text, self._pos)
        if match is None:
            self._fail()
        word = match.group().lower()
        if word not in _LITERALS:
            if match.end() == len(self._text):
                self._pos = match.end()
                return CUT
            self._fail()
        self._pos = match.end()
        return _LITERALS[word]
