"""What every display of a run offers, and what they have in common."""

from __future__ import annotations

from typing import Any, Protocol

from treadle._cli.display.text import clean, plain_json
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._types.messages import ToolCall

RESULT_LINES = 6
"""How many lines of a tool's result are shown."""
APPROVAL_WORDS = "allow this call? [y]es, [n]o [why], [a]lways in this run, [e]dit, [l]ater; then Enter:"
LINE_FIRST = "the line you have begun is sent as a message first; then decide:"


def approval_text(call: ToolCall, why: str = "") -> str:
    """The complete call, however long: a person decides about all of it. `why` is why this one is asked about."""
    args = " " + clean(plain_json(call.args))
    if any(isinstance(value, str) and "\n" in value for value in call.args.values()):  # a letter, not one long line
        args = "".join(f"\n  {clean(name)}:{_indented(value)}" for name, value in call.args.items())
    return f"? {clean(call.name)}{args}" + (f"\n  {clean(why)}" if why else "")


def _indented(value: Any) -> str:
    """A value on its line; a text of several lines below it, further in than any name of an argument."""
    text = clean(value if isinstance(value, str) else plain_json(value))
    return f" {text}" if "\n" not in text else "".join(f"\n    {line}" for line in text.splitlines())


class Display(Protocol):
    """Shows one run. Methods may be called in any order until `close`."""

    live: bool
    """Whether it draws the line that is being typed itself."""

    def feed(self, record: Record) -> None: ...

    def typed(self, text: str, *, message: bool = True) -> None:
        """The line that is being typed: a message to the run, or the answer to a question."""
        ...

    def ask(self, text: str = "", words: str = APPROVAL_WORDS) -> None:
        """Show what waits for a decision, and which words decide; nothing when the decision was made."""
        ...

    def say(self, text: str) -> None:
        """Show a message of the program itself."""
        ...

    def finish(self, result: RunResult) -> None: ...

    def close(self) -> None:
        """Restore the terminal."""
        ...
