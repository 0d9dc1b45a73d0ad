"""Conversations: runs under one id. The next question sees what the last run saw and said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.journal.base import RunInfo
from treadle.types.events import Record
from treadle.types.messages import AssistantMessage, Message, UserMessage
from treadle.types.state import fold

_ANSWERED = ("answer", "final_tool", "limit", "budget", "stuck")


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


def history_after(records: Sequence[Record]) -> list[Message]:
    """What a run leaves for the next one: its whole conversation, without the engine's own asides, and the answer it gave."""
    state = fold(records)
    messages: list[Message] = []
    for message in state.messages():
        if isinstance(message, UserMessage) and message.kind in ("note", "reformat"):
            if message.kind == "reformat" and messages and isinstance(messages[-1], AssistantMessage) and not messages[-1].calls:
                messages.pop()  # the reply that could not be read
            continue
        messages.append(UserMessage(message.content, kind="history") if isinstance(message, UserMessage) else message)
    finished = state.finished
    if finished is not None and finished.stop_reason in _ANSWERED and finished.answer:
        last = messages[-1] if messages else None
        if isinstance(last, AssistantMessage) and not last.calls:
            messages.pop()  # the loop's draft of the same answer
        messages.append(AssistantMessage(finished.answer))
    return messages
