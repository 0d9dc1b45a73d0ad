"""Which requests belong together: conversations are put together from their growing prefixes.

Providers keep nothing between two requests, so a program sends everything again each time. A request that begins with
all of an earlier one and its reply continues it. Programs also rewrite what they send (a reply as text, a shorter
history): then the ids of the calls, or the reply itself, say where a request belongs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from treadle._record.reading.asked import Asked
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.state import RunState

_SHORTEST = 12
"""Characters of a question that is recognized inside a longer argument."""
MAX_OPEN = 2_000
MAX_BYTES = 128 * 1024 * 1024
"""Conversations that are remembered, and bytes of their last requests; beyond that the one that was silent longest is
closed."""
SILENT_SECONDS = 3600.0
"""Then a conversation has ended."""


def fingerprint(message: Message) -> str:
    """Return a fingerprint of a message without the ids of its calls: not all protocols have them."""
    match message:
        case AssistantMessage():
            calls = [(call.name, call.args or call.raw) for call in message.calls]
            meaning: object = ("assistant", message.text.strip(), calls)
        case ToolMessage():
            meaning = ("tool", message.name, msgspec.to_builtins(message.content))
        case SystemMessage():
            meaning = ("system", message.text)
        case UserMessage():
            meaning = ("user", msgspec.to_builtins(message.content))
    return blake2b(msgspec.json.encode(meaning, order="sorted"), digest_size=12).hexdigest()


class Conversation:
    """A conversation that is being recorded as a run."""

    def __init__(self, run: str, *, parent: str = "", depth: int = 0) -> None:
        self.run = run
        self.parent = parent
        self.depth = depth
        self.state = RunState()
        self.time = 0.0
        """Of its last record."""
        self.active = time.monotonic()
        self.prints: list[str] = []
        """Of the messages that it has now, the last reply included."""
        self.sent = 0
        """How many of them its last request had."""
        self.pieces: tuple[tuple[str, bytes], ...] = ()
        """The last request as bytes."""
        self.tokens = 0
        """Of the last request, as the provider counted them."""
        self.failed = False
        """The last request got no reply."""
        self.attempt = 0
        self.reply_id = ""
        self.children: list[Conversation] = []

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.pieces)

    @property
    def open_calls(self) -> list[str]:
        return list(self.state.calls.open)

    def asked(self, prints: Sequence[str]) -> None:
        self.prints, self.sent = list(prints), len(prints)

    def common(self, prints: Sequence[str]) -> int:
        return next(
            (index for index, (one, other) in enumerate(zip(self.prints, prints, strict=False)) if one != other),
            min(len(self.prints), len(prints)),
        )

    def fit(self, asked: Asked, prints: Sequence[str]) -> int:
        """How surely a request continues this conversation; 0 when it does not."""
        if asked.previous:
            return 9 if asked.previous == self.reply_id else 0
        common = self.common(prints)
        if len(prints) == self.sent and common == self.sent:  # the same again: another try, or another run of it
            started = self.state.started
            same = started is not None and (started.system, self.state.tools) == (asked.system, asked.tools)
            return 8 if self.failed and same else 0
        if self.failed and prints and self.prints and prints[-1] == self.prints[-1]:
            return 2 if common < len(self.prints) else 7  # a shorter request after one that was refused
        if len(prints) <= self.sent and not self.open_calls:
            return 0
        answers = any(
            isinstance(message, ToolMessage) and message.call_id in self.state.calls.open for message in asked.messages
        )
        if common == len(self.prints) and len(prints) > common:
            return 7 if answers or not self.state.calls.open else 6
        if common >= self.sent and len(prints) > self.sent:
            return 5
        if answers:
            return 4
        reply = self.prints[-1] if len(self.prints) > self.sent else ""
        return 3 if common and reply and reply in prints else 0


class Conversations:
    """The conversations that may still continue."""

    def __init__(self) -> None:
        self._by_first: dict[str, list[Conversation]] = {}
        self._by_call: dict[str, list[Conversation]] = {}
        self._all: dict[str, Conversation] = {}

    def all(self) -> list[Conversation]:
        return list(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def find(self, asked: Asked, prints: Sequence[str]) -> Conversation | None:
        """The conversation that a request continues: the surest, then the one with most in common, then the one that
        waits longest."""
        candidates = {id(one): one for one in self._by_first.get(prints[0] if prints else "", ())}
        for message in asked.messages:
            if isinstance(message, ToolMessage):
                candidates |= {id(one): one for one in self._by_call.get(message.call_id, ())}
        candidates |= {
            id(one): one for one in self._all.values() if one.failed and prints and one.prints[-1:] == [prints[-1]]
        }
        if asked.previous:
            candidates = {id(one): one for one in self._all.values() if one.reply_id == asked.previous}
        fits = [(one.fit(asked, prints), one.common(prints), -one.active, one) for one in candidates.values()]
        best = max((fit for fit in fits if fit[0]), key=lambda fit: fit[:3], default=None)
        return best[3] if best is not None else None

    def parent_of(self, question: str) -> Conversation | None:
        """The conversation one of whose open calls asks this: an agent inside another one."""
        for one in sorted(self._all.values(), key=lambda one: -one.active):
            for call in one.state.calls.open.values():
                if _asks(call.call.args.values(), question):
                    return one
        return None

    def add(self, conversation: Conversation) -> None:
        self._all[conversation.run] = conversation
        first = conversation.prints[0] if conversation.prints else ""
        self._by_first.setdefault(first, []).append(conversation)

    def opened(self, conversation: Conversation) -> None:
        """Its last reply has made calls."""
        for call_id in conversation.state.calls.open:
            self._by_call[call_id] = [*self._by_call.get(call_id, ()), conversation][-50:]

    def remove(self, conversation: Conversation) -> None:
        self._all.pop(conversation.run, None)
        for index in (self._by_first, self._by_call):
            for key in [key for key, ones in index.items() if conversation in ones]:
                index[key].remove(conversation)
                if not index[key]:
                    del index[key]

    def silent(self) -> list[Conversation]:
        """Return the conversations to close: silent for long, or too many."""
        ordered = sorted(self._all.values(), key=lambda one: one.active)
        size, count, now = sum(one.size for one in ordered), len(ordered), time.monotonic()
        closing: list[Conversation] = []
        for one in ordered[:-1]:  # never the one that has just been heard
            if size <= MAX_BYTES and count <= MAX_OPEN and now - one.active < SILENT_SECONDS:
                break
            closing.append(one)
            size, count = size - one.size, count - 1
        return closing


def _asks(arguments: Iterable[object], question: str) -> bool:
    """Tell whether one of the arguments is the question, or most of it: a word in common proves nothing."""
    asked = question.strip()
    texts = [text.strip() for text in arguments if isinstance(text, str)]
    return any(
        text == asked or (text in asked and 2 * len(text) >= len(asked)) or (asked in text and len(asked) >= _SHORTEST)
        for text in texts
        if text and asked
    )


def question_of(asked: Asked) -> tuple[tuple[Message, ...], UserMessage, tuple[Message, ...]]:
    """Split messages into the history, the question, and what followed it."""
    place = next(
        (i for i, m in reversed(list(enumerate(asked.messages))) if isinstance(m, UserMessage)), len(asked.messages)
    )
    question = asked.messages[place] if place < len(asked.messages) else UserMessage("(no question)")
    assert isinstance(question, UserMessage)
    return asked.messages[:place], question, asked.messages[place + 1 :]


def text_of_question(question: UserMessage) -> str:
    return text_of(question.content)
