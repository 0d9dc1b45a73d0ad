"""Whether a run did what a task wanted. A check is data: no task file brings code."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, cast

from msgspec import Struct

MAX_ANSWER = 20_000
"""Characters of an answer that are looked at: patterns must not meet a flood."""


class Near(Struct, frozen=True, forbid_unknown_fields=True):
    """A number that need not be exact."""

    number: float
    within: float


Wanted = str | int | float | Near


class ToolsCalled(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which tools were called, and how often. Calls that failed count: they were made."""

    exact: dict[str, int] | None = None
    at_least: dict[str, int] = {}
    order: tuple[str, ...] = ()
    """These, in this order; others may come between."""
    none: bool = False


class CallMade(Struct, frozen=True, forbid_unknown_fields=True):
    """Some call of `tool` has these argument values; numbers and texts are compared as in answers."""

    tool: str
    args: dict[str, Any]


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything that is given must hold."""

    all: tuple[Check, ...] = ()
    any: tuple[Check, ...] = ()
    answer_contains: Wanted | tuple[Wanted, ...] = ()
    """Each of these: a text as whole words whatever the case, a number by its value however it is written."""
    answer_lacks: Wanted | tuple[Wanted, ...] = ()
    answer_regex: str = ""
    answer_equals: str | None = None
    """The answer is this, articles and punctuation left aside: HotpotQA's exact match. Also gives the F1 score."""
    tools_called: ToolsCalled | None = None
    args: tuple[CallMade, ...] = ()
    max_steps: int | None = None
    """At most so many tool calls."""


class Called(Struct, frozen=True):
    """One call of a run, as far as checks look at it."""

    tool: str
    args: Mapping[str, Any] = {}


class Verdict(Struct, frozen=True):
    problems: tuple[str, ...] = ()
    scores: dict[str, float] = {}

    @property
    def passed(self) -> bool:
        return not self.problems


def judge(check: Check, answer: str, calls: Sequence[Called]) -> Verdict:
    """What is wrong with a run; nothing, if it passed."""
    answer = answer[:MAX_ANSWER]
    problems = [
        f"the answer lacks {show(item)}" for item in _several(check.answer_contains) if not contains(answer, item)
    ]
    problems += [f"the answer has {show(item)}" for item in _several(check.answer_lacks) if contains(answer, item)]
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
        f"no call {_written(wanted)}" for wanted in check.args if not any(_fits(wanted, call) for call in calls)
    ]
    if check.max_steps is not None and len(calls) > check.max_steps:
        problems.append(f"{len(calls)} tool calls, at most {check.max_steps} wanted")
    for inner in check.all:
        verdict = judge(inner, answer, calls)
        problems += verdict.problems
        scores |= verdict.scores
    if check.any and all((failed := judge(inner, answer, calls)).problems for inner in check.any):
        problems.append(f"none of {len(check.any)} ways is right; the last: {'; '.join(failed.problems)}")
    return Verdict(tuple(problems), scores)


def _several(wanted: Wanted | tuple[Wanted, ...]) -> tuple[Wanted, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


def show(item: Wanted) -> str:
    return f"{item.number:g} (within {item.within:g})" if isinstance(item, Near) else repr(item)


def _wrong_calls(wanted: ToolsCalled, names: list[str]) -> list[str]:
    made = Counter(names)
    called = ", ".join(names) or "nothing"
    problems: list[str] = []
    if wanted.none and names:
        problems.append(f"no tool was needed, called: {called}")
    if wanted.exact is not None and made != Counter(wanted.exact):
        problems.append(f"called {called}, not exactly {_amounts(wanted.exact)}")
    missing = {name: count for name, count in wanted.at_least.items() if made[name] < count}
    if missing:
        problems.append(f"called {called}, not at least {_amounts(missing)}")
    following = iter(names)
    if not all(name in following for name in wanted.order):
        problems.append(f"called {called}, not {', then '.join(wanted.order)}")
    return problems


def _amounts(wanted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} x{count}" if count != 1 else name for name, count in wanted.items()) or "nothing"


def _written(wanted: CallMade) -> str:
    return f"{wanted.tool}({', '.join(f'{name}={value!r}' for name, value in wanted.args.items())})"


def _fits(wanted: CallMade, call: Called) -> bool:
    return call.tool == wanted.tool and all(
        name in call.args and same(call.args[name], value) for name, value in wanted.args.items()
    )


# ---- comparing


def contains(answer: str, wanted: Wanted) -> bool:
    if isinstance(wanted, str):
        return f" {plain(wanted)} " in f" {plain(answer)} "
    found = numbers_in(answer)
    if isinstance(wanted, Near):
        return any(abs(float(number) - wanted.number) <= wanted.within + 1e-9 for number in found)
    goal = Decimal(repr(wanted))
    return any(_equal(number, goal) for number in found)


def same(given: Any, wanted: Any) -> bool:
    """Whether an argument is what was wanted; `"3"` is as good as 3, and case and spaces do not matter."""
    if isinstance(wanted, bool) or wanted is None or isinstance(given, bool):
        return given is wanted
    if isinstance(wanted, (int, float)):
        found = [Decimal(repr(given))] if isinstance(given, (int, float)) else numbers_in(str(given))
        return len(found) == 1 and _equal(found[0], Decimal(repr(wanted)))
    if isinstance(wanted, str):
        return plain(str(given)) == plain(wanted)
    if isinstance(wanted, list) and isinstance(given, list):
        ours, theirs = cast(list[Any], wanted), cast(list[Any], given)
        return len(ours) == len(theirs) and all(map(same, theirs, ours))
    return given == wanted


def _equal(found: Decimal, goal: Decimal) -> bool:
    """Equal, or the same once rounded to the digits the goal has."""
    if found == goal:
        return True
    places = goal.normalize().as_tuple().exponent
    if not isinstance(places, int) or places >= 0 or abs(found) > 10**15:
        return False
    return found.quantize(Decimal(1).scaleb(places), ROUND_HALF_UP) == goal


_NUMBER = re.compile(r"(?<![\w])[-−]?(?:\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?!\d)|\d+)(?:\.\d+)?")  # noqa: RUF001 - the minus sign
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_WORDS = {word: Decimal(value) for value, word in enumerate(_SMALL)}


def numbers_in(text: str) -> list[Decimal]:
    """Every number, thousands separators left out; small ones also as words."""
    text = re.sub(r"\bminus (?=\d)", "-", text, flags=re.IGNORECASE)
    found = [
        Decimal(re.sub(r"[,'\u2019\u00a0\u202f]", "", match).replace("\u2212", "-")) for match in _NUMBER.findall(text)
    ]
    return found + [_WORDS[word] for word in plain(text).split() if word in _WORDS]


def plain(text: str) -> str:
    """Words only, in one case: what is left when writing habits are taken away. The sign and the point of a number stay."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w.]|_", " ", folded).split())


# ---- HotpotQA's own measures


def _tokens(text: str) -> list[str]:
    bare = "".join(char for char in text.lower() if char not in string.punctuation)
    return [word for word in bare.split() if word not in ("a", "an", "the")]


def exact_match(answer: str, wanted: str) -> bool:
    return _tokens(answer) == _tokens(wanted)


def f1(answer: str, wanted: str) -> float:
    """Overlap of words; yes, no and "noanswer" must be met exactly."""
    ours, theirs = _tokens(answer), _tokens(wanted)
    for words, others in ((ours, theirs), (theirs, ours)):
        if words in (["yes"], ["no"], ["noanswer"]) and words != others:
            return 0.0
    common = sum((Counter(ours) & Counter(theirs)).values())
    if not common:
        return 0.0
    precision, recall = common / len(ours), common / len(theirs)
    return 2 * precision * recall / (precision + recall)


def tools_of(check: Check) -> Iterable[str]:
    """Every tool a check speaks of."""
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
