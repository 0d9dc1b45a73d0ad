"""Conversations as a list shows them: runs under one id."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from treadle._journal.base import RunInfo


class Conversation(Struct, frozen=True):
    """One line about a conversation, for lists."""

    id: str
    title: str
    agent: str
    runs: int
    last_run: str
    status: str
    """Of its newest run: running | paused | finished"""
    created: float
    updated: float


def group(infos: Iterable[RunInfo]) -> list[Conversation]:
    """Runs, newest first, as conversations, the one that changed last first."""
    groups: dict[str, list[RunInfo]] = {}
    for info in infos:
        groups.setdefault(info.conversation or info.run_id, []).append(info)
    found = [
        Conversation(
            id=name,
            title=" ".join(runs[-1].question.split())[:120],
            agent=runs[0].agent,
            runs=len(runs),
            last_run=runs[0].run_id,
            status=runs[0].status,
            created=runs[-1].created,
            updated=max(run.updated for run in runs),
        )
        for name, runs in groups.items()
    ]
    return sorted(found, key=lambda conversation: -conversation.updated)
