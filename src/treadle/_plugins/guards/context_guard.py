"""ContextGuard: keeps every request of the loop within its limit of tokens.

Long single messages are cut first; then old results that can be had again; where that is not enough, the oldest turns
are replaced by a summary; then they are omitted. It works in large steps, down to about half the limit, so that the
prefix stays as it is for many rounds.
"""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.requests.estimate import size_of
from treadle._plugins.guards.compaction import (
    chars_for,
    is_summary,
    omission_note,
    summarise,
    summarise_until,
    transcript_of,
)
from treadle._plugins.guards.paging import READ_MORE
from treadle._plugins.state_queries import OLD_RESULTS, last_note
from treadle._safety.bounds import Amount, Share, bounded
from treadle._tools.results import cut
from treadle._types.errors import ContextOverflowError
from treadle._types.events import ContextCompacted, Noted
from treadle._types.messages import (
    AssistantMessage,
    Content,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.state_values import Entry, groups

SUMMARY = "Summary of what came before:\n"
_MIN_MESSAGE_TOKENS = 100
"""No message is cut to less than that."""
_OLD_CHARS = 120
"""What is left of an old result that is cut."""
_MIN_LEARNT_LIMIT = 1_000
"""Tokens. No overflow makes us believe in a smaller window."""
_LEARNT = "room"
"""The key of the note with the limit that an overflow has shown: the one that journals of version 0.1 have."""


class ContextGuard(Plugin):
    """Keeps the question, pinned messages, whole call/result groups, and the latest `keep` messages."""

    name = "context"
    harmless = True

    @bounded
    def __init__(self, *, keep: Amount = 4, goal: Share = 0.5, summarise: bool = True) -> None:
        self.keep = keep
        self.goal = goal
        self.summarise = summarise

    async def on_start(self, run: RunContext) -> None:
        await self.fit(run, hint="general", full=0.75)

    async def before_round(self, run: RunContext) -> None:
        if _has_limit(run):
            await self.fit(run)

    async def after_round(self, run: RunContext) -> None:
        # The limit may be reached now: the forced answer is asked for without another round.
        if _has_limit(run):
            await self.fit(run)

    async def before_finish(self, run: RunContext, answer: str) -> str:
        if run.settings.answer == "complete":
            await self.fit(run)
        return answer

    async def on_overflow(self, run: RunContext, error: ContextOverflowError) -> bool:
        used = run.next_request_tokens()
        limit = token_limit_of(run)
        if limit is None or used < limit:  # the provider knows better than our table or our estimate
            limit = used
            await run.emit(Noted(self.name, {_LEARNT: max(int(used * 0.9), _MIN_LEARNT_LIMIT)}))
        return await self._shrink(run, limit, "react_iteration")

    async def fit(self, run: RunContext, *, hint: str = "react_iteration", full: float = 0.95) -> None:
        """Make the next request shorter if it would take more than this share of the window."""
        limit = token_limit_of(run)
        if limit is not None and run.next_request_tokens() > limit * full:
            await self._shrink(run, limit, hint)

    async def _shrink(self, run: RunContext, limit: int, hint: str) -> bool:
        """Make the next request shorter. False when nothing more can be done."""
        before = run.next_request_tokens()
        await self._cut_long(run, limit // 8)
        await self._unpin(run, limit)
        if run.next_request_tokens() > limit * 0.75 and not await self._cut_old_results(run, limit):
            await self._compact(run, limit, hint)
        for keep in (self.keep, 1, 0):
            if run.next_request_tokens() > limit * 0.9:
                await self._omit(run, keep, limit)
                await self._cut_long(run, limit // 16, pins=False)
        return run.next_request_tokens() < before

    async def _cut_long(self, run: RunContext, length: int, *, pins: bool = True) -> None:
        """Cut every message of more than twice this length to it; the question never."""
        length = max(length, _MIN_MESSAGE_TOKENS)
        replaced: dict[int, Content] = {}
        for entry in run.state.conversation.window:
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
            count = len(run.state.conversation.window)
            await run.emit(
                ContextCompacted(replaced=replaced, original_messages=count, kept_messages=count, reason="cut")
            )

    async def _cut_old_results(self, run: RunContext, limit: int) -> bool:
        """Cut what old calls gave, if the model can have it again and the goal is reached by it: otherwise a summary is
        made of the whole. A reviewed model would not ask again."""
        if run.reply_policy is not None:
            return False
        replaced: dict[int, Content] = {}
        size = 0
        for entry in (entry for group in self._removable(run, self.keep) for entry in group):
            message = entry.message
            if not isinstance(message, ToolMessage) or not (again := _how_to_have_again(run, message)):
                continue
            text = text_of(message.content)
            if len(text) > 3 * _OLD_CHARS:
                replaced[entry.seq] = f"{cut(text, _OLD_CHARS)}\n{again}"
                size += size_of(message) - size_of(UserMessage(replaced[entry.seq]))
        if run.next_request_tokens() - run.estimator.of_size(size) > limit * self.goal:
            return False
        count = len(run.state.conversation.window)
        await run.emit(
            ContextCompacted(replaced=replaced, original_messages=count, kept_messages=count, reason=OLD_RESULTS)
        )
        return True

    async def _unpin(self, run: RunContext, limit: int) -> None:
        """When pinned messages take over half the limit, only the question and the newest interrupt stay pinned."""
        pinned = [entry for entry in run.state.conversation.window if is_pinned(entry)]
        if run.estimator.of_size(_size(pinned)) <= limit // 2:
            return
        interrupts = [entry.seq for entry in pinned if entry.component != "question"]
        if len(interrupts) > 1:
            count = len(run.state.conversation.window)
            event = ContextCompacted(
                unpinned=tuple(interrupts[:-1]), original_messages=count, kept_messages=count, reason="unpinned"
            )
            await run.emit(event)

    async def _compact(self, run: RunContext, limit: int, hint: str) -> None:
        """Replace the oldest turns by a summary, as many as it takes to come down to the goal."""
        length = limit // 8
        surplus = run.next_request_tokens() + length - limit * self.goal
        covered: list[Entry] = []
        removable = self._removable(run, self.keep)
        for index, group in enumerate(removable):
            # An earlier summary always goes into the new one: there are never two.
            if surplus <= 0 and not any(is_summary(later[0].message) for later in removable[index:]):
                break
            covered += group
            surplus -= run.estimator.of_size(_size(group))
        messages = [entry.message for entry in covered]
        if all(map(is_summary, messages)):
            return
        summary = await _summary(run, covered, limit, hint) if self.summarise else ""
        if summary:
            await self._replace(run, covered, SUMMARY + cut(summary, chars_for(run, summary, length)), "compacted")
        else:
            await self._replace(run, covered, omission_note(messages, int(length * run.estimator.ratio)), "truncated")

    async def _omit(self, run: RunContext, keep: int, limit: int) -> None:
        covered = [entry for group in self._removable(run, keep) for entry in group]
        messages = [entry.message for entry in covered]
        if not all(map(is_summary, messages)):
            await self._replace(
                run, covered, omission_note(messages, int(limit // 8 * run.estimator.ratio)), "truncated"
            )
        elif covered and not keep:
            await self._replace(run, covered, "", "truncated")

    async def _replace(self, run: RunContext, covered: list[Entry], summary: str, reason: str) -> None:
        size = _size(covered)
        if size_of(UserMessage(summary)) >= size:  # every step must make it shorter
            summary = cut(summary, size // 2) if size > 100 else ""
        count = len(run.state.conversation.window)
        kept = count - len(covered) + bool(summary)
        covers = tuple(entry.seq for entry in covered)
        await run.emit(ContextCompacted(covers, summary, original_messages=count, kept_messages=kept, reason=reason))

    def _removable(self, run: RunContext, keep: int) -> list[list[Entry]]:
        """The groups that may go, oldest first: not pinned, and not among those with the latest `keep` messages."""
        removable = list(groups(run.state.conversation.window))
        latest: list[list[Entry]] = []
        while removable and sum(map(len, latest)) < keep:
            latest.insert(0, removable.pop())
        removable += [group for group in latest if is_summary(group[0].message)]  # what a summary tells is never recent
        return [group for group in removable if not any(map(is_pinned, group))]


async def _summary(run: RunContext, covered: list[Entry], limit: int, hint: str) -> str:
    summary = await summarise_until(run, covered[-1].seq, hint=hint, tokens=limit // 8)
    if summary is not None:
        return summary
    text = transcript_of([entry.message for entry in covered], int(limit * 0.6 * run.estimator.ratio))
    return await summarise(run, text, hint=hint, tokens=limit // 8)


def _how_to_have_again(run: RunContext, message: ToolMessage) -> str:
    if READ_MORE in run.state.tool_names():
        return f'[an old result, cut to save room: {READ_MORE}(result="{message.call_id}")]'
    tool = run.toolkit.get(message.name)
    again = tool is not None and tool.effect == "pure"
    return f"[an old result, cut to save room: call {message.name} again if you need it]" if again else ""


def _has_limit(run: RunContext) -> bool:
    """Return whether there may be a limit: a known one, or one that an overflow has shown."""
    return run.counts_tokens or ContextGuard.name in run.state.notes


def token_limit_of(run: RunContext) -> int | None:
    """The limit of one request in tokens: the known one, or a lower one that an overflow has shown."""
    learnt = last_note(run.state, ContextGuard.name, _LEARNT)
    if learnt is None:
        return run.token_limit
    limits = [limit for limit in (run.token_limit, learnt) if isinstance(limit, int)]
    return min(limits) if limits else None


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
