"""Runs by what a user types."""

from __future__ import annotations

from treadle._journal import Journal, RunInfo
from treadle._types.errors import RunNotFoundError

_LOOKED_AT = 100_000


async def find_run(journal: Journal, typed: str) -> str:
    """The id that `typed` means: a whole one, the unique beginning of one, or `last`."""
    if typed == "last":
        newest = await journal.list(limit=1, parent="")
        if not newest:
            raise RunNotFoundError('no run is recorded yet: treadle run "question" makes one')
        return newest[0].run_id
    infos = await journal.list(limit=_LOOKED_AT)
    if any(info.run_id == typed for info in infos):
        return typed
    # The id of a sub-agent's run begins with its parent's: that one is meant.
    found = [info for info in infos if typed and info.run_id.startswith(typed)]
    top = [info for info in found if not info.parent] or found
    if len(top) == 1:
        return top[0].run_id
    if not top:
        raise RunNotFoundError(f"there is no run {typed!r} in this journal; treadle runs list shows them")
    shown = ", ".join(info.run_id[: len(typed) + 6] for info in top[:5])
    raise RunNotFoundError(f"{typed!r} is the beginning of several runs: {shown}{' ...' if len(top) > 5 else ''}")


def status_of(info: RunInfo) -> str:
    return info.stop_reason or "finished" if info.status == "finished" else info.status
