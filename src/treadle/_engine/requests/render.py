"""`render(state)`: the next request of the loop as a pure function of the state.

The renderer remembers what it has rendered, so a round costs what is new; a declared break
(`state.conversation.epoch`) makes it start again. Forgetting everything and rendering from scratch gives the same
bytes: that is what replay checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

from treadle._dialects.base import Dialect, Encoding, Prompts
from treadle._dialects.registry import show_assistant
from treadle._engine.requests.media import shown
from treadle._engine.settings import Settings
from treadle._tools.results import cut
from treadle._types.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    text_of,
    unlabelled,
)
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Request, ToolSchema, WireCache
from treadle._types.state import RunState
from treadle._types.state_values import Entry, ReplyConstraint

_encode = msgspec.json.Encoder().encode
_REMINDER = 400
"""Characters of the question that text dialects repeat after a result."""
_LONG_RESULT, _LONG_TEXT = 1000, 300
"""Characters from which on a result, or one text in it, is something to read, not a value."""


def _ends_with_text(window: Sequence[Entry]) -> bool:
    """Return whether a long text is among the latest results."""
    for entry in reversed(window):
        message = entry.message
        if not isinstance(message, ToolMessage):
            return False
        if not message.error and _is_long(text_of(message.content)):
            return True
    return False


def _is_long(result: str) -> bool:
    if not _LONG_TEXT <= len(result) < _LONG_RESULT:
        return len(result) >= _LONG_RESULT
    try:
        values = [msgspec.json.decode(result)]
    except msgspec.DecodeError:
        return True
    for value in values:
        if isinstance(value, str) and len(value) >= _LONG_TEXT:
            return True
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return False


class Rendered(Struct, frozen=True):
    request: Request
    digest: str
    parts: tuple[str, ...]
    """Check sums of the messages that are new since the last request: they tell where two requests differ."""
    system: str | None
    """The system prompt, when this request starts a new prefix."""


class Renderer:
    def __init__(self, dialect: Dialect, settings: Settings, profile: Profile) -> None:
        self.dialect = dialect
        self.settings = settings
        self.profile = profile
        self.messages: list[Message] = []
        self.origins: list[tuple[tuple[int, ...], str]] = []
        """For each message of the request, the records and the component it comes from."""
        self._epoch = -1
        self._fresh = True
        self._task = ""
        self._done = 0
        self._reported = 0
        self._parts: list[str] = []
        self._hash = blake2b(digest_size=16)
        self._cache = WireCache()
        self._encodings: dict[tuple[bool, bool, bool, bool, frozenset[str], ReplyConstraint], Encoding] = {}
        self._head: tuple[tuple[object, ...], bytes] | None = None

    def render(
        self, state: RunState, *, component: str = "loop", must_answer: bool = False, stream: bool = False
    ) -> Rendered:
        self.prepare(state)
        fresh, self._fresh = self._fresh, False
        encoding = self.encoding(state, must_answer)
        settings = self.settings
        low = component == "repair" and settings.repair.separate_call
        request = Request(
            messages=self.messages,
            tools=encoding.tools,
            tool_choice=encoding.tool_choice,
            format=encoding.format,
            temperature=0.1 if low else settings.temperature,
            max_tokens=settings.max_tokens,
            stop=encoding.stop,
            seed=settings.seed,
            stream=stream,
            component=component,
            tuned=encoding.tuned,
            decision_after=encoding.decision_after,
            decision_names=encoding.decision_names,
            cache=self._cache,
        )
        new = tuple(self._parts[self._reported :])
        self._reported = len(self._parts)
        system = self.messages[0].text if fresh and isinstance(self.messages[0], SystemMessage) else None
        return Rendered(request, self._digest(request), new, system)

    def prepare(self, state: RunState) -> list[Message]:
        """The messages the next request will have."""
        if state.conversation.epoch != self._epoch:
            self._restart(state)
        self._extend(state.conversation.window)
        return self.messages

    def up_to(self, state: RunState, seq: int) -> list[Message]:
        """The first messages of the next request: those that come from the record `seq` or stand before one that
        does."""
        messages = self.prepare(state)
        last = max((index for index, (seqs, _) in enumerate(self.origins) if seq in seqs), default=-1)
        return messages[: last + 1]

    def encoding(self, state: RunState, must_answer: bool = False) -> Encoding:
        """Return what is asked of the provider. Only the constraint of a text dialect can be changed for one reply:
        native tools are part of the prefix that a provider keeps."""
        barred = frozenset[str]() if must_answer or self.dialect.native else state.constraints.next.barred
        must_act = state.constraints.next.must_act and not must_answer
        encode_after_text = getattr(self.dialect, "encode_after_text", None)
        after_text = encode_after_text is not None and _ends_with_text(state.conversation.window)
        lasting = state.constraints.lasting
        key = (must_answer, must_act, after_text, state.constraints.next.think, barred, lasting)
        encoding = self._encodings.get(key)
        if encoding is None:
            tools = tuple(tool for tool in state.tools if tool.name not in barred) if barred else state.tools
            encode = encode_after_text if after_text and encode_after_text else self.dialect.encode
            if state.constraints.next.think:
                encode = getattr(self.dialect, "encode_with_thought", encode)
            encoding = encode(tools, self.profile, must_answer=must_answer, must_act=must_act)
            if self.dialect.native and lasting.must_act and not must_answer:
                callable_now = [tool.name for tool in state.tools if tool.name not in lasting.barred]
                choice = callable_now[0] if len(callable_now) == 1 else "required"
                encoding = msgspec.structs.replace(encoding, tool_choice=choice)
            self._encodings[key] = encoding
        return encoding

    def forget(self) -> None:
        """Let go of what the model keeps for this conversation."""
        self._cache = WireCache()

    def _restart(self, state: RunState) -> None:
        started = state.started
        assert started is not None
        self._epoch, self._done, self._reported, self._fresh = state.conversation.epoch, 0, 0, True
        self.messages, self.origins, self._parts = [], [], []
        self._hash = blake2b(digest_size=16)
        self._cache = WireCache()
        self._encodings = {}
        self._task = ""
        system = self.dialect.system(started.system, state.tools, Prompts(started.prompts))
        if system:
            self._append(SystemMessage(system), (), "system")

    def _extend(self, window: Sequence[Entry]) -> None:
        index, end = self._done, len(window)
        while index < end:
            entry = window[index]
            message = entry.message
            if isinstance(message, ToolMessage):
                start = index
                while index < end and isinstance(window[index].message, ToolMessage):
                    index += 1
                group = [other.message for other in window[start:index] if isinstance(other.message, ToolMessage)]
                shown = self.dialect.results(group, self._task)
                if len(shown) == len(group):
                    for other, result in zip(window[start:index], shown, strict=True):
                        self._append(result, (other.seq,), other.component)
                else:
                    seqs = tuple(other.seq for other in window[start:index])
                    for result in shown:
                        self._append(result, seqs, window[start].component)
                continue
            if isinstance(message, UserMessage) and message.kind in ("question", "history", "interrupt"):
                # After an interrupt, what was asked at first is no longer all that is wanted.
                self._task = cut(text_of(message.content), _REMINDER) if message.kind != "interrupt" else ""
            self._append(
                show_assistant(message, self.dialect) if isinstance(message, AssistantMessage) else message,
                (entry.seq,),
                entry.component,
            )
            index += 1
        self._done = end

    def _append(self, message: Message, seqs: tuple[int, ...], component: str) -> None:
        message = unlabelled(shown(message, self.profile))
        data = _encode(message)
        self.messages.append(message)
        self.origins.append((seqs, component))
        self._hash.update(data)
        self._parts.append(f"{crc32(data):08x}")

    def _digest(self, request: Request) -> str:
        key = _head_of(request)
        if self._head is None or self._head[0] != key:
            self._head = (key, _encode(key))
        digest = self._hash.copy()
        digest.update(self._head[1])
        return digest.hexdigest()


def _head_of(request: Request) -> tuple[object, ...]:
    return (
        request.tools,
        request.tool_choice,
        request.format,
        request.temperature,
        request.max_tokens,
        request.stop,
        request.seed,
    )


def request_digest(request: Request) -> str:
    """The digest of a request of the loop, from the request itself. What was read of it before is kept with it."""
    slots: dict[str, Any] = request.cache.slots if request.cache is not None else {}
    messages, (count, last, data) = request.messages, slots.get("digest", (0, None, blake2b(digest_size=16)))
    if not 0 < count <= len(messages) or messages[count - 1] is not last:
        count, data = 0, blake2b(digest_size=16)
    for message in messages[count:]:
        data.update(_encode(message))
    slots["digest"] = len(messages), messages[-1] if messages else None, data
    whole = data.copy()
    whole.update(_encode(_head_of(request)))
    return whole.hexdigest()


def digest_of(messages: Sequence[Message], tools: tuple[ToolSchema, ...], format: OutputFormat | None) -> str:
    """The digest of an adviser's request, which is not rendered from the state."""
    data = blake2b(digest_size=16)
    for message in messages:
        data.update(_encode(unlabelled(message)))
    data.update(_encode((tools, format)))
    return data.hexdigest()
