"""What every display of a run offers, and what they have in common."""

from __future__ import annotations

from typing import Protocol

from treadle._cli.display.text import clean, plain_json
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._types.messages import ToolCall

RESULT_LINES = 6
"""How many lines of a tool's result are shown."""
APPROVAL_KEYS = "allow this call? [y]es, [n]o, [a]lways this tool, [l]ater:"


def approval_text(call: ToolCall) -> str:
    """The whole call: a person decides about all of it, not about the part that fits a line."""
    return f"? {clean(call.name)} {clean(plain_json(call.args))}"


class Display(Protocol):
    """Shows one run. Everything may be called at any time between the first record and `close`."""

    live: bool
    """Draws the line that is being typed itself."""

    def feed(self, record: Record) -> None: ...

    def typed(self, text: str) -> None:
        """The line that is being typed while the run works."""
        ...

    def ask(self, call: ToolCall | None) -> None:
        """Show that `call` waits for a decision; None when it has been made."""
        ...

    def say(self, text: str) -> None:
        """A line of the program's own."""
        ...

    def finish(self, result: RunResult) -> None: ...

    def close(self) -> None:
        """Leave the terminal as it was found."""
        ...
