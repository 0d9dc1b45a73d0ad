"""The date and the time, and facts about other dates."""

from __future__ import annotations

from datetime import date as day_of
from datetime import datetime as moment_of

from treadle._tools.base import Tool
from treadle._tools.function import tool
from treadle._types.errors import ToolError

_FORMS = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d.%m.%Y", "%Y/%m/%d", "%Y.%m.%d")
"""Forms of a date in which day and month cannot be taken for one another, beside 2026-12-25."""


def datetime() -> Tool:
    """Tells the date and the time, and the weekday of any date."""
    return _now


@tool(name="datetime", effect="pure", timeout=5.0)
def _now(date: str = "", until: str = "", timezone: str = "") -> str:
    """Tell the current date and time; or for a date: its weekday, and how many days it is from today or until another.

    Args:
        date: A date as YYYY-MM-DD; empty for now.
        until: Another date, to count the days from `date` to it.
        timezone: A time zone such as Europe/Paris; empty for the one of this machine.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        moment = moment_of.now(ZoneInfo(timezone)) if timezone.strip() else moment_of.now().astimezone()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {timezone!r}: use a name such as Europe/Paris or UTC") from None
    today = moment.date()
    if until.strip():
        first, last = _day(date, today), _day(until, today)
        return f"{_named(first)} to {_named(last)}: {(last - first).days} days"
    if date.strip():
        day = _day(date, today)
        return f"{_named(day)} is {_from_today((day - today).days)}"
    # No seconds: a model that asks again gets the same answer, and the loop guard can tell it so.
    return f"{moment:%A, %Y-%m-%d %H:%M} ({moment.tzname()}, UTC{moment:%z})"


def _day(text: str, today: day_of) -> day_of:
    plain = " ".join(text.replace(",", " ").split())
    if plain.lower() in ("", "today", "now"):
        return today
    try:
        return day_of.fromisoformat(plain[:10] if plain[10:11] in ("T", " ") else plain)
    except ValueError:
        pass
    for form in _FORMS:
        try:
            return moment_of.strptime(plain, form).date()
        except ValueError:
            continue
    raise ToolError(f"{text!r} is not a date: write it as YYYY-MM-DD, such as {today:%Y-%m-%d}")


def _named(day: day_of) -> str:
    return f"{day:%A}, {day.isoformat()}"


def _from_today(days: int) -> str:
    if not days:
        return "today"
    count = f"{abs(days)} day" + "s" * (abs(days) != 1)
    return f"{count} from today" if days > 0 else f"{count} ago"
