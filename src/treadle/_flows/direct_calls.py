"""Tools called from outside, without a model: each call is a run of its own, through the same gate as any other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from treadle._agent.presets import Preset
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._engine.generics import NO_DEPS
from treadle._engine.settings import Settings
from treadle._flows.flow import FlowAgent
from treadle._journal.base import Journal
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ModelError
from treadle._types.events import Record, ToolOutput
from treadle._types.messages import text_of
from treadle._types.profile import Profile
from treadle._types.request import Request, StreamPart

_PRESET = Preset("direct_calls", Settings(error_detail="message"))
_NOBODY_TO_ASK = "Tool '{tool}' was not run: it needs a person's approval, and there is nobody here to give it."


class _NoModel:
    name = "none"
    profile = Profile()

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        raise ModelError("tools that are called directly have no model")
        yield  # makes it a stream

    async def aclose(self) -> None:
        pass


class DirectCalls(FlowAgent[Any]):
    """A toolkit that can be called by name. What a tool needs a person for is refused: nobody is here to be asked."""

    def __init__(self, toolkit: Toolkit, *, journal: Journal | None = None, name: str = "tools") -> None:
        super().__init__(_NoModel(), toolkit, preset=_PRESET, journal=journal, name=name)
        self._asked: dict[str, tuple[str, dict[str, Any]]] = {}
        self._outcomes: dict[str, ToolOutcome] = {}

    async def call(
        self, name: str, args: dict[str, Any], on_output: Callable[[str], None] | None = None, deps: Any = NO_DEPS
    ) -> ToolOutcome:
        """The outcome of one call; `on_output` gets what the tool shows while it works."""
        run = self.prepare(f"{name}({msgspec.json.encode(args).decode()})", deps=deps)
        self._asked[run.id] = (name, args)
        if on_output is not None:

            def show(record: Record) -> None:
                if isinstance(record.event, ToolOutput):
                    on_output(record.event.text)

            run.subscribe(show)
        try:
            await self.launch(run)
            refused = ToolOutcome(_NOBODY_TO_ASK.replace("{tool}", name), "denied", executed=False)
            return self._outcomes.get(run.id, refused)
        finally:
            self._asked.pop(run.id, None)
            self._outcomes.pop(run.id, None)

    async def work(self, run: Execution) -> None:
        name, args = self._asked[run.id]
        outcome = self._outcomes[run.id] = await NestedCalls(run, "call").call(name, args)
        await finish(run, text_of(outcome.content), "final_tool", success=not outcome.error)
