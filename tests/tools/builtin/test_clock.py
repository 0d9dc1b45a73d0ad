"""The date and the time."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

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


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd"])
def test_a_zone_that_is_none(zone: str):
    with pytest.raises(ToolError, match="use a name such as"):
        now(timezone=zone)
