"""The calculator's numbers and functions.

Numbers are fractions as long as these stay small, so 0.1 + 0.2 is 0.3; larger ones, roots and the like are decimals of
50 digits. Every value is bounded, so no expression takes long or much memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from functools import partial, reduce

from treadle._types.errors import ToolError

Number = Fraction | Decimal
Function = Callable[..., Number]

MAX_BITS = 4_096
"""A fraction whose numerator or denominator has more bits than this becomes a decimal."""

CONTEXT = Context(prec=50, Emax=9_999, Emin=-9_999, traps=[DivisionByZero, InvalidOperation, Overflow])
PI = Decimal("3.14159265358979323846264338327950288419716939937511")
E = Decimal("2.71828182845904523536028747135266249775724709369996")


def number(digits: str) -> Number:
    value = CONTEXT.create_decimal(digits)
    return bounded(Fraction(digits)) if abs(value.adjusted()) < 1_200 else value


def show(value: Number) -> str:
    """A number as people write it: whole numbers in full, short decimals exactly, others to 16 digits."""
    with localcontext(CONTEXT):
        if isinstance(value, Fraction):
            if value.denominator == 1:
                return str(value.numerator)
            exact = decimal(value)
            if len(exact.as_tuple().digits) <= 40 and Fraction(exact) == value:
                return _plain(exact)
            value = exact
        return _plain(Context(prec=16, Emax=9_999, Emin=-9_999).plus(value))


def _plain(value: Decimal) -> str:
    value = value.normalize()
    if not value:
        return "0"
    return (
        f"{value:f}"
        if -7 <= value.adjusted() < max(21, len(value.as_tuple().digits))
        else f"{value:e}".replace("e+", "e")
    )


def decimal(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value.numerator) / Decimal(value.denominator)


def bounded(value: Fraction) -> Number:
    small = value.numerator.bit_length() <= MAX_BITS and value.denominator.bit_length() <= MAX_BITS
    return value if small else decimal(value)


def finite(value: Number) -> Number:
    if isinstance(value, Decimal) and not value.is_finite():
        raise ToolError("the result is infinite: division by zero, or the logarithm of zero")
    return value


def add(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bounded(left + right)
    return decimal(left) + decimal(right)


def multiply(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bounded(left * right)
    return decimal(left) * decimal(right)


def divide(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bounded(left / right)
    return decimal(left) / decimal(right)


def negate(value: Number) -> Number:
    return multiply(value, Fraction(-1))


def subtract(left: Number, right: Number) -> Number:
    return add(left, negate(right))


def floor_divide(left: Number, right: Number) -> Number:
    return _to_whole(math.floor)(divide(left, right))


def modulo(left: Number, right: Number) -> Number:
    """The remainder, with the sign of the right side."""
    return subtract(left, multiply(right, floor_divide(left, right)))


def power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        times = exponent.numerator
        if base in (0, 1, -1):  # only the sign and the parity of the exponent matter
            times = ((times > 0) - (times < 0)) * (2 - times % 2)
        if abs(times) * max(base.numerator.bit_length(), base.denominator.bit_length()) <= MAX_BITS:
            return bounded(base**times)
    return CONTEXT.power(decimal(base), decimal(exponent))


def factorial(value: Number) -> Number:
    return bounded(Fraction(math.factorial(_integer(value, 0, 2_000, "factorial"))))


def square_root(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above**2 == value.numerator and below**2 == value.denominator:
            return Fraction(above, below)
    return decimal(value).sqrt()


def _integer(value: Number, lowest: int, highest: int, what: str) -> int:
    if isinstance(value, Decimal) or value.denominator != 1 or not lowest <= value <= highest:
        raise ToolError(f"{what} needs a whole number from {lowest} to {highest}")
    return int(value)


def _cube_root(value: Number) -> Number:
    radicand = decimal(value)
    size = CONTEXT.power(abs(radicand), Decimal(1) / 3)
    nearest = size.to_integral_value()
    return (nearest if nearest**3 == abs(radicand) else size).copy_sign(radicand)


def _log(value: Number, base: Number = Fraction(10)) -> Number:
    if base == 10:
        return decimal(value).log10()
    quotient = decimal(value).ln() / decimal(base).ln()
    nearest = quotient.to_integral_value()
    return nearest if abs(quotient - nearest) < Decimal("1e-40") else quotient


def _float(function: Callable[[float], float]) -> Function:
    def apply(value: Number) -> Number:
        argument = float(value)
        result = function(argument)
        if abs(result) < 1e-15 < abs(argument):
            result = 0.0  # sin(pi): the error of a rounded argument
        return Decimal(f"{result:.15g}")

    return apply


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    """Halves are rounded away from zero, as at school."""
    scale = Fraction(10) ** _integer(digits, -30, 30, "the number of digits")
    size = multiply(abs(value), scale)
    rounded = divide(_to_whole(math.floor)(add(size, Fraction(1, 2))), scale)
    return negate(rounded) if value < 0 else rounded


def _to_whole(how: Callable[[Number], int]) -> Callable[[Number], Number]:
    """Rounds to an integer; a decimal larger than its precision is one already."""
    return lambda value: value if isinstance(value, Decimal) and value.adjusted() > 50 else Fraction(how(value))


def _absolute(value: Number) -> Number:
    return abs(value)


def _least(*values: Number) -> Number:
    return min(values)


def _greatest(*values: Number) -> Number:
    return max(values)


def _total(*values: Number) -> Number:
    return reduce(add, values, Fraction(0))


def _mean(*values: Number) -> Number:
    return divide(_total(*values), Fraction(len(values)))


def _decimal(function: Callable[[Decimal], Decimal]) -> Callable[[Number], Number]:
    return lambda value: function(decimal(value))


def _degrees(value: Number) -> Number:
    return divide(multiply(value, Fraction(180)), PI)


def _radians(value: Number) -> Number:
    return divide(multiply(value, PI), Fraction(180))


def _choose(count: Callable[[int, int], int], name: str) -> Function:
    def apply(n: Number, k: Number) -> Number:
        return bounded(Fraction(count(_integer(n, 0, 2_000, name), _integer(k, 0, 2_000, name))))

    return apply


def _integers(fold: Callable[..., int], name: str) -> Function:
    def apply(*values: Number) -> Number:
        return bounded(Fraction(fold(*(_integer(value, -(10**30), 10**30, name) for value in values))))

    return apply


MAX_ARGUMENTS = 500
FUNCTIONS: dict[str, tuple[Function, int, int]] = {
    # name: (function, minimum number of arguments, maximum)
    "abs": (_absolute, 1, 1),
    "acos": (_float(math.acos), 1, 1),
    "asin": (_float(math.asin), 1, 1),
    "atan": (_float(math.atan), 1, 1),
    "cbrt": (_cube_root, 1, 1),
    "ceil": (_to_whole(math.ceil), 1, 1),
    "comb": (_choose(math.comb, "comb"), 2, 2),
    "cos": (_float(math.cos), 1, 1),
    "cosh": (_float(math.cosh), 1, 1),
    "degrees": (_degrees, 1, 1),
    "exp": (_decimal(Decimal.exp), 1, 1),
    "factorial": (factorial, 1, 1),
    "floor": (_to_whole(math.floor), 1, 1),
    "gcd": (_integers(math.gcd, "gcd"), 2, 20),
    "lcm": (_integers(math.lcm, "lcm"), 2, 20),
    "ln": (_decimal(Decimal.ln), 1, 1),
    "log": (_log, 1, 2),
    "log10": (_log, 1, 1),
    "log2": (partial(_log, base=Fraction(2)), 1, 1),
    "max": (_greatest, 1, MAX_ARGUMENTS),
    "mean": (_mean, 1, MAX_ARGUMENTS),
    "min": (_least, 1, MAX_ARGUMENTS),
    "perm": (_choose(math.perm, "perm"), 2, 2),
    "pow": (power, 2, 2),
    "radians": (_radians, 1, 1),
    "round": (_round, 1, 2),
    "sin": (_float(math.sin), 1, 1),
    "sinh": (_float(math.sinh), 1, 1),
    "sqrt": (square_root, 1, 1),
    "sum": (_total, 1, MAX_ARGUMENTS),
    "tan": (_float(math.tan), 1, 1),
    "tanh": (_float(math.tanh), 1, 1),
    "trunc": (_to_whole(math.trunc), 1, 1),
}
