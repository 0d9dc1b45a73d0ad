"""What plug-ins keep from models: masked in every event before it enters the state, restored for whoever may see it.

So no request, record or log has it, and a replay sees the same bytes as the run did. Runs inside a run have its masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from treadle._safety.beside import read_beside
from treadle._safety.tree import size_of
from treadle._tools.base import ToolOutcome
from treadle._tools.results import cut
from treadle._types import events as ev
from treadle._types.errors import GuardrailError, JournalError
from treadle._types.messages import ToolCall
from treadle._types.request import Request

T = TypeVar("T")
_SHOWN = (ev.AnswerDone, ev.RunFinished, ev.AnswerRetracted, ev.OutputPartial, ev.Paused)
"""What a person reads: the answer, and the calls that wait for a decision."""


class Mask(Protocol):
    """What a plug-in gives for a run (`Plugin.mask`)."""

    def tree(self, value: T) -> T:
        """A value, with placeholders in all of its texts. What is masked already stays as it is."""
        ...

    def restored_tree(self, value: T) -> T:
        """A value with what the placeholders in its texts stand for."""
        ...

    def open_from(self, text: str) -> int:
        """From where on a text may be the beginning of a placeholder; its length, if it is not."""
        ...

    def reveals(self, tool: str) -> bool:
        """Return whether a tool gets the data themselves."""
        ...


class Masks:
    """All masks of a run: its own first, then those of the runs around it."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        self._masks = tuple(masks)
        self._checked: dict[int, Any] = {}

    def masked(self, value: T) -> T:
        """A value that may enter the state. A mask that fails stops the run: nothing goes on unmasked."""
        try:
            for mask in self._masks:
                value = mask.tree(value)
        except (JournalError, GuardrailError):
            raise
        except Exception as error:
            # As a journal that fails: whatever would be recorded next cannot be.
            raise JournalError(
                f"a mask failed ({type(error).__name__}): nothing is sent or recorded unmasked"
            ) from error
        return value

    async def taken(self, value: T) -> T:
        """`masked`, beside the event loop where the value is long."""
        return await read_beside(size_of(value), self.masked, value)

    def restored(self, value: T) -> T:
        for mask in reversed(self._masks):
            value = mask.restored_tree(value)
        return value

    def open_from(self, text: str) -> int:
        return min(mask.open_from(text) for mask in self._masks)

    def for_tool(self, call: ToolCall) -> ToolCall:
        """The call as its tool gets it."""
        for mask in reversed(self._masks):
            if mask.reveals(call.name):
                call = msgspec.structs.replace(call, args=mask.restored_tree(call.args), raw="")
        return call

    def outcome(self, outcome: ToolOutcome, max_chars: int) -> ToolOutcome:
        """A result as it may be recorded. It is masked before it is cut: half a datum is one that nobody would find."""
        if isinstance(outcome.content, str) and outcome.full is not None:
            full = self.masked(outcome.full)
            return msgspec.structs.replace(outcome, content=cut(full, max_chars), full=full)
        content, artifacts = self.masked(outcome.content), self.masked(outcome.artifacts)
        full = None if outcome.full is None else self.masked(outcome.full)
        return msgspec.structs.replace(outcome, content=content, full=full, artifacts=artifacts)

    async def check(self, request: Request) -> None:
        """The last look before a request is sent. What enters the state is masked, so there is nothing to find; if a
        component brings something past it, the request is not sent."""
        for item in (*request.messages, *request.tools):
            if id(item) in self._checked:
                continue
            if await self.taken(item) != item:
                raise GuardrailError("mask", "a request would have held what is masked; it was not sent")
            self._checked[id(item)] = item  # kept alive, so that nothing else can have its id

    def of(self, plugin: Any) -> Mask | None:
        """The mask that a plug-in gave."""
        return next((mask for mask in self._masks if getattr(mask, "plugin", None) is plugin), None)

    def sink(self, sink: Callable[[ev.Record], None]) -> Callable[[ev.Record], None]:
        """A display that gets the answer, and what streams, restored."""
        return _Restoring(self, sink)


def masks_of(plugins: Sequence[Any], user: str, around: Masks | None) -> Masks | None:
    """The masks of a run's plug-ins and of the run around it; None if there are none."""
    own = [mask for plugin in plugins if (give := getattr(plugin, "mask", None)) is not None and (mask := give(user))]
    if not own:
        return around
    outer = around._masks if around is not None else ()  # pyright: ignore[reportPrivateUsage] - of the same class
    return Masks([*own, *outer])


class _Restoring:
    """Pieces of text end anywhere: one that may end inside a placeholder waits for the next."""

    def __init__(self, masks: Masks, sink: Callable[[ev.Record], None]) -> None:
        self._masks, self._sink = masks, sink
        self._held: dict[tuple[str, str, str], tuple[str, ev.Record]] = {}

    def __call__(self, record: ev.Record) -> None:
        event = record.event
        match event:
            case ev.AnswerDelta(text=text):
                self._piece((record.run, "answer", ""), record, text)
            case ev.TextStreamed(component=component, reasoning=reasoning, text=text):
                self._release((record.run, "thought" if not reasoning else "text", component))
                self._piece((record.run, "thought" if reasoning else "text", component), record, text)
            case ev.ToolOutput(call_id=call_id, text=text):
                self._piece((record.run, "output", call_id), record, text)
            case ev.AnswerRetracted() | ev.Reset():
                self._held.pop((record.run, "answer", ""), None)
                self._pass_on(record)
            case _:
                for key in [key for key in self._held if key[0] == record.run and not record.offset]:
                    self._release(key)
                self._pass_on(record)

    def _piece(self, key: tuple[str, str, str], record: ev.Record, text: str) -> None:
        if (held := self._held.pop(key, None)) is not None:
            text = held[0] + text
            record = msgspec.structs.replace(record, event=msgspec.structs.replace(record.event, text=text))
        if self._masks.open_from(text) < len(text):
            self._held[key] = text, record
        else:
            self._give(record)

    def _release(self, key: tuple[str, str, str]) -> None:
        if (held := self._held.pop(key, None)) is not None:
            self._give(held[1])

    def _pass_on(self, record: ev.Record) -> None:
        if isinstance(record.event, _SHOWN):
            self._give(record)
        else:
            self._sink(record)

    def _give(self, record: ev.Record) -> None:
        event = self._masks.restored(record.event)
        self._sink(record if event is record.event else msgspec.structs.replace(record, event=event))
