# ruff: noqa: RUF001 - models write these characters
"""A JSON reader for what models write: it bends where the meaning is plain and never guesses.

It takes trailing commas, comments, single, smart and triple quotes, Python literals, tuples, unquoted keys, raw newlines in
strings, and Python-style calls. Text that ends inside a value is read as far as it goes, and `Parsed` says what was
left open, so that nothing half-written is ever executed. Time is linear; one budget covers all starts in a text.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

MAX_DEPTH = 64
MAX_DIGITS = 300
TOKENS = 20_000
"""How many tokens are read in one text, over all attempts together: bounds the time on hostile input."""

_CUT: Any = object()

_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[^\W\d][\w$-]*|\$[\w$-]*")
_TOOL_NAME = re.compile(r"[^\W\d][\w.-]*")
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_DELIMITERS = frozenset(" \t\r\n,}]):/#;<`")
_CHUNKS = {
    '"': re.compile(r'[^"\\]*'),
    "'": re.compile(r"[^'\\]*"),
    "“": re.compile(r'[^”"\\]*'),
    "‘": re.compile(r"[^’'\\]*"),
}
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


class Parsed(NamedTuple):
    """A value found in a text."""

    value: Any
    start: int
    end: int
    open: frozenset[int] = frozenset()
    """The ids of the containers whose closing bracket is missing."""
    whole: bool = True
    """Every value that was begun is complete (only closing brackets may be missing)."""
    deep: bool = True
    """At least one key was read: this is JSON, not a bracket in prose."""
    partial: tuple[str, str] | None = None
    """The outermost object's key whose text was cut off, and what there is of it."""

    @property
    def closed(self) -> bool:
        return not self.open


class Whole(NamedTuple):
    """Says which containers of a value were written to the end, in a reply that ended by its length (`cut`) or by itself."""

    open: frozenset[int] = frozenset()
    whole: bool = True
    cut: bool = False

    def __call__(self, container: object, within: object = None) -> bool:
        """Closed; or, if the reply came to its own end, lacking brackets only. In a cut reply the object around it is closed too."""
        if self.whole and not self.cut:
            return True
        return id(container) not in self.open and not (self.cut and id(within) in self.open)


def whole_in(parsed: Parsed, cut: bool) -> Whole:
    return Whole(parsed.open, parsed.whole, cut)


class PythonCall(NamedTuple):
    name: str
    positional: list[Any]
    named: dict[str, Any]


class Unreadable(Exception):
    """Not JSON in any reading; `deep` when it was JSON up to there, so that what lies inside is not to be taken for itself."""

    def __init__(self, position: int, deep: bool) -> None:
        super().__init__(f"not JSON at character {position}")
        self.position = position
        self.deep = deep


class Lenient:
    """Reads values out of one text. All attempts share a budget; `exhausted` says that it is used up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = TOKENS
        self._pos = 0
        self._keys = 0
        self._open: set[int] = set()
        self._whole = True
        self._cut_text: str | None = None
        self._partial: tuple[str, str] | None = None

    @property
    def exhausted(self) -> bool:
        return self._budget < 0

    def parse(self, start: int) -> Parsed:
        """The object or array that begins at `start`."""
        self._begin(start)
        value = self._value(0)
        return Parsed(value, start, self._pos, frozenset(self._open), self._whole, self._keys > 0, self._partial)

    def parse_calls(self, start: int) -> Parsed:
        """`[f(a=1), g()]` or `f(a=1)` at `start`: a list of `PythonCall`."""
        self._begin(start)
        calls: list[PythonCall] = []
        bracket = self._peek() == "["
        if bracket:
            self._pos += 1
        while char := self._skip():
            if char == "]" and bracket:
                self._pos += 1
                break
            if char in ",;":
                self._pos += 1
                continue
            if not bracket and calls:
                break
            calls.append(self._call())
        else:
            if bracket:
                self._open.add(id(calls))
        return Parsed(calls, start, self._pos, frozenset(self._open), self._whole)

    def _begin(self, start: int) -> None:
        self._pos = start
        self._keys = 0
        self._open = set()
        self._whole = True
        self._cut_text = self._partial = None

    def _fail(self) -> NoReturn:
        self._budget -= 4  # an attempt costs more than its tokens
        raise Unreadable(self._pos, self._keys > 0)

    def _spend(self, amount: int = 1) -> None:
        self._budget -= amount
        if self._budget < 0:
            self._fail()

    def _peek(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _skip(self) -> str:
        """The next character after spaces and comments; empty at the end of the text, at a tag and at a fence, where JSON ends too."""
        char = self._peek()
        if char and char in " \t\r\n/#\u00a0\f\v":
            match = _SPACE.match(self._text, self._pos)
            if match and match.end() > self._pos:
                self._spend((match.end() - self._pos) // 64)
                self._pos = match.end()
                char = self._peek()
        return "" if char == "<" or (char == "`" and self._text.startswith("```", self._pos)) else char

    def _left_open(self, container: object, *, cut: bool) -> None:
        self._open.add(id(container))
        if cut:
            self._whole = False

    def _value(self, depth: int) -> Any:
        self._spend()
        char = self._peek()
        if char in ("{", "[", "("):
            if depth >= MAX_DEPTH:
                self._fail()
            return self._object(depth) if char == "{" else self._array(depth, "]" if char == "[" else ")")
        if char in _CHUNKS:
            return self._string(char)
        if char.isdigit() or char in ("-", "+", "."):
            return self._number()
        return self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self._pos += 1
        pending = True  # something was announced (by the bracket or a comma) and has not come yet
        while True:
            char = self._skip()
            if char == "}":
                self._pos += 1
                return result
            if char == ",":
                self._pos += 1
                pending = True
                continue
            if not char:
                self._left_open(result, cut=pending)
                return result
            if not pending:
                self._fail()
            key = self._key(char)
            item = _CUT if key is _CUT else self._member(depth)
            if item is _CUT:
                self._left_open(result, cut=True)
                if depth == 0 and key is not _CUT and self._cut_text is not None:
                    self._partial = (key, self._cut_text)
                return result
            result[key] = item
            pending = False

    def _key(self, char: str) -> Any:
        self._spend()
        if char in _CHUNKS:
            return self._string(char)
        match = _WORD.match(self._text, self._pos) or _NUMBER.match(self._text, self._pos)
        if match is None:
            self._fail()
        self._pos = match.end()
        return match.group() if self._pos < len(self._text) else _CUT

    def _member(self, depth: int) -> Any:
        char = self._skip()
        if not char:
            return _CUT
        if char != ":":
            self._fail()
        self._pos += 1
        self._keys += 1
        return self._value(depth + 1) if self._skip() else _CUT

    def _array(self, depth: int, closing: str) -> list[Any]:
        result: list[Any] = []
        self._pos += 1
        pending = True
        while True:
            char = self._skip()
            if char == closing:
                self._pos += 1
                return result
            if char == ",":
                self._pos += 1
                pending = True
                continue
            if not char:
                self._left_open(result, cut=pending)
                return result
            if not pending:
                self._fail()
            item = self._value(depth + 1)
            if item is _CUT:
                self._left_open(result, cut=True)
                return result
            result.append(item)
            pending = False

    def _string(self, quote: str) -> Any:
        if quote in "\"'" and self._text.startswith(quote * 3, self._pos):
            return self._triple(quote * 3)
        text, chunk = self._text, _CHUNKS[quote]
        pieces: list[str] = []
        begin = self._pos
        self._pos += 1
        while True:
            match = chunk.match(text, self._pos)
            assert match is not None
            pieces.append(match.group())
            self._pos = match.end()
            char = self._peek()
            if not char:
                self._spend((self._pos - begin) // 64)
                self._cut_text = "".join(pieces)
                return _CUT
            self._pos += 1
            if char != "\\":
                self._spend((self._pos - begin) // 64)
                return "".join(pieces)
            piece = self._escape()
            if piece is _CUT:
                return _CUT
            pieces.append(piece)

    def _triple(self, quotes: str) -> Any:
        end = self._text.find(quotes, self._pos + 3)
        if end < 0:
            self._spend((len(self._text) - self._pos) // 64)
            return _CUT
        value = self._text[self._pos + 3 : end]
        self._pos = end + 3
        return value

    def _escape(self) -> Any:
        """What follows a backslash. An escape that does not exist keeps its backslash (`\\d` in a pattern)."""
        char = self._peek()
        if not char:
            return _CUT
        self._pos += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "\n":
            return "\n"
        if char not in "ux":
            return "\\" + char
        code = self._hex(4 if char == "u" else 2)
        if code is None:
            return "\\" + char
        if 0xD800 <= code < 0xDC00 and self._text.startswith("\\u", self._pos):
            before = self._pos
            self._pos += 2
            low = self._hex(4)
            if low is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            self._pos = before
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    def _hex(self, width: int) -> int | None:
        digits = self._text[self._pos : self._pos + width]
        if len(digits) < width or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            return None
        self._pos += width
        return int(digits, 16)

    def _number(self) -> Any:
        match = _NUMBER.match(self._text, self._pos)
        if match is None:
            if self._pos + 1 == len(self._text):  # a lone sign or point at the very end
                return _CUT
            self._fail()
        self._pos = match.end()
        following = self._peek()
        if not following:
            return _CUT  # 12 may have been meant to be 120
        digits = match.group().replace("_", "")
        if following not in _DELIMITERS or len(digits) > MAX_DIGITS:
            self._fail()
        if digits.lstrip("+-").isdigit():
            return int(digits)
        number = float(digits)
        if number in (float("inf"), float("-inf")):
            self._fail()
        return number

    def _word(self) -> Any:
        match = _WORD.match(self._text, self._pos)
        if match is None:
            self._fail()
        word = match.group().lower()
        if word not in _LITERALS:
            if match.end() == len(self._text):
                self._pos = match.end()
                return _CUT
            self._fail()
        self._pos = match.end()
        return _LITERALS[word]

    def _call(self) -> PythonCall:
        match = _TOOL_NAME.match(self._text, self._pos)
        if match is None:
            self._fail()
        self._pos = match.end()
        call = PythonCall(match.group(), [], {})
        if self._peek() != "(":
            self._fail()
        self._pos += 1
        self._keys += 1
        pending = True
        while True:
            char = self._skip()
            if char == ")":
                self._pos += 1
                return call
            if char == ",":
                self._pos += 1
                pending = True
                continue
            if char and not pending:
                self._fail()
            if not char or self._argument(call) is _CUT:
                self._left_open(call.named, cut=True)
                return call
            pending = False

    def _argument(self, call: PythonCall) -> Any:
        match = _WORD.match(self._text, self._pos)
        before = self._pos
        if match is not None:
            self._pos = match.end()
            if self._skip() == "=":
                self._pos += 1
                value = self._value(0) if self._skip() else _CUT
                if value is not _CUT:
                    call.named[match.group()] = value
                return value
            self._pos = before
        value = self._value(0)
        if value is not _CUT:
            call.positional.append(value)
        return value
