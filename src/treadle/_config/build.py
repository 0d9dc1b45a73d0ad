"""From a document to agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treadle._config.document import AgentParams, Document, McpRef, ToolRef, convert
from treadle._flows.agent import Agent
from treadle._flows.agent_tool import agent_tool
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._tools.base import Tool
from treadle._tools.builtin import BUILTINS, builtin
from treadle._types.errors import ConfigError

NAMES = {
    "retrieval": "retrieval",
    "google": "google",
    "googlesearch": "google",
    "exesql": "sql",
    "sql": "sql",
    "codeexec": "code_exec",
    "wikipedia": "wikipedia",
    "arxiv": "arxiv",
    "pubmed": "pubmed",
    "tavily": "tavily",
    "tavilysearch": "tavily",
    "baidusearch": "baidu",
    "baidu": "baidu",
    "duckduckgo": "duckduckgo",
    "qweather": "qweather",
    "yahoofinance": "yahoo_finance",
}
"""Component names, folded, to our built-in tools; the tools' own names work as well."""


class Builder:
    """Makes the agents and tools a document names. `base` is the folder paths are relative to."""

    def __init__(
        self, document: Document, base: Path, *, model: str | Model | None = None, where: str = "the document"
    ) -> None:
        self.document, self.base, self.where = document, base, where
        self._model = model

    def agent(self, component_id: str, params: dict[str, Any]) -> tuple[Agent, AgentParams]:
        given: AgentParams = convert(params, AgentParams, f"{self.where}: $.components[{component_id!r}].obj.params")
        tools: list[Any] = [tool for ref in given.tools for tool in self.tools(component_id, ref)]
        plugins = [self._mcp(component_id, ref) for ref in given.mcp]
        settings = dict(given.settings)
        if given.max_rounds is not None:
            # A description's rounds and one more, in which the answer is written.
            settings["max_iterations"] = given.max_rounds + 1
        for name in ("temperature", "max_tokens"):
            if getattr(given, name) is not None:
                settings[name] = getattr(given, name)
        try:
            agent = Agent(
                self._model_of(given, component_id),
                tools or None,
                preset=given.preset,
                system=given.sys_prompt,
                name=component_id.split(":")[-1],
                description=given.description,
                plugins=plugins,
                **settings,
            )
        except TypeError as error:
            raise ConfigError(f"{self.where}: {component_id}: {error}") from None
        return agent, given

    def tools(self, component_id: str, ref: ToolRef) -> list[Tool]:
        """The tools one entry stands for."""
        folded = ref.component_name.replace("_", "").replace(" ", "").lower()
        if folded == "agent":
            agent, given = self.agent(ref.id or f"{component_id}-->worker", ref.params)
            return [
                agent_tool(
                    agent, name=ref.id or agent.name, description=given.description, user_prompt=given.user_prompt
                )
            ]
        name = NAMES.get(folded, ref.component_name)
        if name not in BUILTINS:
            raise ConfigError(
                f"{self.where}: {component_id} names the tool {ref.component_name!r}; known are: {', '.join(sorted(NAMES))}"
            )
        made = builtin(name, **self._params(name, ref.params))
        return made if isinstance(made, list) else [made]

    def _params(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Knowledge bases are named by id in the document and by path for the tool."""
        params = dict(params)
        if name == "retrieval" and "kb_ids" in params:
            ids: list[str] = list(params.pop("kb_ids"))
            unknown = [kb for kb in ids if kb not in self.document.knowledge_bases]
            if unknown or len(ids) != 1:
                raise ConfigError(
                    f"{self.where}: kb_ids must name one of `knowledge_bases`, and {unknown or ids} does not"
                )
            params["path"] = str(self.base / self.document.knowledge_bases[ids[0]])
        return params

    def _model_of(self, given: AgentParams, component_id: str) -> str | Model:
        if self._model is not None:
            return self._model
        if not given.llm_id:
            raise ConfigError(
                f"{self.where}: {component_id} has no llm_id: write one, for example gpt-4o@OpenAI or local:qwen2.5-coder-0.5b"
            )
        return resolve_model(given.llm_id)

    def _mcp(self, component_id: str, ref: McpRef) -> Any:
        server = self.document.mcp_servers.get(ref.mcp_id)
        if server is None:
            known = ", ".join(self.document.mcp_servers) or "none"
            raise ConfigError(
                f"{self.where}: {component_id} uses the MCP server {ref.mcp_id!r}; `mcp_servers` has: {known}"
            )
        from treadle._plugins.mcp import McpTools

        return McpTools.from_settings(ref.mcp_id, server, only=tuple(ref.tools))
