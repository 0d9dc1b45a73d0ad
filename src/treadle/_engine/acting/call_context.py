"""What a tool may know of the run it serves."""

from __future__ import annotations

from typing import Any

from treadle._engine.core.execution import Execution, deps_of
from treadle._types.events import ToolOutput


class CallContext:
    """The engine's `ToolContext`."""

    __slots__ = ("_execution", "_held", "answered", "call_id", "name")

    def __init__(self, execution: Execution, call_id: str, name: str) -> None:
        self._execution = execution
        self.call_id = call_id
        self.name = name
        self._held: list[str] = []
        self.answered = False
        """Whether output was shown as the answer."""

    @property
    def run(self) -> Any:
        """The `RunContext`."""
        return self._execution.context

    @property
    def deps(self) -> Any:
        """Return what the run was given as `deps=`."""
        return deps_of(self._execution)

    @property
    def run_id(self) -> str:
        return self._execution.id

    @property
    def idempotency_key(self) -> str:
        return f"{self._execution.id}:{self.call_id}"

    def output(self, text: str) -> None:
        if self.call_id:
            self._execution.show(ToolOutput(self.call_id, self.name, text))
        else:  # started early: nothing is shown before the call is adopted
            self._held.append(text)

    def answer(self, text: str) -> None:
        """Output of a tool that has said that its output is the answer."""
        if self.call_id:
            self.answered = True
            self._execution.answer.add(text)
        else:
            self._held.append(text)

    def adopt(self, call_id: str) -> None:
        """The call that was started early is now really made."""
        self.call_id = call_id
        for text in self._held:
            self.output(text)
        self._held.clear()
