"""Dates in a text, however they are written: `2025-01-05`, `January 5th, 2025`, `5. Januar 2025`, `5.1.2025`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

_MONTHS = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, whole in enumerate(names.split(), 1)
    for name in (whole, whole[:3], whole[:4])
}
MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MONTH = rf"(?P<month>{MONTH})\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})", r"(?P<year>\d{4})"
_FORMS = (
    re.compile(rf"(?<![\d-]){_YEAR}-(?P<number>\d{{1,2}})-{_DAY}(?![\d-])"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?\b(?:,?\s+{_YEAR}\b)?", re.IGNORECASE),
    re.compile(
        rf"\b{_DAY}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?{_MONTH}(?!\w)(?:,?\s+(?:de\s+|del\s+)?{_YEAR}\b)?",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_DAY}\.(?P<number>\d{{1,2}})\.{_YEAR}\b"),
    # Which of the two is the day is said only where the other order is no date.
    re.compile(rf"\b(?P<day>1[3-9]|[23]\d)/(?P<number>\d{{1,2}})/{_YEAR}\b"),
    re.compile(rf"\b(?P<number>\d{{1,2}})/(?P<day>1[3-9]|[23]\d)/{_YEAR}\b"),
)
_SPELLED = _FORMS[1:3]
_BEGINNINGS = frozenset(name[:3] for name in _MONTHS)
_IN_FIGURES = re.compile(r"\d[-./]\d")

Form = Callable[[int, int, int], str | None]


def replace_dates(text: str, form: Form) -> str:
    """Write each date of a text as `form(year, month, day)` does, or leave it where that is None.

    The year is 0 where the text does not say it. `5/6/2025` is left, since it can be read in two ways."""
    low = text.casefold()
    spelled = any(beginning in low for beginning in _BEGINNINGS)  # few texts have a date, and the forms are slow
    in_figures = _IN_FIGURES.search(text) is not None
    for pattern in _FORMS:
        if spelled if pattern in _SPELLED else in_figures:
            text = pattern.sub(lambda match: _replaced(match, form), text)
    return text


def _replaced(match: re.Match[str], form: Form) -> str:
    parts = match.groupdict()
    month = int(parts["number"]) if "number" in parts else _MONTHS[parts["month"].casefold()]
    year, day = int(parts["year"] or 0), int(parts["day"])
    try:
        date(year or 2000, month, day)
    except ValueError:
        return match[0]
    new = form(year, month, day)
    return match[0] if new is None else new
