"""Answers that end before a stop sequence."""

from __future__ import annotations

from collections.abc import Sequence


class Cut:
    """Text up to the first of some stop sequences, which may arrive in pieces."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = [text for text in stop if text]
        self._held: str = ""
        self.sequence = ""
        """The stop sequence at which the text ended."""

    def feed(self, text: str, *, last: bool = False) -> str:
        if not self._stop:
            return text
        if self.sequence:
            return ""
        text = self._held + text
        self._held = ""
        if places := [(at, one) for one in self._stop if (at := text.find(one)) >= 0]:
            at, self.sequence = min(places)
            return text[:at]
        if last:
            return text
        # The end of the text may be the beginning of a stop sequence: it waits for the next piece.
        ends = (text[-size:] for size in range(min(max(map(len, self._stop)) - 1, len(text)), 0, -1))
        self._held = next((end for end in ends if any(one.startswith(end) for one in self._stop)), "")
        return text.removesuffix(self._held)
