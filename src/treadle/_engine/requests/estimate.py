"""How many tokens a request has, before the provider says so; calibrated by the usage it reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._engine.settings import Settings
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    MediaPart,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from treadle._types.profile import Profile
from treadle._types.request import Request, ToolSchema
from treadle._types.state import CONVERSATION
from treadle._types.usage import Usage

_PER_MESSAGE = 12
"""Bytes of framing a message costs (role, separators)."""
_IMAGE = 4_000
_PER_BYTE, _LARGEST = 40, 400_000
"""A page of a PDF has some 100 kB and costs up to 3 000 tokens; a second of sound has 16 kB and costs 32."""
_FIRST_RATIO = 3.2
_CAUTIOUS_RATIO = 2.5
_PLAUSIBLE = (1.0, 8.0)
"""Bytes per token. A token has at least a byte, and hardly any text has more than eight: a count outside of this is
not one of what was sent (a proxy leaves out what was cached, or adds a prompt of its own)."""
_ASSUMED_ANSWER = 4096


def token_limit(settings: Settings, profile: Profile) -> int | None:
    """The tokens one request may have: as set, else the model's window less the answer's share; None when not known."""
    if settings.context_budget is not None or profile.window is None:
        return settings.context_budget
    answer = settings.max_tokens or profile.max_output or _ASSUMED_ANSWER
    return profile.window - min(answer, profile.window // 4)


def size_of(message: Message) -> int:
    """The bytes of everything in a message that reaches the model: text, reasoning, call arguments, images."""
    match message:
        case SystemMessage():
            size = _bytes(message.text)
        case AssistantMessage():
            size = _bytes(message.text) + sum(
                _bytes(call.name) + len(msgspec.json.encode(call.args)) + len(call.raw) for call in message.calls
            )
            size += _bytes(message.reasoning) if message.opaque else 0
        case UserMessage() | ToolMessage():
            content = message.content
            if isinstance(content, str):
                size = _bytes(content)
            else:
                size = sum(_media(part) if isinstance(part, MediaPart) else _bytes(part.text) for part in content)
    return size + _PER_MESSAGE


def size_of_tools(tools: Sequence[ToolSchema]) -> int:
    """Return what a model reads of tools: those that its provider keeps back until they are found are not read."""
    return sum(len(msgspec.json.encode(tool)) for tool in tools if not tool.deferred)


class Estimator:
    """Bytes per token, learnt from what the provider counted; the sizes of the growing conversation are summed once."""

    def __init__(self) -> None:
        self.ratio = _FIRST_RATIO
        self._counted: tuple[Sequence[Message], int, int, Message | None] = ((), 0, 0, None)
        self._tools: tuple[Any, int] = ((), 0)
        self._reported: tuple[Sequence[Message], int, int] = ((), 0, 0)
        """The last request a provider has counted: its messages, its bytes, its tokens."""

    def size(self, request: Request) -> int:
        messages = request.messages
        if request.component not in CONVERSATION:  # an adviser's short list must not make us forget the long one
            return sum(map(size_of, messages)) + size_of_tools(request.tools)
        last, count, total, tail = self._counted
        if last is not messages or count > len(messages) or (count and messages[count - 1] is not tail):
            count, total = 0, 0
        for index in range(count, len(messages)):
            total += size_of(messages[index])
        self._counted = (messages, len(messages), total, messages[-1] if messages else None)
        if self._tools[0] is not request.tools:
            self._tools = (request.tools, size_of_tools(request.tools))
        return total + self._tools[1]

    def tokens(self, request: Request) -> int:
        """Return what was counted before is known; only what is new is estimated, rather too high than too low."""
        size = self.size(request)
        messages, counted, tokens = self._reported
        if messages is request.messages and size >= counted:
            return tokens + int((size - counted) / min(self.ratio, _CAUTIOUS_RATIO)) + 8
        return int(size / self.ratio) + 8

    def of_size(self, size: int) -> int:
        return int(size / self.ratio) + 1

    def learn(self, request: Request, usage: Usage) -> None:
        """Calibrate by what the provider reported for this request; our own estimates teach nothing."""
        if usage.input_tokens > 50 and not usage.estimated_tokens:
            self.calibrate(request, usage.input_tokens)

    def calibrate(self, request: Request, tokens: int) -> None:
        """Believe a count, unless it cannot be one of this request."""
        size = self.size(request)
        least, most = _PLAUSIBLE
        messages, counted, before = self._reported
        shrunk = messages is request.messages and size >= counted and tokens < before
        if shrunk or not least <= size / tokens <= most:
            return
        self.ratio = size / tokens
        self._reported = (request.messages, size, tokens)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _media(part: MediaPart) -> int:
    """An image costs about the same whatever its size; a PDF or a recording costs more the longer it is."""
    if isinstance(part, ImagePart):
        return _IMAGE
    return max(_bytes(part.text), min(len(part.data) // _PER_BYTE, _LARGEST) + _IMAGE if part.data else _IMAGE)
