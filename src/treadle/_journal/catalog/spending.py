"""What was spent under a key (a tenant on a day), by all processes that share a journal."""

from __future__ import annotations

from collections.abc import Sequence
from time import time as current_time

import msgspec

from treadle._journal.catalog.statements import Steps
from treadle._journal.catalog.values import Fits
from treadle._types.usage import NO_USAGE, Usage

SQLITE = ("CREATE TABLE spending(key TEXT PRIMARY KEY, usage TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID",)
POSTGRES = "CREATE TABLE {s}.spending(key text PRIMARY KEY, usage text NOT NULL, time float8 NOT NULL);"
_MEMORY = 400 * 86400.0
"""Seconds that sums of days and months are stored."""


def spent(keys: Sequence[str]) -> Steps[dict[str, Usage]]:
    found: dict[str, Usage] = {}
    for key in keys:
        if rows := (yield "SELECT usage FROM {s}spending WHERE key = :key", {"key": key}):
            found[key] = msgspec.json.decode(rows[0][0], type=Usage)
    return found


def spend(keys: Sequence[str], amount: Usage, fits: Fits) -> Steps[bool]:
    """Add an amount to all sums, or to none. Nobody else may do the same meanwhile."""
    stored = yield from spent(keys)
    sums = {key: stored.get(key, NO_USAGE) + amount for key in keys}
    if not all(fits(key, total) for key, total in sums.items()):
        return False
    now = current_time()
    if len(stored) < len(sums):
        old = "DELETE FROM {s}spending WHERE time < :since AND (key LIKE 'day:%' OR key LIKE 'month:%')"
        yield old, {"since": now - _MEMORY}
    for key, total in sums.items():
        yield (
            "INSERT INTO {s}spending(key, usage, time) VALUES(:key, :usage, :time) "
            "ON CONFLICT(key) DO UPDATE SET usage = excluded.usage, time = excluded.time",
            {"key": key, "usage": msgspec.json.encode(total).decode(), "time": now},
        )
    return True
