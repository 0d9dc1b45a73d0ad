"""The MCP client a served tool works for: what a tool may tell it, and ask it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping
from typing import Any, Literal, get_args

from treadle._types.errors import ToolError

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[str, ...] = get_args(Level)
_SESSIONS = 1_000


class LogLevels:
    """The level that each client has set. The oldest is forgotten when there are very many."""

    def __init__(self) -> None:
        self._levels: dict[str, str] = {}

    def set(self, context: Any, level: str) -> None:
        while len(self._levels) >= _SESSIONS:
            self._levels.pop(next(iter(self._levels)))
        self._levels[session_id(context)] = level

    def wants(self, context: Any, level: str) -> bool:
        return LEVELS.index(level) >= LEVELS.index(self._levels.get(session_id(context), "debug"))


class McpPeer:
    """`context.deps` of a tool that is served over MCP: `context: ToolContext[McpPeer]`."""

    def __init__(self, context: Any, levels: LogLevels) -> None:
        self._context, self._levels = context, levels
        self._count = 0
        self._sending: set[asyncio.Task[None]] = set()

    async def log(self, level: Level, text: str) -> None:
        """Send a log message, unless the client asked for more important ones only."""
        if self._levels.wants(self._context, level):
            session = self._context.session
            with warnings.catch_warnings(action="ignore"):  # deprecated in the newest version, used in all others
                sending = session.send_log_message(level, text, "treadle", self._context.request_id)
            await sending

    async def progress(self, done: float, total: float | None = None, text: str | None = None) -> None:
        """Say how far the tool is, where the client wants to know."""
        await self._context.session.report_progress(done, total, text)

    async def ask(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Ask the client's user; the answer fits the schema. None when the user declines."""
        self._require("elicitation", "ask its user")
        answer = await self._asked(
            self._context.session.elicit_form(question, dict(schema), self._context.request_id), "ask its user"
        )
        return dict(answer.content or {}) if answer.action == "accept" else None

    async def sample(self, prompt: str, max_tokens: int = 1_000) -> str:
        """Ask the client's model."""
        from mcp_types import SamplingMessage, TextContent

        self._require("sampling", "ask its model")
        messages = [SamplingMessage(role="user", content=TextContent(text=prompt))]
        with warnings.catch_warnings(action="ignore"):
            sending = self._context.session.create_message(
                messages, max_tokens=max_tokens, related_request_id=self._context.request_id
            )
        answer = await self._asked(sending, "ask its model")
        return getattr(answer.content, "text", "")

    async def close_stream(self) -> None:
        """Over HTTP: close the stream of this call until its result is there. Spares long connections."""
        if (close := self._context.close_sse_stream) is not None:
            await close()

    def output(self, text: str) -> None:
        """Return what a tool shows while it works, as progress."""
        self._count += 1
        task = asyncio.ensure_future(self.progress(self._count, None, text))
        self._sending.add(task)
        task.add_done_callback(self._sent)

    async def flush(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled():
            task.exception()  # a client that does not listen is no failure of the tool

    def _require(self, ability: str, what: str) -> None:
        capabilities = self._context.session.client_capabilities
        if getattr(capabilities, ability, None) is None:
            raise ToolError(f"the MCP client cannot {what}: it does not offer {ability}")

    async def _asked(self, sending: Any, what: str) -> Any:
        from mcp import MCPError

        try:
            return await sending
        except MCPError as error:
            raise ToolError(f"the MCP client did not {what}: {error.message[:200]}") from None


def session_id(context: Any) -> str:
    """Over HTTP each client has a session; over stdio there is one client."""
    headers: Mapping[str, Any] = getattr(context.request, "headers", None) or {}
    return str(headers.get("mcp-session-id", ""))[:200]
