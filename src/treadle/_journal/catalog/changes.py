"""Changes to what is known of a run, the same in every journal: people's notes, and summaries of older runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from treadle._journal.base import Journal, RunInfo
from treadle._journal.catalog.values import Annotations, summary_of
from treadle._types.errors import CorruptLogError, RunBusyError, RunNotFoundError
from treadle._types.state import fold


def annotations_of(info: RunInfo) -> Annotations:
    return Annotations(info.tags, info.note, info.thumb, info.title)


def with_annotations(info: RunInfo, noted: Annotations) -> RunInfo:
    return msgspec.structs.replace(info, tags=noted.tags, note=noted.note, thumb=noted.thumb, title=noted.title)


async def summarise_older(journal: Journal, runs: Sequence[str]) -> None:
    """Summarise runs that ended before summaries were kept, or whose process died before it wrote one."""
    for run_id in runs:
        try:
            records = await journal.load(run_id, salvage=True)
        except RunNotFoundError:
            continue  # deleted meanwhile
        except CorruptLogError:
            records = []  # counted as failed: it must not be tried again each time
        await journal.summarise(run_id, *summary_of(fold(records)))


async def delete_runs(journal: Journal, runs: Sequence[str]) -> list[str]:
    """Delete the runs that nobody drives, each by itself: other writers get their turn."""
    deleted: list[str] = []
    for run in runs:
        with suppress(RunBusyError, RunNotFoundError):
            await journal.delete(run)
            deleted.append(run)
    return deleted
