"""Arithmetic as people and models write it, exact where possible. Nothing is evaluated as code."""

from __future__ import annotations

import re
from decimal import DecimalException, DivisionByZero, InvalidOperation, localcontext
from fractions import Fraction
from typing import Annotated

from msgspec import Meta

from treadle._safety.bounds import Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin import numbers
from treadle._tools.builtin.numbers import Number
from treadle._tools.function import tool
from treadle._types.errors import ToolError

MAX_LENGTH = 1_000
MAX_DEPTH = 60

_CONSTANTS = {"pi": numbers.PI, "π": numbers.PI, "e": numbers.E}
_WORD_OPERATORS = {"x": "*", "X": "*", "of": "*", "times": "*", "mod": "%", "plus": "+", "minus": "-"}
_SPELLINGS = str.maketrans(
    dict.fromkeys("\u00d7\u00b7\u22c5", "*")  # multiplication signs
    | dict.fromkeys("\u00f7\u2215", "/")
    | dict.fromkeys("\u2212\u2013\u2014", "-")  # minus, and the dashes people type for it
    | dict.fromkeys("$\u20ac\u00a3\u00a5", " ")
)
_GROUPS = re.compile(r"(?<=\d)['\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_COMMA_GROUPS = re.compile(r"(?:,\d{3})+(?!\d)(?:\.\d+)?")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+(?![\w.]))?)"
    r"|(?P<name>[^\W\d_]+(?:10|2)?)|(?P<sign>\*\*|//|[-+*/^%!(),√])|(?P<end>=?\s*$)|(?P<odd>.))",
    re.S,
)


_Expression = Annotated[str, Meta(min_length=1, max_length=MAX_LENGTH, description="e.g. (2 + 3) * sqrt(16) / 4")]


@bounded
def calculator(*, timeout: Seconds = 5.0) -> Tool:
    """Works out an expression; the result is the number as text."""
    # Short: every token is read before a model can begin. An unknown name is answered with all there are.
    description = (
        "Work out an arithmetic expression and return the number. Operators: + - * / ^ (power) // % (remainder, or "
        "percent as in '15% of 80' and '200 + 10%'), n!. Also pi, e, the usual functions: sqrt, round, min, max, "
        "mean, log (base 10), ln, sin (radians), gcd ..."
    )
    return tool(calculate, name="calculator", description=description, timeout=timeout, effect="pure")


def calculate(expression: _Expression) -> str:
    """The value of an expression in decimal, without binary rounding errors; a `ToolError` says what is wrong."""
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"the expression is longer than {MAX_LENGTH} characters: calculate it in parts")
    try:
        with localcontext(numbers.CONTEXT):
            return numbers.show(_Parser(expression).parse())
    except (ZeroDivisionError, DivisionByZero):
        raise ToolError("division by zero") from None
    except (InvalidOperation, ValueError):
        raise ToolError(
            "the result is not defined for these numbers (for example the square root of a negative number)"
        ) from None
    except (DecimalException, OverflowError):
        raise ToolError("the result is too large") from None


class _Parser:
    """A recursive descent parser: sum > product > signed > power > postfix > atom, one method each."""

    def __init__(self, text: str) -> None:
        self._text = _GROUPS.sub("", text.translate(_SPELLINGS))
        self._depth = 0
        self._joins_commas = True
        """1,000 is one number, except among the arguments of a function that takes several."""
        self._move(0)

    def parse(self) -> Number:
        if self._kind == "end":
            raise ToolError("the expression is empty")
        value = self._sum()
        if self._kind != "end":
            raise self._unexpected()
        return value

    def _sum(self) -> Number:
        value, _ = self._product()
        while self._token in ("+", "-"):
            combine = numbers.add if self._token == "+" else numbers.subtract
            self._next()
            right, is_percent = self._product()
            # 200 + 10% means ten percent of the 200, as on any calculator
            value = combine(value, numbers.multiply(value, right) if is_percent else right)
        return value

    def _product(self) -> tuple[Number, bool]:
        """The value, and whether it is just a percentage."""
        value, is_percent = self._signed()
        while True:
            sign = self._token
            if sign in ("*", "/", "//", "%"):
                self._next()
            elif not self._starts_factor():
                return value, is_percent
            right, _ = self._signed()
            is_percent = False
            match sign:
                case "/":
                    value = numbers.divide(value, right)
                case "//":
                    value = numbers.floor_divide(value, right)
                case "%":
                    value = numbers.modulo(value, right)
                case _:
                    value = numbers.multiply(value, right)

    def _signed(self) -> tuple[Number, bool]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ToolError(f"the expression is nested more than {MAX_DEPTH} levels deep: calculate it in parts")
        sign = self._token
        if sign in ("-", "+", "√"):
            self._next()
            value, is_percent = self._signed()
            value = numbers.negate(value) if sign == "-" else numbers.square_root(value) if sign == "√" else value
        else:
            value, is_percent = self._power()
        self._depth -= 1
        return value, is_percent

    def _power(self) -> tuple[Number, bool]:
        value, is_percent = self._postfix()
        if self._token not in ("^", "**"):
            return value, is_percent
        self._next()
        exponent, _ = self._signed()
        return numbers.finite(numbers.power(value, exponent)), False

    def _postfix(self) -> tuple[Number, bool]:
        value, is_percent = self._atom(), False
        while self._token == "!" or (self._token == "%" and not self._operand_follows()):
            is_percent = self._token == "%"
            value = numbers.divide(value, Fraction(100)) if is_percent else numbers.factorial(value)
            self._next()
        return value, is_percent

    def _atom(self) -> Number:
        kind, token = self._kind, self._token
        if kind == "number":
            return self._number()
        if kind == "name" and token in _CONSTANTS:
            self._next()
            return _CONSTANTS[token]
        if kind == "name":
            return self._call(token.lower())
        if token == "(":
            self._next()
            value = self._sum()
            self._expect(")")
            return value
        raise self._unexpected()

    def _number(self) -> Number:
        digits, end = self._token, self._end
        groups = (
            _COMMA_GROUPS.match(self._text, end)
            if self._joins_commas and digits.isdigit() and len(digits) <= 3
            else None
        )
        if groups:
            digits, end = digits + groups[0], groups.end()
        self._move(end)
        return numbers.number(digits.replace(",", "").replace("_", ""))

    def _call(self, name: str) -> Number:
        if name not in numbers.FUNCTIONS:
            raise ToolError(f"unknown name {name[:40]!r}; expected pi, e or one of: {', '.join(numbers.FUNCTIONS)}")
        function, min_args, max_args = numbers.FUNCTIONS[name]
        outside, self._joins_commas = self._joins_commas, max_args == 1
        self._next()
        self._expect("(")
        values = [self._sum()]
        while self._token == ",":
            self._next()
            values.append(self._sum())
        self._joins_commas = outside
        self._expect(")")
        if not min_args <= len(values) <= max_args:
            takes = f"{min_args}" if min_args == max_args else f"{min_args} to {max_args}"
            raise ToolError(
                f"{name} takes {takes} numbers, not {len(values)} (write them without thousands separators)"
            )
        return numbers.finite(function(*values))

    def _starts_factor(self) -> bool:
        """Tell whether a factor follows without an operator: 2(3 + 4), 2 pi."""
        return self._kind == "name" or self._token in ("(", "√")

    def _operand_follows(self) -> bool:
        """After %: 7 % 3 is a remainder, 7% + 3 a percentage."""
        following = _TOKEN.match(self._text, self._end)
        assert following is not None
        word = following["name"]
        return bool(following["number"] or following["sign"] in ("(", "√") or (word and word not in _WORD_OPERATORS))

    def _expect(self, sign: str) -> None:
        if self._token != sign:
            raise self._unexpected(f"; expected {sign!r}")
        self._next()

    def _next(self) -> None:
        self._move(self._end)

    def _move(self, start: int) -> None:
        match = _TOKEN.match(self._text, start)
        assert match is not None
        self._kind: str = match.lastgroup or "end"
        self._token: str = match[self._kind]
        self._end = match.end()
        if self._kind == "name" and self._token in _WORD_OPERATORS:
            self._kind, self._token = "sign", _WORD_OPERATORS[self._token]

    def _unexpected(self, expected: str = "") -> ToolError:
        token = "end" if self._kind == "end" else repr(self._token)
        return ToolError(
            f"cannot parse the expression: unexpected {token} at position {self._end}{expected}. "
            "Example: (2 + 3.5) * sqrt(16)"
        )
