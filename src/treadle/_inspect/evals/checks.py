"""Checks: whether a run did what its task asks for. A check is data: a task file never brings code."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, cast

from msgspec import Struct

from treadle._plugins.evidence.words import UNITS

MAX_ANSWER = 20_000
"""Characters. A longer answer is cut before patterns are matched against it."""


class Near(Struct, frozen=True, forbid_unknown_fields=True):
    """A number that need not be exact."""

    number: float
    within: float


Expected = str | int | float | Near


class ToolsCalled(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which tools were called, and how often. Calls that failed count: they were made."""

    exact: dict[str, int] | None = None
    at_least: dict[str, int] = {}
    order: tuple[str, ...] = ()
    """These, in this order; others may come between."""
    none: bool = False


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """At least one call of `tool` has these argument values; numbers and texts are compared as in answers."""

    tool: str
    args: dict[str, Any]


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All the conditions that are given must hold."""

    all: tuple[Check, ...] = ()
    any: tuple[Check, ...] = ()
    answer_contains: Expected | tuple[Expected, ...] = ()
    """All of these: a text as whole words in upper or lower case, a number by its value, however it is written."""
    answer_lacks: Expected | tuple[Expected, ...] = ()
    answer_regex: str = ""
    answer_equals: str | None = None
    """The answer is this, apart from articles and punctuation: HotpotQA's exact match. Also gives the F1 score."""
    tools_called: ToolsCalled | None = None
    args: tuple[ExpectedCall, ...] = ()
    max_steps: int | None = None
    """The largest number of tool calls that is allowed."""


class RecordedCall(Struct, frozen=True):
    """One call of a run: what checks need of it."""

    tool: str
    args: Mapping[str, Any] = {}


class Verdict(Struct, frozen=True):
    problems: tuple[str, ...] = ()
    scores: dict[str, float] = {}

    @property
    def passed(self) -> bool:
        return not self.problems


def evaluate_check(check: Check, answer: str, calls: Sequence[RecordedCall]) -> Verdict:
    """The problems of a run with this answer and these calls; none if it passed."""
    answer = answer[:MAX_ANSWER]
    problems = [
        f"the answer lacks {describe(item)}" for item in _as_tuple(check.answer_contains) if not contains(answer, item)
    ]
    problems += [f"the answer has {describe(item)}" for item in _as_tuple(check.answer_lacks) if contains(answer, item)]
    if check.answer_regex and not re.search(check.answer_regex, answer, re.IGNORECASE):
        problems.append(f"the answer does not match {check.answer_regex}")
    scores: dict[str, float] = {}
    if check.answer_equals is not None:
        scores = {"exact_match": float(exact_match(answer, check.answer_equals)), "f1": f1(answer, check.answer_equals)}
        if not scores["exact_match"]:
            problems.append(f"the answer is not {check.answer_equals!r}")
    names = [call.tool for call in calls]
    if check.tools_called is not None:
        problems += _wrong_calls(check.tools_called, names)
    problems += [
        f"no call {_formatted(expected)}"
        for expected in check.args
        if not any(_matches(expected, call) for call in calls)
    ]
    if check.max_steps is not None and len(calls) > check.max_steps:
        problems.append(f"{len(calls)} tool calls, at most {check.max_steps} allowed")
    for inner in check.all:
        verdict = evaluate_check(inner, answer, calls)
        problems += verdict.problems
        scores |= verdict.scores
    if check.any and all((failed := evaluate_check(inner, answer, calls)).problems for inner in check.any):
        problems.append(f"none of the {len(check.any)} alternatives holds; the last: {'; '.join(failed.problems)}")
    return Verdict(tuple(problems), scores)


def _as_tuple(expected: Expected | tuple[Expected, ...]) -> tuple[Expected, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


def describe(item: Expected) -> str:
    return f"{item.number:g} (within {item.within:g})" if isinstance(item, Near) else repr(item)


def _wrong_calls(expected: ToolsCalled, names: list[str]) -> list[str]:
    counts = Counter(names)
    called = ", ".join(names) or "nothing"
    problems: list[str] = []
    if expected.none and names:
        problems.append(f"no tool was needed, called: {called}")
    if expected.exact is not None and counts != Counter(expected.exact):
        problems.append(f"called {called}, not exactly {_amounts(expected.exact)}")
    missing = {name: count for name, count in expected.at_least.items() if counts[name] < count}
    if missing:
        problems.append(f"called {called}, not at least {_amounts(missing)}")
    following = iter(names)
    if not all(name in following for name in expected.order):
        problems.append(f"called {called}, not {', then '.join(expected.order)}")
    return problems


def _amounts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} x{count}" if count != 1 else name for name, count in counts.items()) or "nothing"


def _formatted(call: ExpectedCall) -> str:
    return f"{call.tool}({', '.join(f'{name}={value!r}' for name, value in call.args.items())})"


def _matches(expected: ExpectedCall, call: RecordedCall) -> bool:
    return call.tool == expected.tool and all(
        name in call.args and same(call.args[name], value) for name, value in expected.args.items()
    )


# ---- comparing


def contains(answer: str, expected: Expected) -> bool:
    if isinstance(expected, str):
        return f" {plain(expected)} " in f" {plain(answer)} "
    numbers = numbers_in(answer)
    if isinstance(expected, Near):
        return any(abs(float(number) - expected.number) <= expected.within + 1e-9 for number in numbers)
    target = Decimal(repr(expected))
    return any(_equal(number, target) for number in numbers)


def same(value: Any, expected: Any) -> bool:
    """Compare an argument with the expected value; `"3"` counts as 3, and case and spaces do not matter."""
    if isinstance(expected, bool) or expected is None or isinstance(value, bool):
        return value is expected
    if isinstance(expected, (int, float)):
        numbers = [Decimal(repr(value))] if isinstance(value, (int, float)) else numbers_in(str(value))
        return len(numbers) == 1 and _equal(numbers[0], Decimal(repr(expected)))
    if isinstance(expected, str):
        return plain(str(value)) == plain(expected)
    if isinstance(expected, list) and isinstance(value, list):
        expected_items, items = cast(list[Any], expected), cast(list[Any], value)
        return len(expected_items) == len(items) and all(map(same, items, expected_items))
    return value == expected


def _equal(number: Decimal, target: Decimal) -> bool:
    """Equal, or equal once rounded to the digits the target has."""
    if number == target:
        return True
    digits = target.normalize().as_tuple().exponent
    if not isinstance(digits, int) or digits >= 0 or abs(number) > 10**15:
        return False
    return number.quantize(Decimal(1).scaleb(digits), ROUND_HALF_UP) == target


_NUMBER = re.compile(r"(?<![\w])[-\u2212]?(?:\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_NUMBER_BY_WORD = {word: Decimal(value) for word, value in (*UNITS.items(), ("twenty", 20))}


def numbers_in(text: str) -> list[Decimal]:
    """Every number of a text, without its thousands separators; those up to twenty also when written as words."""
    text = re.sub(r"\bminus (?=\d)", "-", text, flags=re.IGNORECASE)
    numbers = [
        Decimal(re.sub(r"[,'\u2019\u00a0\u202f]", "", match).replace("\u2212", "-")) for match in _NUMBER.findall(text)
    ]
    return numbers + [_NUMBER_BY_WORD[word] for word in plain(text).split() if word in _NUMBER_BY_WORD]


def plain(text: str) -> str:
    """A text for comparison: words only, in lower case, with single spaces; the decimal points of numbers stay."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w.]|_", " ", folded).split())


# ---- HotpotQA's own measures


def _tokens(text: str) -> list[str]:
    bare = "".join(char for char in text.lower() if char not in string.punctuation)
    return [word for word in bare.split() if word not in ("a", "an", "the")]


def exact_match(answer: str, expected: str) -> bool:
    return _tokens(answer) == _tokens(expected)


def f1(answer: str, expected: str) -> float:
    """Overlap of words; "yes", "no" and "noanswer" must match exactly."""
    words, reference = _tokens(answer), _tokens(expected)
    for tokens, others in ((words, reference), (reference, words)):
        if tokens in (["yes"], ["no"], ["noanswer"]) and tokens != others:
            return 0.0
    common = sum((Counter(words) & Counter(reference)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(reference)
    return 2 * precision * recall / (precision + recall)


def tools_of(check: Check) -> Iterable[str]:
    """Every tool that a check names."""
    if check.tools_called is not None:
        yield from check.tools_called.exact or {}
        yield from check.tools_called.at_least
        yield from check.tools_called.order
    yield from (call.tool for call in check.args)
    for inner in (*check.all, *check.any):
        yield from tools_of(inner)


def patterns_of(check: Check) -> Iterable[str]:
    if check.answer_regex:
        yield check.answer_regex
    for inner in (*check.all, *check.any):
        yield from patterns_of(inner)
