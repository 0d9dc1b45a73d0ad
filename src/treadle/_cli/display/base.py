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
    """The complete call, however long: a person decides about all of it."""
    return f"? {clean(call.name)} {clean(plain_json(call.args))}"


class Display(Protocol):
    """Shows one run. Methods may be called in any order until `close`."""

    live: bool
    """Whether it draws the line that is being typed itself."""

    def feed(self, record: Record) -> None: ...

    def typed(self, text: str) -> None:
        """The line that is being typed while the run works."""
        ...

    def ask(self, call: ToolCall | None) -> None:
        """Show that `call` waits for a decision; None when the decision was made."""
        ...

    def say(self, text: str) -> None:
        """Show a message of the program itself."""
        ...

    def finish(self, result: RunResult) -> None: ...

    def close(self) -> None:
        """Restore the terminal."""
        ...
