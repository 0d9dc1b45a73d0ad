"""Which conversation keeps its evaluated prompt where.

The runtime has a few slots; each remembers the tokens of its last exchange, and a request that begins with them pays
only for what is new. So each conversation keeps to its own slot for as long as it lives.
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from weakref import ref

from treadle._types.request import Request


class Segment(NamedTuple):
    """A piece of a prompt: what the model wrote keeps its tokens, everything else is cut into tokens by the runtime."""

    text: str
    tokens: tuple[int, ...] = ()


class Conversation:
    """Stands in the cache the engine hands along with every request of one conversation, and dies with it."""

    __slots__ = ("__weakref__",)


Owner = Conversation | str
_KEY = "local.slot"


def owner_of(request: Request) -> Owner:
    """Whose slot a request belongs to: its conversation's, or its component's when it brings no cache."""
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

    def give_to(self, owner: Owner, stopping: threading.Event) -> None:
        self._owner = ref(owner) if isinstance(owner, Conversation) else owner
        self.busy = True
        self.stopping = stopping

    def split(self, prompt: str) -> tuple[Segment, ...]:
        """`prompt` with the pieces of the last exchange it begins with, so that they become the same tokens again."""
        kept: list[Segment] = []
        at = 0
        for segment in self.segments:
            if not prompt.startswith(segment.text, at):
                break
            kept.append(segment)
            at += len(segment.text)
        return (*kept, Segment(prompt[at:])) if at < len(prompt) else tuple(kept)

    def shared(self, prompt: str) -> int:
        """How many characters of `prompt` the last exchange begins with."""
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
    """Gives slots to requests, from any thread; a request waits while all are busy."""

    def __init__(self, count: int) -> None:
        self._slots = [Slot(number) for number in range(count)]
        self._changed = threading.Condition()

    def take(self, owner: Owner, prompt: str, stopping: threading.Event) -> Slot | None:
        """The slot for a request, or None when it was cancelled while it waited."""
        with self._changed:
            while not stopping.is_set():
                if (slot := self._choose(owner, prompt)) is not None:
                    slot.give_to(owner, stopping)
                    return slot
                self._changed.wait(0.1)
        return None

    def give_back(self, slot: Slot) -> None:
        with self._changed:
            slot.busy = False
            self._changed.notify_all()

    def _choose(self, owner: Owner, prompt: str) -> Slot | None:
        own = next(
            (slot for slot in self._slots if slot.owner is owner or (isinstance(owner, str) and slot.owner == owner)),
            None,
        )
        if own is not None and own.busy and own.stopping.is_set():
            return None  # it is free in a moment, and has what this request begins with
        free = [slot for slot in self._slots if not slot.busy]
        if own in free or not free:
            return own if own in free else None
        # A slot whose conversation is over costs nobody anything; else take the one that is cheapest to build up again.
        return min(free, key=lambda slot: (1, slot.size) if slot.owner is not None else (0, -slot.shared(prompt)))
