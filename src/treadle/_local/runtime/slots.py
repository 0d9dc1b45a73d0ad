"""Assigns conversations to the runtime's slots.

Each slot keeps the evaluated tokens of its last exchange, and for a request that begins with them only the rest is
evaluated. So each conversation keeps its own slot as long as possible.
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from weakref import ref

from treadle._types.request import Request


class Segment(NamedTuple):
    """A piece of a prompt: text that the model wrote keeps its tokens, other text is tokenized by the runtime."""

    text: str
    tokens: tuple[int, ...] = ()


class Conversation:
    """The identity of a conversation. It lives in the cache that comes with every request of the conversation."""

    __slots__ = ("__weakref__",)


Owner = Conversation | str
_KEY = "local.slot"


def owner_of(request: Request) -> Owner:
    """The owner of a request's slot: its conversation, or its component when it has no cache."""
    if request.cache is None:
        return request.component
    return request.cache.slots.setdefault(_KEY, Conversation())


class Slot:
    __slots__ = ("_owner", "busy", "id", "segments", "size", "stopping")

    def __init__(self, number: int) -> None:
        self.id = number
        self.busy = False
        self.stopping = threading.Event()
        """Set when the request that uses the slot was cancelled."""
        self.segments: tuple[Segment, ...] = ()
        self.size = 0
        """Tokens of the last exchange."""
        self._owner: ref[Conversation] | str | None = None

    @property
    def owner(self) -> Owner | None:
        return self._owner() if isinstance(self._owner, ref) else self._owner

    def assign(self, owner: Owner, stopping: threading.Event) -> None:
        self._owner = ref(owner) if isinstance(owner, Conversation) else owner
        self.busy = True
        self.stopping = stopping

    def split(self, prompt: str) -> tuple[Segment, ...]:
        """`prompt` as the segments of the last exchange that it begins with, which keep their tokens, and the rest."""
        shared: list[Segment] = []
        position = 0
        for segment in self.segments:
            if not prompt.startswith(segment.text, position):
                break
            shared.append(segment)
            position += len(segment.text)
        return (*shared, Segment(prompt[position:])) if position < len(prompt) else tuple(shared)

    def shared_prefix(self, prompt: str) -> int:
        """How many characters at the beginning `prompt` has in common with the last exchange."""
        last = "".join(segment.text for segment in self.segments)
        low, high = 0, min(len(last), len(prompt))
        while low < high:
            middle = (low + high + 1) // 2
            if prompt.startswith(last[:middle]):
                low = middle
            else:
                high = middle - 1
        return low


class Slots:
    """Assigns slots to requests, from any thread; a request waits while all are busy."""

    def __init__(self, count: int) -> None:
        self._slots = [Slot(number) for number in range(count)]
        self._changed = threading.Condition()

    def acquire(self, owner: Owner, prompt: str, stopping: threading.Event) -> Slot | None:
        """The slot for a request, or None when it was cancelled while it waited."""
        with self._changed:
            while not stopping.is_set():
                if (slot := self._choose(owner, prompt)) is not None:
                    slot.assign(owner, stopping)
                    return slot
                self._changed.wait(0.1)
        return None

    def release(self, slot: Slot) -> None:
        with self._changed:
            slot.busy = False
            self._changed.notify_all()

    def _choose(self, owner: Owner, prompt: str) -> Slot | None:
        own = next(
            (slot for slot in self._slots if slot.owner is owner or (isinstance(owner, str) and slot.owner == owner)),
            None,
        )
        if own is not None and own.busy and own.stopping.is_set():
            return None  # it will be free soon, and has the beginning of this request's prompt
        free = [slot for slot in self._slots if not slot.busy]
        if own in free or not free:
            return own if own in free else None
        # Prefer a slot whose conversation has ended; else take the one that is cheapest to evaluate again.
        return min(
            free, key=lambda slot: (1, slot.size) if slot.owner is not None else (0, -slot.shared_prefix(prompt))
        )
