"""What every adapter needs to write requests and read replies: encode once, gather calls, set reasoning apart, count the cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Generic, TypeVar, cast

import msgspec

from treadle._types.ids import fresh_id
from treadle._types.messages import ImagePart, Message, TextPart, ToolCall, ToolMessage
from treadle._types.profile import Prices
from treadle._types.request import CallDelta, Delta, RawCall, ReasoningDelta, Request, TextDelta, WireCache
from treadle._types.usage import Usage

T = TypeVar("T")
UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What reading hostile JSON may raise."""
_encode = msgspec.json.Encoder().encode


def encode(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a character, out of a file name or a broken page: no reason to end a run
        return _encode(whole_characters(value))


def whole_characters(value: Any) -> Any:
    """The value with every half of a surrogate pair replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(inner) for key, inner in as_dict(value).items()}
    if isinstance(value, (list, tuple)):
        return [whole_characters(inner) for inner in cast("list[Any]", value)]
    return value


# Providers send null, numbers or lists where the documentation says text: read what fits, take the rest for absent.


def as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 < value < 2**53 else 0


class EncodedMessages(Generic[T]):
    """The messages of one conversation in an adapter's wire form, each encoded once.

    As long as the conversation only grows, a request costs what is new in it; after a change in the middle the messages
    that are still the same objects keep their form.
    """

    __slots__ = ("_messages", "owner", "parts", "tools")

    def __init__(self, owner: object) -> None:
        self.owner = owner
        self._messages: list[Message] = []
        self.parts: list[T] = []
        self.tools: tuple[object, bytes] | None = None

    def update(self, messages: Sequence[Message], write: Callable[[Sequence[Message], int], T]) -> list[T]:
        """The wire form of `messages`; `write` makes that of the message at an index."""
        old, parts = self._messages, self.parts
        if len(messages) < len(old) or not all(map(is_, old, messages)):
            known = {id(message): part for message, part in zip(old, parts, strict=True)}
            # The first two may be written as one (a system prompt without a role of its own): never trust them alone.
            parts = self.parts = [
                known[id(message)] if index > 1 and id(message) in known else write(messages, index)
                for index, message in enumerate(messages)
            ]
            self._messages = list(messages)
            return parts
        for index in range(len(old), len(messages)):
            parts.append(write(messages, index))
            old.append(messages[index])
        return parts

    def encode_tools(self, tools: tuple[Any, ...], write: Callable[[Any], Any]) -> bytes:
        """The tools as a JSON array, encoded again only when they are another tuple."""
        if self.tools is None or self.tools[0] is not tools:
            self.tools = tools, encode([write(tool) for tool in tools])
        return self.tools[1]


def encoded(request: Request, owner: object, slot: str) -> EncodedMessages[Any]:
    """What is already encoded for this conversation and this adapter; another model must not use what `owner` wrote."""
    cache = request.cache or WireCache()
    found = cache.slots.get(slot)
    if found is None or found.owner is not owner:
        found = cache.slots[slot] = EncodedMessages[Any](owner)
    return found


def arguments_of(call: ToolCall) -> str:
    """A call's arguments as the JSON object every provider wants to see again, whatever the model wrote."""
    if call.problem:
        return encode({"unreadable_arguments": call.raw}).decode()
    if call.raw and is_object(call.raw):
        return call.raw
    return encode(call.args).decode()


def is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except UNREADABLE:
        return False


def images_of_results(messages: Sequence[Message], index: int) -> tuple[TextPart | ImagePart, ...]:
    """The images of all results of one reply, when the result at `index` is the last of them.

    Most providers take text only in a result; images follow in the user's name, and not before every call is answered.
    """
    if index + 1 < len(messages) and isinstance(messages[index + 1], ToolMessage):
        return ()
    images: list[TextPart | ImagePart] = []
    while index >= 0 and isinstance(result := messages[index], ToolMessage):
        if not isinstance(result.content, str):
            found = [part for part in result.content if isinstance(part, ImagePart)]
            images = [TextPart(f"From {result.name}:"), *found, *images] if found else images
        index -= 1
    return tuple(images)


class CallList:
    """The native calls of one reply, gathered from fragments. Slots count from 0 in the order the calls began."""

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

    def close(self, slot: int, *, for_good: bool = True) -> list[CallDelta]:
        """The call is complete: say so if its arguments can be read. None at all, for good, are an empty object."""
        if self._done[slot]:
            return []
        text = self.arguments(slot)
        if text.strip():
            if not is_object(text):
                return []
            delta = CallDelta(slot, done=True)
        elif for_good:
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
    """Sets thoughts in tags at the beginning of a text apart from the text, piece by piece.

    Only there: further on, a tag is something the model writes about.
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
        """What was held back in case a tag would follow."""
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
        thought, found, rest = self._held.partition(self._close)
        if found:
            self._held, self._close = rest, ""
        else:
            kept = _overlap(thought, self._close)
            thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if thought:
            out.append(ReasoningDelta(thought))


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


def priced(usage: Usage, prices: Prices | None, stated: Any = None) -> Usage:
    """The usage with its cost: the provider's own figure if it states one, else by the table."""
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
