"""The product's own tool for date and time, standing still: the same description, at a moment that is made up."""

from __future__ import annotations

import datetime
import random
from zoneinfo import ZoneInfo

from training.worlds import words as w
from treadle import Tool
from treadle._tools.builtin import builtin

ZONES = {
    "Tokyo": "Asia/Tokyo",
    "New York": "America/New_York",
    "Cairo": "Africa/Cairo",
    "Sydney": "Australia/Sydney",
    "Lisbon": "Europe/Lisbon",
    "Delhi": "Asia/Kolkata",
    "Helsinki": "Europe/Helsinki",
    "Mexico City": "America/Mexico_City",
    "Reykjavik": "Atlantic/Reykjavik",
    "Seoul": "Asia/Seoul",
}


class Moment:
    def __init__(self, r: random.Random) -> None:
        text = f"{w.date(r)}T{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:00+00:00"
        self.utc = datetime.datetime.fromisoformat(text)

    def at(self, zone: str) -> datetime.datetime:
        return self.utc.astimezone(ZoneInfo(zone or "UTC"))

    def tool(self) -> Tool:
        own: Tool = builtin("datetime")

        def now(timezone: str = "") -> str:
            moment = self.at(timezone)
            return f"{moment:%A, %Y-%m-%d %H:%M} ({moment.tzname()}, UTC{moment:%z})"

        return Tool(own.name, own.description, own.parameters, now, effect="pure")


def clock(r: random.Random) -> Tool:
    return Moment(r).tool()
