"""Writes exchanges to a journal as runs: the records that the engine would have written, had it made the requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from treadle._dialects.native import NativeDialect
from treadle._dialects.registry import dialect_for
from treadle._engine.core.redaction import event_redactor
from treadle._engine.requests.render import Renderer
from treadle._engine.settings import Settings
from treadle._journal.base import Journal
from treadle._journal.catalog.values import summary_of
from treadle._journal.export import RECORDED
from treadle._record.contents import UnreadableError, whole
from treadle._record.conversations import Conversation, Conversations, fingerprint, question_of, text_of_question
from treadle._record.exchange import HttpExchange
from treadle._record.reading.asked import Asked
from treadle._record.reading.replies import Answered, profile_at, read_response
from treadle._record.reading.requests import protocol_of, read_request
from treadle._types.errors import JournalError, TreadleError
from treadle._types.events import (
    ChildSpent,
    Event,
    Exchanged,
    HistoryReplaced,
    MessageAdded,
    ModelSwitched,
    Record,
    RunFinished,
    RunStarted,
    ThinkDone,
    ThinkFailed,
    ThinkStarted,
    ToolDone,
    ToolsChanged,
    ToolStarted,
)
from treadle._types.ids import fresh_id
from treadle._types.messages import AssistantMessage, Message, ToolMessage, text_of
from treadle._types.profile import Profile

_FINAL_WORDS = ("final", "answer", "result", "output", "submit", "finish", "done")
_LOOP = "loop"


class RunWriter:
    """Writes exchanges to a journal, a run for each conversation."""

    def __init__(self, journal: Journal, agent: str, *, tag: str = RECORDED, resume: bool = True) -> None:
        self.runs = 0
        self._journal = journal
        self._agent = agent
        self._tag = tag
        self._owner = f"record-{fresh_id()}"
        self._open = Conversations()
        self._renderers: dict[str, Renderer] = {}
        self._resumed = not resume

    async def take(self, exchange: HttpExchange, clean: Callable[[str], str]) -> str:
        if exchange.method != "POST" or not (protocol := protocol_of(exchange.path)):
            protocols = "chat, Responses, Messages, generateContent, Ollama's chat"
            return f"{_kind(exchange.path)} is no request that becomes a run ({protocols})"
        if not self._resumed:
            self._resumed = True
            await self._resume_open()
        text = clean(whole(exchange.sent, exchange.request_encoding).decode(errors="replace"))
        try:
            asked = read_request(exchange.path, msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnreadableError(f"its request is no JSON that can be read: {error}") from None
        if asked is None:
            return "its request has no messages"
        answered = read_response(exchange, protocol, asked.model)
        await self.add(asked, answered, exchange, len(text))
        return ""

    async def add(self, asked: Asked, answered: Answered, exchange: HttpExchange, size: int) -> None:
        """Record one exchange."""
        prints = [fingerprint(message) for message in asked.messages]
        conversation = self._open.find(asked, prints)
        profile = profile_at(exchange.upstream, asked.protocol, asked.model)
        if conversation is None:
            conversation = await self._begin(asked, prints, profile, exchange)
        elif not (conversation.failed and list(prints) == conversation.prints):
            await self._go_on(conversation, asked, prints, profile, exchange)
        conversation.active = time.monotonic()
        try:
            await self._exchange(conversation, asked, answered, exchange, profile, size)
        except JournalError:
            self._forget(conversation)  # its state is ahead of its log now
            raise
        for silent in self._open.silent():
            await self._end(silent)

    async def finish(self) -> list[str]:
        """End every run, since the recorded program sends no more requests; return their ids."""
        runs, problem = [one.run for one in self._open.all()], None
        for conversation in self._open.all():
            try:
                await self._end(conversation)
            except TreadleError as error:
                problem = error
        if problem is not None:
            raise problem
        return runs

    async def close(self, *, ended: bool) -> None:
        try:
            if ended:
                await self.finish()
            else:
                for conversation in self._open.all():
                    await self._journal.release(conversation.run, self._owner)
        finally:
            await self._journal.aclose()

    # ---- one conversation

    async def _begin(
        self, asked: Asked, prints: Sequence[str], profile: Profile, exchange: HttpExchange
    ) -> Conversation:
        history, question, since = question_of(asked)
        parent = self._open.parent_of(text_of_question(question))
        conversation = Conversation(
            fresh_id(), parent=parent.run if parent else "", depth=parent.depth + 1 if parent else 0
        )
        conversation.asked(prints)
        self._renderers[conversation.run] = _renderer(profile)
        started = RunStarted(
            question.content,
            agent=self._agent,
            model=asked.model,
            system=asked.system,
            tools=asked.tools,
            history=history,
            depth=conversation.depth,
            profile=profile,
            origin="imported",
        )
        added = [MessageAdded(message, "recorded") for message in since]
        await self._store(conversation, exchange.began, started, *added)
        self.runs += 1
        if parent is not None:
            parent.children.append(conversation)
        self._open.add(conversation)
        await self._journal.claim(conversation.run, self._owner)
        await self._journal.annotate(conversation.run, tags=[self._tag])
        return conversation

    async def _go_on(
        self, conversation: Conversation, asked: Asked, prints: Sequence[str], profile: Profile, exchange: HttpExchange
    ) -> None:
        """Bring the run to where the program's next request is."""
        state = conversation.state
        if asked.previous:  # only what is new was sent
            prints = [*conversation.prints, *prints]
            asked = msgspec.structs.replace(
                asked, messages=(*(e.message for e in state.conversation.window), *asked.messages)
            )
        common = conversation.common(prints)
        events: list[Event] = [ChildSpent(child.run, child.state.usage) for child in conversation.children]
        if asked.model != state.model:
            events.append(ModelSwitched(asked.model, state.model, "the program asked another model", profile))
            self._renderers[conversation.run] = _renderer(profile)
        if asked.tools != state.tools and (asked.tools or not asked.previous):
            events.append(ToolsChanged(asked.tools, "the program offered other tools"))
        new = list(asked.messages[common:])
        paired, rest = self._results(conversation, new, exchange)
        events += paired
        system = asked.system if state.started is not None and asked.system != state.started.system else None
        system = None if asked.previous and not asked.system else system
        whole_history = common == len(conversation.prints) and (
            not state.calls.open or len(paired) == 2 * len(state.calls.open)
        )
        if whole_history:
            if system is not None:
                events.append(HistoryReplaced(len(conversation.prints), (), system, "the system prompt changed"))
                if paired:  # the results are in the window before it
                    events[-1] = msgspec.structs.replace(
                        events[-1], kept=len(conversation.prints) + len(state.calls.open)
                    )
            events += [MessageAdded(message, "recorded") for message in rest]
        else:
            why = "a reply was rewritten" if common >= conversation.sent else "earlier messages were changed"
            events.append(HistoryReplaced(common, tuple(new), system, why))
        conversation.asked(prints)
        conversation.failed = False
        await self._store(conversation, exchange.began, *events)

    def _results(
        self, conversation: Conversation, new: Sequence[Message], exchange: HttpExchange
    ) -> tuple[list[Event], list[Message]]:
        """Return the results of the open calls, and the other messages."""
        waiting = {call.call.id: call.call for call in conversation.state.calls.open.values()}
        events: list[Event] = []
        rest: list[Message] = []
        elapsed = max(0.0, exchange.began - conversation.time)
        iteration = conversation.state.iteration
        in_text = not any(isinstance(message, ToolMessage) for message in new)
        rewritten = False
        """A reply has passed: what the user says after it may be results, written as plain text."""
        for message in new:
            call = None
            if isinstance(message, ToolMessage):
                call = waiting.get(message.call_id) or next(
                    (c for c in waiting.values() if c.name == message.name), None
                )
            elif in_text and rewritten and not isinstance(message, AssistantMessage):
                call = next(iter(waiting.values()), None)
            rewritten = rewritten or isinstance(message, AssistantMessage)
            if call is None:
                rest.append(message)
                continue
            del waiting[call.id]
            content = getattr(message, "content", "")
            error = "error" if getattr(message, "error", False) or _looks_failed(text_of(content)) else ""
            events += [
                ToolStarted(call, iteration),
                ToolDone(call.id, call.name, iteration, content, error, elapsed),
            ]
        return events, rest

    async def _exchange(
        self,
        conversation: Conversation,
        asked: Asked,
        answered: Answered,
        exchange: HttpExchange,
        profile: Profile,
        size: int,
    ) -> None:
        state, retried = conversation.state, conversation.failed
        iteration = state.iteration + 1
        conversation.attempt = conversation.attempt + 1 if retried else 1
        prefix = compared(conversation.pieces, asked.pieces, conversation.tokens, profile) if not retried else Prefix()
        exchanged = Exchanged(
            iteration,
            asked.protocol,
            exchange.status,
            exchange.ending,
            conversation.attempt,
            size,
            answered.received,
            answered.first_token,
            exchange.elapsed,
            **msgspec.structs.asdict(prefix),
        )
        if not retried:
            rendered = self._renderers[conversation.run].render(state)
            begun = ThinkStarted(_LOOP, iteration, rendered.digest, rendered.parts, rendered.system)
            await self._store(conversation, exchange.began, begun)
        ended = exchange.began + exchange.elapsed
        conversation.pieces = asked.pieces
        reply = answered.reply
        conversation.failed = reply is None
        if reply is None:
            failed = ThinkFailed(
                _LOOP, iteration, conversation.attempt, answered.problem[:500] or "no reply", None, answered.usage
            )
            await self._store(conversation, ended, exchanged, failed)
            return
        conversation.tokens, conversation.reply_id = answered.usage.input_tokens, reply.id
        decision = NativeDialect(text_calls=False).decode(reply, state.tools)
        message = AssistantMessage(reply.text, decision.calls, reply.reasoning, opaque=reply.opaque)
        done = ThinkDone(
            _LOOP,
            iteration,
            message,
            decision.thought,
            decision.answer,
            decision.problem,
            finish=reply.finish,
            usage=answered.usage,
            elapsed=exchange.elapsed,
        )
        await self._store(conversation, ended, exchanged, done)
        conversation.prints.append(fingerprint(state.conversation.window[-1].message))
        self._open.opened(conversation)

    async def _end(self, conversation: Conversation) -> None:
        """Write the last record, where it is clear how the run ended. A run with an open call stays open: it can be
        taken over."""
        finished = _end_of(conversation)
        try:
            if finished is not None:
                await self._store(conversation, conversation.time, finished)
                await self._journal.summarise(conversation.run, *summary_of(conversation.state))
            await self._journal.release(conversation.run, self._owner)
        finally:
            self._forget(conversation)

    async def _store(self, conversation: Conversation, when: float, *events: Event) -> None:
        redact = event_redactor()
        seq = conversation.state.seq
        conversation.time = max(conversation.time, when)
        records = [
            Record(
                conversation.run,
                seq + index,
                conversation.time,
                redact(event),
                conversation.parent,
                0,
                conversation.depth,
            )
            for index, event in enumerate(events, 1)
        ]
        if not records:
            return
        await self._journal.append(records)
        for record in records:
            conversation.state.apply(record)

    def _forget(self, conversation: Conversation) -> None:
        self._open.remove(conversation)
        self._renderers.pop(conversation.run, None)

    # ---- after a restart

    async def _resume_open(self) -> None:
        """Continue the conversations that an earlier recorder, which was killed, has left open."""
        for info in await self._journal.list(tag=self._tag, status="idle", limit=200):
            try:
                records = await self._journal.load(info.run_id)
            except TreadleError:
                continue
            conversation = Conversation(info.run_id, parent=records[0].parent, depth=records[0].depth)
            for record in records:
                conversation.state.apply(record)
            state = conversation.state
            if state.started is None or state.finished is not None:
                continue
            conversation.time = records[-1].time
            conversation.prints = [fingerprint(entry.message) for entry in state.conversation.window]
            replied = isinstance(records[-1].event, ThinkDone)
            conversation.sent = len(conversation.prints) - replied
            conversation.failed = not replied
            conversation.attempt = 1
            try:
                await self._journal.claim(info.run_id, self._owner)
            except TreadleError:
                continue  # somebody else drives it
            renderer = self._renderers[info.run_id] = _renderer(state.profile)
            renderer.render(state)
            self._open.add(conversation)
            self._open.opened(conversation)


def _kind(path: str) -> str:
    """The end of a path without ids, so that one kind of request is reported once."""
    last = path.rpartition("/")[2].rpartition(":")[2]
    return f".../{last}" if last.replace("_", "").isalpha() else "it"


def _renderer(profile: Profile) -> Renderer:
    settings = Settings()
    return Renderer(dialect_for("native", settings.complete_name), settings, profile)


def _end_of(conversation: Conversation) -> RunFinished | None:
    state = conversation.state
    if conversation.failed:
        return RunFinished("error", success=False, error="the last request got no reply", error_type="ModelError")
    if state.answer.candidate is not None:
        return RunFinished("answer", state.answer.candidate)
    calls = list(state.calls.open.values())
    if len(calls) == 1 and any(word in calls[0].call.name.lower() for word in _FINAL_WORDS):
        args = calls[0].call.args
        only = next(iter(args.values())) if len(args) == 1 else args
        return RunFinished("final_tool", only if isinstance(only, str) else msgspec.json.encode(only).decode())
    return None


def _looks_failed(text: str) -> bool:
    """Chat completions has no flag for a tool that failed: most programs begin the result with the word."""
    start = text.lstrip(" \n[{\"'(<").lower()
    return start.startswith(("error", "exception", "traceback", "tool error", "failed", "failure"))


_AROUND = 40
"""Bytes that are shown before and after the place where two requests differ."""


class Prefix(Struct, frozen=True):
    """The fields of `Exchanged` about the request before."""

    compared: int = 0
    kept: int = 0
    broke: str = ""
    before: str = ""
    after: str = ""
    lost_tokens: int = 0
    lost_cost: float | None = None


def compared(
    earlier: Sequence[tuple[str, bytes]], now: Sequence[tuple[str, bytes]], tokens: int, profile: Profile
) -> Prefix:
    """How much of the earlier request this one begins with. `tokens` are those of the earlier one."""
    if not earlier:
        return Prefix()
    total = sum(len(data) for _, data in earlier)
    equal = 0
    for index, (name, data) in enumerate(earlier):
        other_name, other = now[index] if index < len(now) else ("", b"")
        if name == other_name and data == other:
            equal += len(data)
            continue
        at = _first_difference(data, other) if name == other_name else 0
        equal += at
        lost = round((tokens or total // 4) * (total - equal) / total)
        excerpt = slice(max(0, at - _AROUND), at + _AROUND)
        return Prefix(total, equal, name, _text(data[excerpt]), _text(other[excerpt]), lost, _cost(lost, profile))
    return Prefix(total, equal)


def _first_difference(one: bytes, other: bytes) -> int:
    """By halves: these may be megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _cost(tokens: int, profile: Profile) -> float | None:
    """Compute what reading the tokens from a cache would have saved."""
    prices = profile.prices
    if prices is None or prices.cached is None:
        return None
    return tokens * (prices.input - prices.cached) / 1_000_000
