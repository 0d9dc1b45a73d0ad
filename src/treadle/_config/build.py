"""Builds the agents and tools that a document describes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._agent.agent_tool import agent_tool
from treadle._config.document import AgentParams, Document, McpRef, ToolRef, convert
from treadle._config.references import has_references
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._tools.base import Tool
from treadle._tools.builtin import BUILTINS, builtin
from treadle._tools.external import external_tool
from treadle._types.errors import ConfigError, SchemaError

BUILTIN_BY_COMPONENT = {
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
"""Component names, in lower case without spaces and underscores, and the built-in tools they stand for.

The names of the built-in tools work as well.
"""


_EXTERNAL = ("name", "description", "parameters", "returns", "effect", "approval", "untrusted", "pinned", "defaults")
"""The parameters of an `External` tool."""


class Builder:
    """Builds agents and tools. Paths in the document are relative to the folder `base`; errors name it as `where`."""

    def __init__(
        self, document: Document, base: Path, *, model: str | Model | None = None, where: str = "the document"
    ) -> None:
        self.document, self.base, self.where = document, base, where
        self._model = model

    def agent(self, component_id: str, params: dict[str, Any]) -> tuple[Agent[Any, Any], AgentParams]:
        agent_params: AgentParams = convert(
            params, AgentParams, f"{self.where}: $.components[{component_id!r}].obj.params"
        )
        tools: list[Any] = [tool for ref in agent_params.tools for tool in self.tools(component_id, ref)]
        plugins = [self.mcp(component_id, ref) for ref in agent_params.mcp]
        settings = dict(agent_params.settings)
        if agent_params.max_rounds is not None:
            # The rounds of a document do not count the last one, in which the answer is written.
            settings["max_iterations"] = agent_params.max_rounds + 1
        for name in ("temperature", "max_tokens"):
            if getattr(agent_params, name) is not None:
                settings[name] = getattr(agent_params, name)
        model = self._model_for(agent_params, component_id)
        try:
            agent = Agent(
                model,
                tools or None,
                preset=presets.get(agent_params.preset),
                # With references in it, the prompt is known when the run is: see `graph`.
                system="" if has_references(agent_params.sys_prompt) else agent_params.sys_prompt,
                name=component_id.split(":")[-1],
                description=agent_params.description,
                plugins=plugins,
                **settings,
            )
        except (TypeError, ConfigError) as error:
            raise ConfigError(f"{self.where}: {component_id}: {error}") from None
        return agent, agent_params

    def tools(self, component_id: str, ref: ToolRef) -> list[Tool]:
        """Build the tools of one entry."""
        component_name = ref.component_name.replace("_", "").replace(" ", "").lower()
        if component_name == "agent":
            agent, agent_params = self.agent(ref.id or f"{component_id}-->worker", ref.params)
            return [
                agent_tool(
                    agent,
                    name=ref.id or agent.name,
                    description=agent_params.description,
                    user_prompt=agent_params.user_prompt,
                )
            ]
        if component_name == "external":
            return [self._external(component_id, ref)]
        name = BUILTIN_BY_COMPONENT.get(component_name, ref.component_name)
        if name not in BUILTINS:
            names = sorted({*BUILTIN_BY_COMPONENT, *BUILTINS})
            raise ConfigError(
                f"{self.where}: {component_id} names the unknown tool {ref.component_name!r}; "
                f"{_nearest(component_name, names)}"
            )
        tools = builtin(name, **self._params(name, ref.params))
        return tools if isinstance(tools, list) else [tools]

    def _external(self, component_id: str, ref: ToolRef) -> Tool:
        """Build a tool without a function: whoever runs the document supplies the results of its calls."""
        params: dict[str, Any] = {"name": ref.id, **ref.params}
        unknown = sorted(params.keys() - set(_EXTERNAL))
        if unknown or not params["name"]:
            problem = f"has {unknown[0]!r}" if unknown else "has no name"
            expected = ", ".join(_EXTERNAL)
            raise ConfigError(f"{self.where}: an external tool of {component_id} {problem}; expected: {expected}")
        try:
            return external_tool(**params)
        except (ConfigError, SchemaError, TypeError) as error:
            raise ConfigError(f"{self.where}: {component_id}: {error}") from None

    def _params(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a tool. The document names knowledge bases by id, the tool takes paths."""
        params = dict(params)
        if name == "retrieval" and "kb_ids" in params:
            ids: list[str] = [str(kb) for kb in params.pop("kb_ids")]
            knowledge_bases = self.document.knowledge_bases
            if not ids:
                raise ConfigError(f"{self.where}: kb_ids is empty: name at least one id from `knowledge_bases`")
            for kb in ids:
                if kb not in knowledge_bases:
                    raise ConfigError(
                        f"{self.where}: kb_ids has {kb!r}, which is not in `knowledge_bases`; "
                        f"{_nearest(kb, knowledge_bases)}"
                    )
            params["path"] = [str(self.base / knowledge_bases[kb]) for kb in dict.fromkeys(ids)]
        return params

    def _model_for(self, agent_params: AgentParams, component_id: str) -> str | Model:
        if self._model is not None:
            return self._model
        if not agent_params.llm_id:
            raise ConfigError(
                f"{self.where}: {component_id} has no llm_id: add one, for example gpt-4o@OpenAI "
                "or local:qwen2.5-coder-0.5b"
            )
        return resolve_model(agent_params.llm_id)

    def mcp(self, component_id: str, ref: McpRef) -> Any:
        server = self.document.mcp_servers.get(ref.mcp_id)
        if server is None:
            raise ConfigError(
                f"{self.where}: {component_id} uses the MCP server {ref.mcp_id!r}, which is not in `mcp_servers`; "
                f"{_nearest(ref.mcp_id, self.document.mcp_servers)}"
            )
        from treadle._plugins.mcp import McpTools

        return McpTools.from_settings(ref.mcp_id, server, only=tuple(ref.tools))


def _nearest(name: str, names: Iterable[str]) -> str:
    """Suggest the closest name, or list all of them."""
    candidates = list(names)
    near = difflib.get_close_matches(name, candidates, 1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of: {', '.join(candidates) or '(there are none)'}"
