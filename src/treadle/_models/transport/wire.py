"""Helpers of all providers: messages encoded once, calls collected from pieces, thoughts separated, cost computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Generic, TypeVar, cast

import msgspec

from treadle._types.ids import fresh_id
from treadle._types.messages import Message, Part, TextPart, ToolCall, ToolMessage
from treadle._types.profile import Prices
from treadle._types.request import CallDelta, Delta, RawCall, ReasoningDelta, Request, TextDelta, WireCache
from treadle._types.usage import Usage

T = TypeVar("T")
UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding hostile JSON may raise."""
_encode = msgspec.json.Encoder().encode


def encode(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, from a file name or a broken page, must not end a run
        return _encode(replace_surrogates(value))


def read_as(kind: type[T], data: bytes | str) -> T | None:
    """The JSON value of this type; None if it is something else."""
    try:
        return msgspec.json.decode(data, type=kind)
    except UNREADABLE:
        return None


def replace_surrogates(value: Any) -> Any:
    """The value with every half of a surrogate pair replaced by the replacement character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(inner) for key, inner in as_dict(value).items()}
    if isinstance(value, (list, tuple)):
        return [replace_surrogates(inner) for inner in cast("list[Any]", value)]
    return value


# Providers send null, numbers or lists where their documentation says text: a value of the wrong type counts as absent.


def as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 < value < 2**53 else 0


class EncodedMessages(Generic[T]):
    """The messages of one conversation in a provider's wire format, each encoded once.

    As long as the conversation only grows, only new messages are encoded; after a change in the middle the messages
    that are still the same objects are reused.
    """

    __slots__ = ("_messages", "owner", "parts", "tools")

    def __init__(self, owner: object) -> None:
        self.owner = owner
        self._messages: list[Message] = []
        self.parts: list[T] = []
        self.tools: tuple[object, bytes] | None = None

    def update(self, messages: Sequence[Message], write: Callable[[Sequence[Message], int], T]) -> list[T]:
        """The wire format of `messages`; `write` encodes the message at an index."""
        old, parts = self._messages, self.parts
        if len(messages) < len(old) or not all(map(is_, old, messages)):
            reusable = {id(message): part for message, part in zip(old, parts, strict=True)}
            # The first two may be encoded as one (a system prompt for a model without a system role): not reusable
            # alone.
            parts = self.parts = [
                reusable[id(message)] if index > 1 and id(message) in reusable else write(messages, index)
                for index, message in enumerate(messages)
            ]
            self._messages = list(messages)
            return parts
        for index in range(len(old), len(messages)):
            parts.append(write(messages, index))
            old.append(messages[index])
        return parts

    def encode_tools(self, tools: tuple[Any, ...], write: Callable[[Any], Any]) -> bytes:
        """The tools as a JSON array, encoded again only for another tuple."""
        if self.tools is None or self.tools[0] is not tools:
            self.tools = tools, encode([write(tool) for tool in tools])
        return self.tools[1]


def encoded_messages(request: Request, owner: object, slot: str) -> EncodedMessages[Any]:
    """The encoded messages of this conversation for the model `owner`; those of another model are not reused."""
    cache = request.cache or WireCache()
    messages = cache.slots.get(slot)
    if messages is None or messages.owner is not owner:
        messages = cache.slots[slot] = EncodedMessages[Any](owner)
    return messages


def arguments_of(call: ToolCall) -> str:
    """A call's arguments as a JSON object, which every provider requires, whatever the model wrote."""
    if call.problem:
        return encode({"unreadable_arguments": call.raw}).decode()
    if call.raw and is_object(call.raw):
        return call.raw
    return encode(call.args).decode()


def is_object(text: str) -> bool:
    return isinstance(read_as(object, text), dict)


def media_of_results(messages: Sequence[Message], index: int) -> tuple[Part, ...]:
    """The images, sounds and files of all results of one reply, when the result at `index` is the last of them.

    Most providers take only text in a result; the rest follows in a user message, after the results of all calls.
    """
    if index + 1 < len(messages) and isinstance(messages[index + 1], ToolMessage):
        return ()
    media: list[Part] = []
    while index >= 0 and isinstance(result := messages[index], ToolMessage):
        if not isinstance(result.content, str):
            own = [part for part in result.content if not isinstance(part, TextPart)]
            media = [TextPart(f"From {result.name}:"), *own, *media] if own else media
        index -= 1
    return tuple(media)


class CallList:
    """The native calls of one reply, collected from fragments. Slots count from 0 in the order the calls began."""

    __slots__ = ("_arguments", "_done", "_ids", "_names")

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._names: list[str] = []
        self._arguments: list[list[str]] = []
        self._done: list[bool] = []

    def __len__(self) -> int:
        return len(self._ids)

    def open(self, call_id: str, name: str) -> CallDelta:
        if not call_id or call_id in self._ids:
            call_id = f"call_{fresh_id()[:20]}"
        self._ids.append(call_id)
        self._names.append(name)
        self._arguments.append([])
        self._done.append(False)
        return CallDelta(len(self._ids) - 1, call_id, name)

    def add(self, slot: int, arguments: str) -> CallDelta:
        self._arguments[slot].append(arguments)
        return CallDelta(slot, arguments=arguments)

    def rename(self, slot: int, name: str) -> CallDelta:
        self._names[slot] += name
        return CallDelta(slot, name=name)

    def id(self, slot: int) -> str:
        return self._ids[slot]

    def name(self, slot: int) -> str:
        return self._names[slot]

    def arguments(self, slot: int) -> str:
        return "".join(self._arguments[slot])

    def close(self, slot: int, *, final: bool = True) -> list[CallDelta]:
        """Report that the call is complete, if its arguments can be read. At the end (`final`) no arguments at all
        are an empty object; before it, some may still come."""
        if self._done[slot]:
            return []
        text = self.arguments(slot)
        if text.strip():
            if not is_object(text):
                return []
            delta = CallDelta(slot, done=True)
        elif final:
            self._arguments[slot] = ["{}"]
            delta = CallDelta(slot, arguments="{}", done=True)
        else:
            return []
        self._done[slot] = True
        return [delta]

    def close_all(self) -> list[CallDelta]:
        return [delta for slot in range(len(self)) for delta in self.close(slot)]

    def raw(self) -> tuple[RawCall, ...]:
        return tuple(RawCall(self._ids[slot], self._names[slot], self.arguments(slot)) for slot in range(len(self)))


_TAGS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))


class ThinkSplitter:
    """Separates thoughts in tags at the beginning of a streamed text from the text.

    Only at the beginning: a later tag is something the model writes about.
    """

    __slots__ = ("_close", "_held", "_starting", "_thought")

    def __init__(self) -> None:
        self._starting = True
        self._close = ""
        self._held = ""
        self._thought = False

    def feed(self, piece: str) -> list[Delta]:
        if not self._starting and not self._close:
            return [TextDelta(piece)] if piece else []
        out: list[Delta] = []
        self._held += piece
        while self._held:
            before = self._held
            if self._close:
                self._think(out)
            elif self._starting:
                self._start()
            else:
                out.append(TextDelta(self._held))
                self._held = ""
            if self._held == before and (self._starting or self._close):
                break
        return out

    def end(self) -> list[Delta]:
        """The text that was held back because it might have been the beginning of a tag."""
        held, self._held = self._held, ""
        if not held or (self._starting and self._thought and not held.strip()):
            return []
        return [ReasoningDelta(held) if self._close else TextDelta(held)]

    def _start(self) -> None:
        text = self._held.lstrip()
        for opening, closing in _TAGS:
            if text.startswith(opening):
                self._held, self._close, self._thought = text[len(opening) :], closing, True
                return
        if any(opening.startswith(text) for opening, _ in _TAGS):
            return
        self._starting = False
        if self._thought:
            self._held = text

    def _think(self, out: list[Delta]) -> None:
        thought, closing, rest = self._held.partition(self._close)
        if closing:
            self._held, self._close = rest, ""
        else:
            held = _overlap(thought, self._close)
            thought, self._held = thought[: len(thought) - held], thought[len(thought) - held :]
        if thought:
            out.append(ReasoningDelta(thought))


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of `text` are a beginning of `tag`."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


def with_cost(usage: Usage, prices: Prices | None, stated: Any = None) -> Usage:
    """The usage with its cost: the provider's own figure if it states one, else computed from the prices."""
    if isinstance(stated, (int, float)) and 0 <= stated < 1e9:
        return msgspec.structs.replace(usage, cost=float(stated))
    if prices is None:
        return usage
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    plain = max(0, usage.input_tokens - cached - written)
    cost = plain * prices.input + usage.output_tokens * prices.output
    cost += cached * (prices.input if prices.cached is None else prices.cached)
    cost += written * (prices.input if prices.cache_write is None else prices.cache_write)
    return msgspec.structs.replace(usage, cost=cost / 1_000_000)
