"""What a tool may know of the run it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.types.events import ToolOutput

if TYPE_CHECKING:
    from treadle.engine.run import Run


class CallContext:
    """The engine's `ToolContext`."""

    __slots__ = ("call_id", "name", "run")

    def __init__(self, run: Run, call_id: str, name: str) -> None:
        self.run: Any = run
        self.call_id = call_id
        self.name = name

    @property
    def run_id(self) -> str:
        return str(self.run.id)

    @property
    def idempotency_key(self) -> str:
        return f"{self.run.id}:{self.call_id}"

    def output(self, text: str) -> None:
        if self.call_id:  # a call that was started early has no id yet: its output is shown with its result
            self.run.show(ToolOutput(self.call_id, self.name, text))
