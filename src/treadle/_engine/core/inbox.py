"""Messages that arrive while a run works: from any thread, or through the journal from another process."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from treadle._engine.core.decisions import decision_of, read_result
from treadle._journal.base import InboxItem, Journal
from treadle._tools.media.attach import checked
from treadle._types.errors import ConfigError, RunEndedError
from treadle._types.events import Approved, ReplyConstrained, ToolAnswered
from treadle._types.ids import fresh_id
from treadle._types.messages import AudioPart, Content, FilePart, ImagePart, TextPart, join_content, text_of, with_names

_LOOK_EVERY = 0.05
Media = tuple[ImagePart | AudioPart | FilePart, ...]


def message_payload(content: Content) -> dict[str, Any]:
    """A message as it lies in a journal's inbox."""
    if isinstance(content, str):
        return {"text": content}
    media = [part for part in content if not isinstance(part, TextPart)]
    return {"text": text_of(content), "parts": msgspec.to_builtins(media)}


def _content_of(payload: Mapping[str, Any]) -> Content:
    text = str(payload.get("text", ""))
    try:
        media = msgspec.convert(payload.get("parts", ()), Media)
        return join_content((text, tuple(checked(part) for part in media)))
    except (msgspec.ValidationError, ConfigError) as error:  # it came from another process: what can be read counts
        return f"{text}\n[what came with this message cannot be read: {error}]"


class Inbox:
    """Thread-safe. Unread messages can be recalled; what nobody read is reported as leftovers."""

    def __init__(self, run_id: str, journal: Journal | None) -> None:
        self._run_id = run_id
        self._journal = journal
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Content] = OrderedDict()
        self.decisions: list[Approved | ToolAnswered | ReplyConstrained] = []
        """What people decided about calls that wait, and results that were given for them, not yet recorded."""
        self.cancelled = False
        self.closed = False
        """The run ends: nothing more is read."""
        self._looked = 0.0

    @property
    def open(self) -> bool:
        """Return whether looking into it may find something: a journal's inbox can be filled from elsewhere at any
        time."""
        return bool(self._waiting) or self._journal is not None

    def send(self, content: Content) -> str:
        item_id = fresh_id()
        with self._lock:
            if self.closed:
                raise RunEndedError(
                    f"run {self._run_id} has ended and reads no more messages: start another run with "
                    "history=result.messages, or use a Conversation"
                )
            self._waiting[item_id] = content
        return item_id

    def close(self) -> None:
        with self._lock:
            self.closed = True

    def reopen(self) -> None:
        with self._lock:
            self.closed = False

    def unread(self) -> tuple[str, ...]:
        """Return what waits to be read."""
        with self._lock:
            return tuple(map(with_names, self._waiting.values()))

    def recall(self, item_id: str) -> bool:
        with self._lock:
            return self._waiting.pop(item_id, None) is not None

    def put_back(self, items: Iterable[tuple[str, Content]]) -> None:
        """Return what was drained and could not be recorded waits again, before what came after it."""
        with self._lock:
            self._waiting = OrderedDict([*items, *self._waiting.items()])

    def drain(self) -> list[tuple[str, Content]]:
        if not self._waiting:
            return []
        with self._lock:
            items = list(self._waiting.items())
            self._waiting.clear()
        return items

    async def fetch(self, *, at_once: bool = False) -> None:
        """Take what other processes left in the journal's inbox; quick steps do not look more often than is useful."""
        now = time.monotonic()
        if self._journal is None or (not at_once and now - self._looked < _LOOK_EVERY):
            return
        self._looked = now
        for item in await self._journal.take(self._run_id):
            self._accept(item)

    def _accept(self, item: InboxItem) -> None:
        payload = item.payload
        if item.kind == "message":
            with self._lock:
                self._waiting[item.id] = _content_of(payload)
        elif item.kind == "approve":
            self.decisions.append(decision_of(str(payload.get("call_id", "")), payload))
        elif item.kind == "result":
            self.decisions.append(read_result(payload))
        elif item.kind == "constraint":
            self.decisions.append(msgspec.convert(payload, ReplyConstrained))
        elif item.kind == "cancel":
            self.cancelled = True
