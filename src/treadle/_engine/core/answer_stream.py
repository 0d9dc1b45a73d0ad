"""What is shown of the answer while it is written: each character once, and nothing wrong left standing.

Everything that streams as an answer goes through here, whoever writes it: the loop, the synthesis, a last call that may
only answer, a tool whose output is the answer. It knows what has been shown, so the end of a run shows only the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from treadle._types.events import AnswerDelta, AnswerRetracted, OutputPartial, Reset

if TYPE_CHECKING:
    from treadle._engine.core.log import Log


_AROUND = " \t\r\n`"
"""What may follow the object of a typed answer without being part of it."""


class PartialReader(Protocol):
    """Reads a typed answer while it is written."""

    def feed(self, text: str) -> OutputPartial | None: ...
    def reset(self) -> None: ...


class AnswerStream:
    """What is around an answer is not part of it: it is not shown before the first word, and held after each."""

    __slots__ = ("_held", "_log", "_partial", "_pieces")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._pieces: list[str] = []
        self._held: list[str] = []
        self._partial: PartialReader | None = None

    def read_typed(self, reader: PartialReader) -> None:
        """The answer is typed: show its value too, as it grows."""
        self._partial = reader

    @property
    def text(self) -> str:
        """Return what has been shown."""
        return "".join(self._pieces)

    def add(self, text: str, *, provisional: bool = False) -> None:
        """Show more of it."""
        if not self._log.watched:
            return
        typed = self._partial is not None
        if not self._pieces:  # the text of a typed answer begins with its object: what is before that is not shown
            text = text[text.find("{") :] if typed and "{" in text else "" if typed else text.lstrip()
        shown = text.rstrip(_AROUND if typed else None)
        held = text[len(shown) :]
        if shown:
            shown = "".join([*self._held, shown])
            self._held.clear()
            self._pieces.append(shown)
            self._log.show(AnswerDelta(shown, provisional))
            if self._partial is not None and (grown := self._partial.feed(shown)) is not None:
                self._log.show(grown)
        self._held.append(held)

    def retract(self) -> None:
        """It was a thought: whoever shows it moves it."""
        if self._pieces:
            self._log.show(AnswerRetracted(self.text))
            self._forget()

    def void(self, component: str, attempt: int = 1) -> None:
        """It does not count: the attempt failed, or another answer takes its place."""
        self._log.show(Reset(component, attempt))
        self._forget()

    async def settle(self, answer: str, source: str) -> None:
        """The answer is known: show what is missing of it, or all of it in place of something else."""
        shown = await self._log.as_shown(self.text) if self._pieces else ""
        answer = await self._log.as_shown(answer) if shown else answer  # what is recorded is without secrets, too
        words = answer.lstrip() if shown else answer
        if not words.startswith(shown):
            self.void(source)
            words, shown = answer, ""
        self._held.clear()
        if rest := words[len(shown) :]:
            self._pieces.append(rest)
            self._log.show(AnswerDelta(rest))

    def grow(self, text: str) -> None:
        """Show the typed answer as far as a call of its own has written it."""
        if self._partial is not None and self._log.watched and (grown := self._partial.feed(text)) is not None:
            self._log.show(grown)

    def typed(self, data: Any) -> None:
        """The typed answer is known."""
        if isinstance(data, dict):
            self._log.show(OutputPartial(cast(dict[str, Any], data), complete=True))

    def _forget(self) -> None:
        self._pieces.clear()
        self._held.clear()
        if self._partial is not None:
            self._partial.reset()
