"""The date and the time."""

from __future__ import annotations

from treadle._tools.base import Tool
from treadle._tools.function import tool
from treadle._types.errors import ToolError


def datetime() -> Tool:
    """Tells the date and the time."""
    return _now


@tool(name="datetime", effect="pure", timeout=5.0)
def _now(timezone: str = "") -> str:
    """Tell the current date and time.

    Args:
        timezone: A time zone such as Europe/Paris; empty for the one of this machine.
    """
    from datetime import datetime as moment_of
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        moment = moment_of.now(ZoneInfo(timezone)) if timezone.strip() else moment_of.now().astimezone()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {timezone!r}: use a name such as Europe/Paris or UTC") from None
    # No seconds: a model that asks again gets the same answer, and the loop guard can tell it so.
    return f"{moment:%A, %Y-%m-%d %H:%M} ({moment.tzname()}, UTC{moment:%z})"
