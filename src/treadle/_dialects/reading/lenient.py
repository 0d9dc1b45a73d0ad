"""A JSON parser for what models write: it accepts what has only one meaning, and says where it had to choose.

It takes trailing commas, comments, single, smart and triple quotes, Python literals, tuples, unquoted keys, raw
newlines in strings, and Python-style calls: none of these can change a value. What can is read too, with the reason
in `Parsed.doubt`: an unknown escape, a number with a leading zero, a name given twice, an empty place between commas,
one value in parentheses. Text that ends inside a value is read as far as it goes, and `Parsed` says what was left
open, so that nothing half-written is ever executed. Anything else is `UnreadableJson`. Time is linear; one budget
covers all starts in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from treadle._dialects.reading.parsed import Parsed, PythonCall, UnreadableJson
from treadle._dialects.reading.tokens import CUT, NUMBER, QUOTES, WORD, TokenReader
from treadle._safety.data import repeats_a_name

MAX_DEPTH = 64
GIVEN_TWICE = "a name is given twice"
ONE_IN_PARENTHESES = "one value in parentheses is not clearly a list"
EMPTY_PLACE = "nothing stands before a comma"
_TOOL_NAME = re.compile(r"[^\W\d][\w.-]*")


def parse_all(text: str) -> Any:
    """The value of a text that is one complete JSON value and nothing else; `UnreadableJson` if it is not."""
    try:
        value = msgspec.json.decode(text)
        if not repeats_a_name(text, 0):
            return value
    except (ValueError, RecursionError):
        pass
    parsed = LenientParser(text).parse(0)
    if parsed.value is CUT or parsed.repair or text[parsed.end :].strip():
        raise UnreadableJson(parsed.end, parsed.has_keys)
    return parsed.value


class LenientParser(TokenReader):
    """Reads values out of one text. All attempts share one budget of tokens."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open: set[int] = set()
        self._all_values = True
        self._partial: tuple[str, str] | None = None

    def parse(self, start: int) -> Parsed:
        """The object or array that begins at `start`; `UnreadableJson` if it is neither."""
        self._begin(start)
        value = self._value(0)
        return Parsed(
            value, start, self._pos, frozenset(self._open), self._all_values, self._keys > 0, self._partial, self._doubt
        )

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
        return Parsed(calls, start, self._pos, frozenset(self._open), self._all_values, doubt=self._doubt)

    def _begin(self, start: int) -> None:
        self._pos = start
        self._keys = 0
        self._open = set()
        self._all_values = True
        self._cut_text = self._partial = None
        self._doubt = ""

    def _left_open(self, container: object, *, cut: bool) -> None:
        self._open.add(id(container))
        if cut:
            self._all_values = False

    def _value(self, depth: int) -> Any:
        self._spend()
        char = self._peek()
        if char in ("{", "[", "("):
            if depth >= MAX_DEPTH:
                self._fail()
            return self._object(depth) if char == "{" else self._array(depth, "]" if char == "[" else ")")
        if char in QUOTES:
            return self._string(char)
        if char.isdigit() or char in ("-", "+", "."):
            return self._number()
        return self._literal()

    def _items(self, container: object, closing: str) -> Iterator[str]:
        """Yield the first character of each thing between brackets, which the caller reads."""
        self._pos += 1
        pending = True  # something was announced (by the bracket or a comma) and has not come yet
        while (char := self._skip()) != closing:
            if char == ",":
                self._pos += 1
                if pending:  # what was announced may have been left out by mistake
                    self._doubt = EMPTY_PLACE
                pending = True
            elif not char:
                self._left_open(container, cut=pending)
                return
            elif pending:
                yield char
                pending = False
            else:
                self._fail()
        self._pos += 1
        if closing == ")" and isinstance(container, list) and len(cast("list[Any]", container)) == 1 and not pending:
            self._doubt = ONE_IN_PARENTHESES

    def _object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for char in self._items(result, "}"):
            key = self._key(char)
            item = CUT if key is CUT else self._member(depth)
            if item is CUT:
                self._left_open(result, cut=True)
                if depth == 0 and key is not CUT and self._cut_text is not None:
                    self._partial = (key, self._cut_text)
                break
            if key in result:
                self._doubt = GIVEN_TWICE
            result[key] = item
        return result

    def _key(self, char: str) -> Any:
        self._spend()
        if char in QUOTES:
            return self._string(char)
        match = WORD.match(self._text, self._pos) or NUMBER.match(self._text, self._pos)
        if match is None:
            self._fail()
        self._pos = match.end()
        return match.group() if self._pos < len(self._text) else CUT

    def _member(self, depth: int) -> Any:
        char = self._skip()
        if not char:
            return CUT
        if char != ":":
            self._fail()
        self._pos += 1
        self._keys += 1
        return self._value(depth + 1) if self._skip() else CUT

    def _array(self, depth: int, closing: str) -> list[Any]:
        result: list[Any] = []
        for _ in self._items(result, closing):
            item = self._value(depth + 1)
            if item is CUT:
                self._left_open(result, cut=True)
                break
            result.append(item)
        return result

    def _call(self) -> PythonCall:
        match = _TOOL_NAME.match(self._text, self._pos)
        if match is None:
            self._fail()
        self._pos = match.end()
        call = PythonCall(match.group(), [], {})
        if self._peek() != "(":
            self._fail()
        self._keys += 1
        for _ in self._items(call.named, ")"):
            if self._argument(call) is CUT:
                self._left_open(call.named, cut=True)
                break
        if id(call.named) in self._open:  # also after a whole argument: another one may have followed
            self._all_values = False
        return call

    def _argument(self, call: PythonCall) -> Any:
        match = WORD.match(self._text, self._pos)
        before = self._pos
        if match is not None:
            self._pos = match.end()
            if self._skip() == "=":
                self._pos += 1
                value = self._value(0) if self._skip() else CUT
                if value is not CUT:
                    if match.group() in call.named:
                        self._doubt = GIVEN_TWICE
                    call.named[match.group()] = value
                return value
            self._pos = before
        value = self._value(0)
        if value is not CUT:
            call.positional.append(value)
        return value
