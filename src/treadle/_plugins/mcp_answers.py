"""What an MCP server asks during a call, answered by the run that made the call: its model, its budget, its person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from treadle._engine.context import RunContext
from treadle._engine.core.hooks import Pause
from treadle._safety.data import DataError, decode_json
from treadle._tools.base import Tool
from treadle._tools.mcp.client import McpServer, safe_name
from treadle._tools.validation import check_schema
from treadle._types.errors import SchemaError, ToolError
from treadle._types.events import PhaseChanged, ThinkDone
from treadle._types.messages import Message, text_of

MOST_SAMPLES = 10
"""How often a server may ask the model in one run."""
MOST_TOKENS = 4_096
_LONGEST = 200_000
"""Characters that a server may send to the model at once."""


class RunAnswers:
    """`sample` asks the run's model, on record and within its budget. `elicit` asks whoever approves the run's calls:
    the answer is the arguments of a call, which are the defaults until the person changes them."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._numbers = count(1)

    async def sample(self, messages: Sequence[Message], max_tokens: int) -> str:
        run = self._run()
        events = (record.event for record in run.records)
        asked = sum(isinstance(event, ThinkDone) and event.component == "mcp_sampling" for event in events)
        if asked >= MOST_SAMPLES:
            raise ToolError(f"the model was asked {asked} times in this run already")
        if sum(len(str(message)) for message in messages) > _LONGEST:
            raise ToolError("the messages are too long")
        reply = await run.ask("mcp_sampling", list(messages), max_tokens=max(1, min(max_tokens, MOST_TOKENS)))
        return reply.text

    async def elicit(self, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        run = self._run()
        name = safe_name("asks", self._server.name)
        try:
            check_schema(schema, name)
        except SchemaError:
            return None
        fields: Any = schema.get("properties", {})
        defaults = {key: field["default"] for key, field in fields.items() if "default" in field}

        async def answer(**args: Any) -> str:
            return msgspec.json.encode(args).decode()

        question = Tool(
            name, "A question of an MCP server.", schema, answer, effect="pure", approval="ask", timeout=None
        )
        asks = " ".join(message.split())[:1_000]
        await run.emit(PhaseChanged(f"the MCP server {self._server.name} asks: {asks}"))
        calls = run.nested_calls(f"{self._server.at_work[-1].call_id}-asks-{next(self._numbers)}")
        try:
            outcome = await calls.call(name, defaults, question)
        except Pause:  # nobody is here now, and the server waits
            return None
        if outcome.error:
            return None
        try:
            return decode_json(text_of(outcome.content), dict[str, Any])
        except DataError:
            return None

    def _run(self) -> RunContext[Any]:
        """The run whose call is under way. With calls of several runs nobody can tell which one the server means."""
        runs = {id(context.run): context.run for context in self._server.at_work if context.run is not None}
        if len(runs) != 1:
            raise ToolError("no call of a run is under way that this could belong to")
        return next(iter(runs.values()))
