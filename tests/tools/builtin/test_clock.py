"""The date and the time."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from kit import row
from treadle._tools.builtin import builtin
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ToolError


def now(**args: Any) -> str:
    tool = Toolkit([builtin("datetime")]).get("datetime")
    assert tool is not None
    return asyncio.run(_called(tool.execute, args))


async def _called(execute: Any, args: dict[str, Any]) -> str:
    value = execute(**args)
    return await value if asyncio.iscoroutine(value) else value


def test_here_and_elsewhere():
    form = re.compile(r"[A-Z][a-z]+day, \d{4}-\d\d-\d\d \d\d:\d\d \(.+, UTC[+-]\d{4}\)")
    assert form.fullmatch(now())
    assert now(timezone="UTC").endswith("(UTC, UTC+0000)")


def test_a_zone_that_is_none():
    for zone in ("Mars/Olympus", "../../etc/passwd", "/etc/passwd"):
        with row(zone), pytest.raises(ToolError, match="use a name such as"):
            now(timezone=zone)


def test_the_weekday_of_any_date():
    for date, named in (
        ("2026-12-25", "Friday, 2026-12-25"),
        ("2026-12-25T10:00", "Friday, 2026-12-25"),
        ("1969-07-20", "Sunday, 1969-07-20"),
        ("25.12.2026", "Friday, 2026-12-25"),
        ("25 December 2026", "Friday, 2026-12-25"),
        ("Dec 25, 2026", "Friday, 2026-12-25"),
    ):
        assert now(date=date).startswith(f"{named} is "), date


def test_how_far_a_date_is():
    assert now(date="2024-02-28", until="2024-03-01") == "Wednesday, 2024-02-28 to Friday, 2024-03-01: 2 days"
    assert now(date="2024-03-01", until="2024-02-28").endswith(": -2 days")
    today = now(timezone="UTC")[-30:]
    assert re.search(r" is \d+ days ago$", now(date="2000-01-01")), today
    assert re.search(r" is \d+ days from today$", now(date="9000-01-01"))
    assert now(date="today").endswith(" is today")


def test_what_is_no_date_is_refused_with_the_form():
    for date in ("12/11/2026", "2026-13-01", "2026-02-30", "soon", "9" * 400, "2026-12-25; rm"):
        with row(date), pytest.raises(ToolError, match="write it as YYYY-MM-DD"):
            now(date=date)
