"""What a client reads has the data that are masked in the log: the answer, and calls that wait for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from treadle._engine.core.masks import Masks
from treadle._server.live.positions import ClientEvent
from treadle._view.items import Call, Interrupt, Item, Turn

_READ = frozenset(("answer", "done", "error", "thought", "phase"))
_NOT_RESTORED = (Turn, Interrupt)
"""Kinds of items that a client gets as they are in the log. So are calls, unless a person is asked about them."""


class Restoring:
    """The events of one client. Positions are those of the stored text: a piece that may end inside a placeholder waits
    for the next one, so that a client that comes back is never in the middle of one."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._held: ClientEvent | None = None

    def events(self, events: Iterable[ClientEvent]) -> Iterator[ClientEvent]:
        for event in events:
            held, self._held = self._held, None
            if event.text_from < 0:
                yield from () if held is None else (self._restored(held),)
                if event.name == "items":
                    yield self._restored_items(event)
                else:
                    yield self._restored(event) if event.name in _READ else event
                continue
            if held is not None and (held.name, held.data.get("item")) == (event.name, event.data.get("item")):
                event = _joined(held, event)
            elif held is not None:
                yield self._restored(held)
            text = str(event.data["content"])
            if self._masks.open_from(text) < len(text):
                self._held = event
            else:
                yield self._restored(event)

    def _restored(self, event: ClientEvent) -> ClientEvent:
        return msgspec.structs.replace(event, data=self._masks.restored(event.data))

    def _restored_items(self, event: ClientEvent) -> ClientEvent:
        restored = self._masks.restored
        items = [restored(msgspec.to_builtins(item)) if _is_read(item) else item for item in event.data["items"]]
        return msgspec.structs.replace(event, data={"items": items})


def _is_read(item: Item) -> bool:
    return item.state == "asked" if isinstance(item, Call) else not isinstance(item, _NOT_RESTORED)


def _joined(first: ClientEvent, second: ClientEvent) -> ClientEvent:
    data: dict[str, Any] = {**second.data, "content": f"{first.data['content']}{second.data['content']}"}
    return ClientEvent(second.name, data, second.at, first.text_from)
