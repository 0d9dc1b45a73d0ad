"""Sums people and models write, and ones that mean harm."""

from __future__ import annotations

import contextlib
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import row
from treadle._tools.builtin import builtin
from treadle._tools.builtin.calculator import calculate
from treadle._types.errors import ToolError


def test_values():
    for expression, value in (
        ("0.1 + 0.2", "0.3"),
        ("1/3", "0.3333333333333333"),
        ("1/7*7", "1"),
        ("(2 + 3) * sqrt(16) / 4", "5"),
        ("2^10", "1024"),
        ("2**3**2", "512"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("4^0.5", "2"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7 % 3", "1"),
        ("-7 % 3", "2"),
        ("5 mod 3", "2"),
        ("10%", "0.1"),
        ("15% of 80", "12"),
        ("200 + 10%", "220"),
        ("200 - 10%", "180"),
        ("100 - 5% of 100", "95"),
        ("50% * 4", "2"),
        ("10% - 3", "-2.9"),
        ("10 % (3 + 1)", "2"),
        ("1,234,567.5 * 2", "2469135"),
        ("sqrt(1,000,000)", "1000"),
        ("max(1,200)", "200"),
        ("max(1, 2, 3) - min(4, 5)", "-1"),
        ("1_000_000 + 1", "1000001"),
        ("1'000'000 + 1\u00a0000", "1001000"),
        ("$1,200.50 \u00d7 3", "3601.5"),
        ("10 \u00f7 4 \u2212 1", "1.5"),
        ("3 x 4", "12"),
        ("2(3 + 4)", "14"),
        ("2 pi", "6.283185307179586"),
        ("\u221a16 + \u221a2", "5.414213562373095"),
        ("5!", "120"),
        ("3! + 4", "10"),
        ("2 + 2 =", "4"),
        ("1.5e3 / 2", "750"),
        (".5 + 1.", "1.5"),
        ("sin(pi)", "0"),
        ("sin(pi / 6)", "0.5"),
        ("cos(0)", "1"),
        ("log(1000)", "3"),
        ("log(8, 2)", "3"),
        ("log2(1024)", "10"),
        ("ln(e)", "1"),
        ("exp(0)", "1"),
        ("cbrt(-27)", "-3"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(2.675, 2)", "2.68"),
        ("round(1234, -2)", "1200"),
        ("floor(-1.5) + ceil(1.2)", "0"),
        ("trunc(-1.5)", "-1"),
        ("abs(-3.5)", "3.5"),
        ("mean(1, 2, 4)", "2.333333333333333"),
        ("comb(5, 2) + perm(4, 2)", "22"),
        ("gcd(12, 18) * lcm(4, 6)", "72"),
        ("degrees(pi)", "180"),
        ("2**200", str(2**200)),
        ("100!", str(math.factorial(100))),
        ("1.0001^3650", "1.440487720760919"),
        ("1000 * (1 + 5%)^10", "1628.89462677744140625"),
        ("0^0", "1"),
        ("(-1)^1000000007", "-1"),
        ("10^25", "1" + "0" * 25),
        ("1e-10", "1e-10"),
        ("2/3 * 10^30", "6.666666666666667e29"),
        ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
    ):
        assert calculate(expression) == value, expression


def test_errors_say_what_is_wrong():
    for expression, message in (
        ("", "empty"),
        ("   ", "empty"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("sin(pi) ^ -1", "infinite"),
        ("sqrt(-1)", "not defined"),
        ("1 / ln(0)", "infinite"),
        ("(-8)^(1/3)", "not defined"),
        ("asin(2)", "not defined"),
        ("foo(1)", "unknown name 'foo'"),
        ("2 3", "unexpected '3'"),
        ("3,5", "unexpected ','"),
        ("((1)", "unexpected end"),
        ("1)", r"unexpected '\)'"),
        ("2 +", "unexpected end"),
        ("sqrt 2", r"expected '\('"),
        ("round(1, 2, 3)", "round takes 1 to 2 numbers"),
        ("sqrt()", "unexpected"),
        ("factorial(2.5)", "whole number"),
        ("factorial(-1)", "whole number"),
        ("round(1, 1000)", "whole number"),
    ):
        with row(expression, message), pytest.raises(ToolError, match=message):
            calculate(expression)


def test_code_is_not_arithmetic():
    for expression in (
        "__import__('os').system('true')",
        "().__class__.__bases__[0]",
        "open('/etc/passwd').read()",
        "lambda: 0",
        "[1][0]",
        "{}",
        "'a' * 10",
        "eval('1')",
        "exec('1')",
        "a.b",
        "f'{1}'",
        "1 if 1 else 2",
        "x := 1",
        "1; 2",
        "`id`",
        "$(id)",
        "1\n2",
        "globals()",
        "pi.real",
        "1 and 2",
    ):
        with row(expression), pytest.raises(ToolError):
            calculate(expression)


def test_bombs_end_at_once():
    for expression in (
        "9**9**9",
        "9^9^9^9",
        "factorial(10**9)",
        "2000!!",
        "9!!!!!",
        "10^(10^10)",
        "(10^1000)^1000",
        "comb(2000, 1000)^300",
        "1e999999999",
        "1e9999 * 10",
        "2^(2^100)",
        "1.0000001^" + "9" * 900,
        "exp(10^10)",
        "1/(10^9999)/10^9999/10^9999",
        "(" * 500 + "1" + ")" * 490,
        "-" * 999 + "1",
        "2^" * 499 + "2",
        "sqrt(" * 150 + "2" + ")" * 150,
        "1+" * 600 + "1",
        "((((" * 250,
        "9" * 1000,
        "9" * 990 + "^9",
        "*".join(["9" * 90] * 10),
        "!" * 1000,
        "%" * 1000,
        "1" + "%" * 900,
        "round(1e30, 30)",
        "lcm(" + ", ".join(["9" * 30] * 20) + ")",
        "0." + "0" * 990 + "1",
        "tan(10^9000)",
        "sinh(10^9)",
        "1" + "0" * 900 + "!",
        "e^" * 300 + "e",
        "0.9^(10^12)",
        "gcd(10^30, 1)",
        "9" * 2000,
    ):
        with row(expression):
            started = time.process_time()
            try:
                shown = calculate(expression)
            except ToolError as error:
                shown = str(error)
            assert time.process_time() - started < 0.5  # of CPU time; milliseconds are usual
            assert len(shown) < 1_300


@given(st.text(max_size=60) | st.text("0123456789.,+-*/^%!()e pix\u221asqrtmax", max_size=60))
def test_any_text_gives_a_number_or_a_clear_error(text: str):
    with contextlib.suppress(ToolError):
        assert calculate(text)


operations = st.sampled_from(["+", "-", "*"])
small = st.integers(-999, 999).map(lambda n: Fraction(n, 100))


@given(small, operations, small, operations, small)
def test_decimals_are_exact(a: Fraction, first: str, b: Fraction, second: str, c: Fraction):
    def shown(value: Fraction) -> str:
        return f"({float(value):.2f})"

    def worked(left: Fraction, sign: str, right: Fraction) -> Fraction:
        return left + right if sign == "+" else left - right if sign == "-" else left * right

    expected = worked(worked(a, first, b), second, c)
    assert Fraction(calculate(f"({shown(a)} {first} {shown(b)}) {second} {shown(c)}")) == expected


def test_as_a_tool():
    tool = builtin("calculator")
    assert not isinstance(tool, list)
    assert tool.effect == "pure"
    assert tool.execute(expression="6 * 7") == "42"
