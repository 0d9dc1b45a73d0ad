"""ToolSearch: of hundreds of tools, those nearest in meaning to the question are offered; the model can search on.

It replaces the selection by a model call: nothing is asked of the model before its first step, and the list of all
tools is never sent.
"""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._models.embeddings import MINILM, Embedder, Meanings
from treadle._plugins.guards.tool_selection import ToolSelection, catalogue_line, offer_also
from treadle._safety.logs import get_logger
from treadle._tools.base import Tool, ToolContext
from treadle._tools.builtin.common import object_schema
from treadle._types.errors import MissingExtraError, ModelError, ToolError

log = get_logger(__name__)
FIND = "find_tools"
_MAX_TEXT = 500


class ToolSearch(ToolSelection):
    """`embed`: a function from texts to vectors, or the name of an embedding model."""

    def __init__(self, embed: Embedder | str = MINILM, *, provider: bool = False) -> None:
        """`provider`: all tools are sent, and a provider that can (Anthropic, OpenAI's Responses) keeps them from the
        model until its own search has found them. Elsewhere the search is done here."""
        self._meanings = Meanings(embed)
        self._provider = provider
        query = {"type": "string", "maxLength": _MAX_TEXT, "description": "What the tool should do"}
        self.tools = (
            Tool(
                FIND,
                "Search for further tools by what they do; those found can be called from then on.",
                object_schema({"query": query}, ("query",)),
                self._find,
                effect="idempotent",
                acts=False,
                concurrent=False,
                pinned=True,
                context_param="context",
            ),
        )

    async def on_start(self, run: RunContext) -> None:
        threshold, tools = run.settings.selection_threshold, list(run.toolkit)
        searches = getattr(run.model, "searches_tools", False) and run.dialect.name == "native"
        if not self._provider or not searches or threshold is None or len(tools) <= threshold:
            await super().on_start(run)
            return
        if any(tool.deferred for tool in run.state.tools):  # resumed
            return
        offered = [tool.name for tool in run.state.tools]
        kept_back = [tool.name for tool in tools if not tool.pinned]
        # Once, before the first request: what is found later changes nothing of what was sent.
        await run.offer_tools(offered, "the provider searches among them", deferred=frozenset(kept_back))

    async def choose(self, run: RunContext, tools: list[Tool]) -> list[str]:
        try:
            return await self._nearest(run.state.question, tools, run.settings.selection_max)
        except (ModelError, ToolError, MissingExtraError) as error:
            log.warning("tools are selected by a model call, because they cannot be searched by meaning: %s", error)
            return await super().choose(run, tools)

    async def _find(self, context: ToolContext, query: str) -> str:
        run: RunContext = context.run
        offered = [tool.name for tool in run.state.tools]
        hidden = [tool for tool in run.toolkit if tool.name not in offered]
        found = await self._nearest(query, hidden, run.settings.selection_max)
        if not found:
            return "There are no further tools."
        await offer_also(run, found, f"found {', '.join(found)}")
        lines = [catalogue_line(tool) for tool in hidden if tool.name in found]
        return "These tools can be called from now on:\n" + "\n".join(lines)

    async def _nearest(self, query: str, tools: list[Tool], most: int) -> list[str]:
        if not tools:
            return []
        ranked = await self._meanings.ranked(query[:2_000], [searched_text(tool) for tool in tools])
        return [tools[index].name for index, _ in ranked[:most]]


def searched_text(tool: Tool) -> str:
    """Return what of a tool is compared with a question."""
    return f"{tool.name.replace('_', ' ')}: {tool.description}"[:_MAX_TEXT]
