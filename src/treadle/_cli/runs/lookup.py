"""Find the run that a user names."""

from __future__ import annotations

from treadle._journal import Journal, RunInfo
from treadle._types.errors import RunNotFoundError

_MAX_RUNS = 100_000


async def find_run(journal: Journal, typed: str) -> str:
    """The id that `typed` stands for: a complete id, its unique first characters, or `last`."""
    if typed == "last":
        newest = await journal.list(limit=1, parent="")
        if not newest:
            raise RunNotFoundError('there are no recorded runs yet: start one with treadle run "question"')
        return newest[0].run_id
    infos = await journal.list(limit=_MAX_RUNS)
    if any(info.run_id == typed for info in infos):
        return typed
    # The id of a sub-agent's run begins with its parent's id; then the parent is meant.
    matches = [info for info in infos if typed and info.run_id.startswith(typed)]
    candidates = [info for info in matches if not info.parent] or matches
    if len(candidates) == 1:
        return candidates[0].run_id
    if not candidates:
        raise RunNotFoundError(f"there is no run {typed!r} in this journal: treadle runs list shows the runs")
    ids = ", ".join(info.run_id[: len(typed) + 6] for info in candidates[:5])
    raise RunNotFoundError(f"{typed!r} matches several runs: {ids}{' ...' if len(candidates) > 5 else ''}")


def status_of(info: RunInfo) -> str:
    return info.stop_reason or "finished" if info.status == "finished" else info.status
