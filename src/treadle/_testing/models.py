"""Models for tests: one that is a function, and one that calls every tool once with arguments made from its schema."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from json import JSONDecoder
from typing import Any

import msgspec

from treadle._engine.answering.output import FITS
from treadle._models.scripted import Entry, ScriptedModel, entry_parts
from treadle._testing.examples import example_value
from treadle._types.messages import SystemMessage, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import Request, StreamPart


class FunctionModel(ScriptedModel):
    """A model that is a function of the request, sync or async. It returns what a script may have as an entry.

    >>> def reply(request: Request) -> str:
    ...     return f"{len(request.messages)} messages"
    >>> agent = Agent(FunctionModel(reply), tools=[weather])
    """

    def __init__(
        self,
        function: Callable[[Request], Entry | Awaitable[Entry]],
        *,
        abilities: Mapping[str, Any] | None = None,
        name: str = "function",
        profile: Profile | None = None,
    ) -> None:
        super().__init__(function, abilities=abilities, name=name, profile=profile)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        entry = self.keep(request)
        if inspect.isawaitable(entry):
            entry = await entry
        for part in entry_parts(entry, request, len(self.requests), self.chunk):
            yield part


class TestModel(ScriptedModel):
    """Calls every tool that it is offered once, with arguments that fit the tool's schema, and answers then.

    `only` names the tools to call, `args` gives arguments instead of those that would be made.

    >>> with agent.override(model=TestModel()):
    ...     assert_called(agent.run_sync("anything"), "weather")
    """

    __test__ = False  # pytest would take it for a class of tests
    speaks = "native"
    """It calls tools natively, whatever dialect the agent is set to: it tests tools, not how calls are written."""

    def __init__(
        self,
        answer: str = "done",
        *,
        only: Iterable[str] | None = None,
        args: Mapping[str, Mapping[str, Any]] | None = None,
        abilities: Mapping[str, Any] | None = None,
        name: str = "test",
    ) -> None:
        super().__init__(self._reply, abilities=abilities, name=name)
        self.answer = answer
        self._only = None if only is None else frozenset(only)
        self._args = dict(args or {})

    def _reply(self, request: Request) -> Entry:
        forced = [tool for tool in request.tools if tool.name == request.tool_choice]
        if forced:
            return [self._call(tool.name, tool.parameters) for tool in forced]
        if request.format is not None:
            return msgspec.json.encode(example_value(request.format.schema or {"type": "object"})).decode()
        called = {message.name for message in request.messages if isinstance(message, ToolMessage)}
        calls = [
            self._call(tool.name, tool.parameters)
            for tool in request.tools
            if tool.name not in called and (self._only is None or tool.name in self._only)
        ]
        if calls and request.tool_choice != "none":
            return calls
        wanted = _asked_for(request)
        return self.answer if wanted is None else msgspec.json.encode(example_value(wanted)).decode()

    def _call(self, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        args = self._args.get(name)
        return {"name": name, "args": example_value(parameters) if args is None else dict(args)}


def _asked_for(request: Request) -> dict[str, Any] | None:
    """The schema that the system prompt asks the answer to fit, where no other way is left to ask for it."""
    for message in request.messages:
        if isinstance(message, SystemMessage):
            _, separator, after = message.text.rpartition(FITS)
            if separator:
                return JSONDecoder().raw_decode(after)[0]
    return None
