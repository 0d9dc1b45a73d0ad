"""HistoryTrim: drops the oldest messages above a number, together with the results of their calls."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._types.events import ContextCompacted
from treadle._types.messages import UserMessage
from treadle._types.state_values import Entry, groups


class HistoryTrim(Plugin):
    """The number is `max_history_messages`; pinned messages stay."""

    name = "trim"
    harmless = True

    async def before_round(self, run: RunContext) -> None:
        limit = run.settings.max_history_messages
        window = run.state.conversation.window
        if limit is None or len(window) <= limit:
            return
        dropped = oldest_groups(window, keep=limit)
        if dropped:
            left = len(window) - len(dropped)
            await run.emit(
                ContextCompacted(tuple(dropped), original_messages=len(window), kept_messages=left, reason="trim")
            )


def oldest_groups(window: list[Entry], keep: int) -> list[int]:
    """The `seq` of the oldest messages, in whole groups; at most `keep` are left. The newest group always stays."""
    left = len(window)
    dropped: list[int] = []
    for group in list(groups(window))[:-1]:
        if left <= keep:
            break
        if any(isinstance(entry.message, UserMessage) and entry.message.pinned for entry in group):
            continue
        dropped.extend(entry.seq for entry in group)
        left -= len(group)
    return dropped
