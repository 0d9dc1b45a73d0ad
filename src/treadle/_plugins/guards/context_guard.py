"""Context guard (L80 to L84): keeps every request of the loop within its room.

Over-long single messages are cut first; then the oldest turns are replaced by a summary; then they are left out. It works
in large steps, down to about half the room, so that the prefix stays as it is for many rounds.
"""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.requests.estimate import size_of
from treadle._plugins.guards.compaction import chars_for, is_summary, left_out, record_of, summarise
from treadle._plugins.state_queries import last_note
from treadle._tools.results import cut
from treadle._types.errors import ContextOverflowError
from treadle._types.events import ContextCompacted, Noted
from treadle._types.messages import AssistantMessage, Content, SystemMessage, TextPart, UserMessage, text_of
from treadle._types.state import groups
from treadle._types.state_values import Entry

SUMMARY = "Summary of what came before:\n"
_SHORTEST = 100
"""Tokens. No message is cut to less than that."""
_SMALLEST_ROOM = 1_000
"""Tokens. No overflow makes us believe in a smaller window."""


class ContextGuard(Plugin):
    """Keeps the question, pinned messages, whole call/result groups, and the latest `keep` messages."""

    name = "context"

    def __init__(self, *, keep: int = 4, goal: float = 0.5, summarise: bool = True) -> None:
        self.keep = keep
        self.goal = goal
        self.summarise = summarise

    async def on_start(self, run: RunContext) -> None:
        await self.fit(run, hint="general", full=0.75)

    async def before_round(self, run: RunContext) -> None:
        if _bounded(run):
            await self.fit(run)

    async def after_round(self, run: RunContext) -> None:
        # The limit may be reached now: the forced answer is asked for without another round.
        if _bounded(run):
            await self.fit(run)

    async def before_finish(self, run: RunContext, answer: str) -> str:
        if run.settings.answer == "complete":
            await self.fit(run)
        return answer

    async def on_overflow(self, run: RunContext, error: ContextOverflowError) -> bool:
        used = run.next_request_tokens()
        room = room_of(run)
        if room is None or used < room:  # the provider knows better than our table or our estimate
            room = used
            await run.emit(Noted(self.name, {"room": max(int(used * 0.9), _SMALLEST_ROOM)}))
        return await self._shrink(run, room, "react_iteration")

    async def fit(self, run: RunContext, *, hint: str = "react_iteration", full: float = 0.95) -> None:
        room = room_of(run)
        if room is not None and run.next_request_tokens() > room * full:
            await self._shrink(run, room, hint)

    async def _shrink(self, run: RunContext, room: int, hint: str) -> bool:
        """Make the next request shorter. False when nothing more can be done."""
        before = run.next_request_tokens()
        await self._cut_long(run, room // 8)
        await self._unpin(run, room)
        if run.next_request_tokens() > room * 0.75:
            await self._compact(run, room, hint)
        for keep in (self.keep, 1, 0):
            if run.next_request_tokens() > room * 0.9:
                await self._leave_out(run, keep, room)
                await self._cut_long(run, room // 16, pins=False)
        return run.next_request_tokens() < before

    async def _cut_long(self, run: RunContext, length: int, *, pins: bool = True) -> None:
        """Cut every message of more than twice this length to it; the question never."""
        length = max(length, _SHORTEST)
        replaced: dict[int, Content] = {}
        for entry in run.state.window:
            message = entry.message
            if (
                isinstance(message, SystemMessage | AssistantMessage)
                or entry.component == "question"
                or (is_pinned(entry) and not pins)
            ):
                continue
            if (
                run.estimator.of_size(size_of(message)) > 2 * length
                and (shorter := _shorter(run, message.content, length)) != message.content
            ):
                replaced[entry.seq] = shorter
        if replaced:
            count = len(run.state.window)
            await run.emit(
                ContextCompacted(replaced=replaced, original_messages=count, kept_messages=count, reason="cut")
            )

    async def _unpin(self, run: RunContext, room: int) -> None:
        """Pins over half the room: only the question and the newest interrupt stay pinned."""
        pinned = [entry for entry in run.state.window if is_pinned(entry)]
        if run.estimator.of_size(_size(pinned)) <= room // 2:
            return
        interrupts = [entry.seq for entry in pinned if entry.component != "question"]
        if len(interrupts) > 1:
            count = len(run.state.window)
            event = ContextCompacted(
                unpinned=tuple(interrupts[:-1]), original_messages=count, kept_messages=count, reason="unpinned"
            )
            await run.emit(event)

    async def _compact(self, run: RunContext, room: int, hint: str) -> None:
        """Replace as many of the oldest turns by a summary as it takes to come down to the goal."""
        length = room // 8
        surplus = run.next_request_tokens() + length - room * self.goal
        covered: list[Entry] = []
        old = self._old(run, self.keep)
        for place, unit in enumerate(old):
            if surplus <= 0 and not any(is_summary(later[0].message) for later in old[place:]):  # never two of them
                break
            covered += unit
            surplus -= run.estimator.of_size(_size(unit))
        messages = [entry.message for entry in covered]
        if all(map(is_summary, messages)):
            return
        text = record_of(messages, int(room * 0.6 * run.estimator.ratio))
        summary = await summarise(run, text, hint=hint, tokens=length) if self.summarise else ""
        if summary:
            await self._replace(run, covered, SUMMARY + cut(summary, chars_for(run, summary, length)), "compacted")
        else:
            await self._replace(run, covered, left_out(messages, int(length * run.estimator.ratio)), "truncated")

    async def _leave_out(self, run: RunContext, keep: int, room: int) -> None:
        covered = [entry for unit in self._old(run, keep) for entry in unit]
        messages = [entry.message for entry in covered]
        if not all(map(is_summary, messages)):
            await self._replace(run, covered, left_out(messages, int(room // 8 * run.estimator.ratio)), "truncated")
        elif covered and not keep:
            await self._replace(run, covered, "", "truncated")

    async def _replace(self, run: RunContext, covered: list[Entry], summary: str, reason: str) -> None:
        size = _size(covered)
        if size_of(UserMessage(summary)) >= size:  # every step must make it shorter
            summary = cut(summary, size // 2) if size > 100 else ""
        count = len(run.state.window)
        kept = count - len(covered) + bool(summary)
        covers = tuple(entry.seq for entry in covered)
        await run.emit(ContextCompacted(covers, summary, original_messages=count, kept_messages=kept, reason=reason))

    def _old(self, run: RunContext, keep: int) -> list[list[Entry]]:
        """The groups that may go, oldest first: not pinned, and not among those with the latest `keep` messages."""
        units = list(groups(run.state.window))
        latest: list[list[Entry]] = []
        while units and sum(map(len, latest)) < keep:
            latest.insert(0, units.pop())
        units += [unit for unit in latest if is_summary(unit[0].message)]  # which is never recent: what it tells is old
        return [unit for unit in units if not any(map(is_pinned, unit))]


def _bounded(run: RunContext) -> bool:
    """Whether there may be a limit at all: one that is known, or one that an overflow has taught."""
    return run.counts_tokens or ContextGuard.name in run.state.notes


def room_of(run: RunContext) -> int | None:
    """The room as it is known, or as an overflow has taught it."""
    learnt = last_note(run.state, ContextGuard.name, "room")
    if learnt is None:
        return run.token_limit
    rooms = [room for room in (run.token_limit, learnt) if isinstance(room, int)]
    return min(rooms) if rooms else None


def is_pinned(entry: Entry) -> bool:
    return isinstance(entry.message, UserMessage) and entry.message.pinned


def _size(entries: list[Entry]) -> int:
    return sum(size_of(entry.message) for entry in entries)


def _shorter(run: RunContext, content: Content, tokens: int) -> Content:
    text = text_of(content)
    short = cut(text, chars_for(run, text, tokens))
    if isinstance(content, str):
        return short
    images = tuple(part for part in content if not isinstance(part, TextPart))
    return (TextPart(short), *images)
