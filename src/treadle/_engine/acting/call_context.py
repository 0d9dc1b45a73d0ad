"""What a tool may know of the run it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle._types.events import ToolOutput

if TYPE_CHECKING:
    from treadle._engine.run import Run


class CallContext:
    """The engine's `ToolContext`."""

    __slots__ = ("_held", "call_id", "name", "run")

    def __init__(self, run: Run, call_id: str, name: str) -> None:
        self.run: Any = run
        self.call_id = call_id
        self.name = name
        self._held: list[str] = []

    @property
    def run_id(self) -> str:
        return str(self.run.id)

    @property
    def idempotency_key(self) -> str:
        return f"{self.run.id}:{self.call_id}"

    def output(self, text: str) -> None:
        if self.call_id:
            self.run.show(ToolOutput(self.call_id, self.name, text))
        else:  # started early: nothing is shown before the call is adopted
            self._held.append(text)

    def adopt(self, call_id: str) -> None:
        """The call that was started early is now really made."""
        self.call_id = call_id
        for text in self._held:
            self.output(text)
        self._held.clear()
