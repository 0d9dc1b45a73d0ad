"""One way to write numbers, amounts of money and dates, so that they can be compared: `48.9 million` is `48900000`."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from treadle._types.dates import replace_dates

_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_BY_TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: value for value, word in enumerate(_COUNTING.split())}
_TENS = {word: 10 * value for value, word in enumerate(_BY_TEN.split(), 2)}
_SCALES = {
    **dict.fromkeys(("hundred",), 100),
    **dict.fromkeys(("thousand", "k"), 1_000),
    **dict.fromkeys(("million", "millions", "mn"), 1_000_000),
    **dict.fromkeys(("billion", "billions", "bn"), 1_000_000_000),
}
_SIGNS = {"€": "euros", "$": "dollars", "£": "pounds", "¥": "yen"}
_MONEY = re.compile(rf"([{''.join(_SIGNS)}])\s?(\d[\d,.]*\d|\d)((?:\s?(?:{'|'.join(_SCALES)})\b)?)", re.IGNORECASE)
_ONES, _TEENS = "|".join(list(_UNITS)[1:10]), "|".join(list(_UNITS)[13:])
_SPELLED = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({_ONES}))?|({_TEENS}))\b", re.IGNORECASE)
_WHOLE = r"\d[\d,]{0,40}"
"""Bounded, as it is read anew from every comma in it."""
_SCALED = re.compile(rf"\b({_WHOLE}(?:\.\d+)?|{'|'.join(list(_UNITS)[1:])})[ -]?({'|'.join(_SCALES)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"(?<=\d)\s?(?:%|per cent\b)")
_WORTH_IT = re.compile(rf"\d|{'|'.join((*_TENS, *list(_UNITS)[13:], 'hundred', 'thousand', 'illion'))}", re.IGNORECASE)


def canonical(text: str) -> str:
    """The text with its numbers and dates written in one way."""
    if _WORTH_IT.search(text) is None:
        return text
    text = replace_dates(text, lambda year, month, day: date(year, month, day).isoformat() if year else None)
    text = _MONEY.sub(lambda match: f"{match[2]}{match[3]} {_SIGNS[match[1]]}", text)
    text = _SPELLED.sub(_spelled, text)
    text = _SCALED.sub(_scaled, text)
    return _PERCENT.sub(" percent", text)


def _spelled(match: re.Match[str]) -> str:
    tens, units, teens = match[1], match[2], match[3]
    if teens:
        return str(_UNITS[teens.casefold()])
    return str(_TENS[tens.casefold()] + (_UNITS[units.casefold()] if units else 0))


def _scaled(match: re.Match[str]) -> str:
    low = match[1].casefold()
    value = Decimal(_UNITS[low]) if low in _UNITS else Decimal(low.replace(",", ""))
    product = value * _SCALES[match[2].casefold()]
    return f"{product.normalize():f}"
