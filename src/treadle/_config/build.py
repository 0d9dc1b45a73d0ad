"""Builds the agents and tools that a document describes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._agent.agent_tool import agent_tool
from treadle._config import components as parts
from treadle._config.document import AgentParams, Document, McpRef, Prompt, ToolRef, convert
from treadle._config.scope import bare, has_references
from treadle._engine.plugin import Plugin
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._plugins.memory.citations import Citations
from treadle._plugins.memory.plugin import Memory
from treadle._safety.beside import read_beside
from treadle._tools.base import Tool
from treadle._tools.builtin import BUILTINS, builtin
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.reading.html import read_html
from treadle._tools.external import external_tool
from treadle._types.errors import ConfigError, MissingKeyError, SchemaError, ToolError, nearest

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
        self.notes: list[str] = []
        """What this machine lacks to run the document."""

    def agent(self, component_id: str, params: dict[str, Any]) -> tuple[Agent[Any, Any], AgentParams]:
        agent_params: AgentParams = convert(
            params, AgentParams, f"{self.where}: $.components[{component_id!r}].obj.params"
        )
        tools = self._all_tools(component_id, agent_params.tools)
        plugins: list[Any] = [self.mcp(component_id, ref) for ref in agent_params.mcp]
        preset = presets.get(agent_params.preset)
        if not agent_params.cite:
            plugins.append(_NoCitations())
        if not tools and not agent_params.mcp and "preset" not in params:
            # Without tools there is nothing to analyse and to reflect on: it answers in one request.
            preset = presets.get("default")
            plugins = [*plugins, Memory(), *([Citations()] if agent_params.cite else [])]
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
                preset=preset,
                # With references in it, the prompt is known when the run is: see `graph`.
                system="" if has_references(agent_params.sys_prompt) else agent_params.sys_prompt,
                name=component_id.split(":")[-1],
                description=agent_params.description,
                plugins=plugins,
                output_type=agent_params.output_schema or None,
                **settings,
            )
        except (TypeError, ConfigError) as error:
            raise ConfigError(f"{self.where}: {component_id}: {error}") from None
        return agent, agent_params

    def _all_tools(self, component_id: str, refs: Iterable[ToolRef]) -> list[Tool]:
        """Build the tools of an agent; a second one of a name gets a number."""
        tools: list[Tool] = []
        for tool in (tool for ref in refs for tool in self.tools(component_id, ref)):
            name, number = tool.name, 1
            while any(other.name == name for other in tools):
                number += 1
                name = f"{tool.name}_{number}"
            tools.append(tool if name == tool.name else tool.replace(name=name))
        return tools

    def params(self, name: str) -> parts.Params:
        """Read the parameters of a component that is neither an agent nor a tool."""
        component = self.document.components[name]
        where = f"{self.where}: $.components[{name!r}].obj.params"
        return convert(component.obj.params, parts.PARAMS[parts.kind_of(component)], where)

    def categorizer(self, name: str, params: parts.CategorizeParams) -> tuple[Agent[Any, Any], AgentParams]:
        """Build the agent that chooses a category: one request, without tools."""
        settings: dict[str, Any] = {} if params.temperature is None else {"temperature": params.temperature}
        agent_params = AgentParams(
            llm_id=params.llm_id or self._first_model(),
            prompts=(Prompt("user", f"{{{{{bare(params.query)}}}}}"),),
            message_history_window_size=params.message_history_window_size,
        )
        model = self._model_for(agent_params, name)
        system = parts.choice_prompt(params)
        plugins = [_NoCitations()]
        return Agent(model, None, system=system, name=name.split(":")[-1], plugins=plugins, **settings), agent_params

    def _first_model(self) -> str:
        agents = (c.obj.params for c in self.document.components.values() if parts.kind_of(c) == "agent")
        return next((str(params["llm_id"]) for params in agents if params.get("llm_id")), "")

    TOOL_KINDS = ("userfillup", "code", "invoke")
    """Kinds of components that are calls of a tool of their own."""

    def component_tool(self, name: str) -> Tool:
        """Build the tool that a component calls."""
        component = self.document.components[name]
        kind = parts.kind_of(component)
        if kind == "tool":
            params = {key: value for key, value in component.obj.params.items() if key != "arguments"}
            return self.tools(name, ToolRef(component.obj.component_name, params))[0]
        params = self.params(name)
        if isinstance(params, parts.FillUpParams):
            return external_tool(
                re.sub(r"\W", "_", name)[:60],
                "A form for the person who asked.",
                {"type": "object", "properties": {"tips": {"type": "string"}, "form": {"type": "object"}}},
                returns=parts.form_schema(params.inputs),
                effect="pure",
                untrusted=False,
            )
        if isinstance(params, parts.HttpParams):
            return http_request(params)
        return cast(Tool, builtin("code_exec", languages=("python",)))

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
                f"{nearest(component_name, names)}"
            )
        try:
            tools = builtin(name, **self._params(name, ref.params))
        except MissingKeyError as error:
            # The document is right, and this machine lacks something: who calls the tool is told what.
            self.notes.append(f"{component_id}: {error}")
            return [_unusable(name, str(error))]
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
        if name in ("a2a", "openapi") and "auth" in params:
            raise ConfigError(f"{self.where}: {name}: a document does not say which secret goes where; do it in Python")
        if name == "retrieval" and "kb_ids" in params:
            ids: list[str] = [str(kb) for kb in params.pop("kb_ids")]
            knowledge_bases = self.document.knowledge_bases
            if not ids:
                raise ConfigError(f"{self.where}: kb_ids is empty: name at least one id from `knowledge_bases`")
            for kb in ids:
                if kb not in knowledge_bases:
                    raise ConfigError(
                        f"{self.where}: kb_ids has {kb!r}, which is not in `knowledge_bases`; "
                        f"{nearest(kb, knowledge_bases)}"
                    )
            params["path"] = [str(self._base(kb)) for kb in dict.fromkeys(ids)]
        if name == "sql" and isinstance(params.get("url"), str) and "://" not in params["url"]:
            params["url"] = str(self.base / params["url"])
        return params

    def _base(self, kb: str) -> Path:
        path = self.base / self.document.knowledge_bases[kb]
        if not path.exists():
            raise ConfigError(
                f"{self.where}: the knowledge base {kb!r} is not there: {self.document.knowledge_bases[kb]} "
                "does not exist; make it with `treadle kb add`"
            )
        return path

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
                f"{nearest(ref.mcp_id, self.document.mcp_servers)}"
            )
        from treadle._plugins.mcp import McpTools

        return McpTools.from_settings(ref.mcp_id, server, only=tuple(ref.tools))


class _NoCitations(Plugin):
    """In the place of the plug-in of that name: nothing is said about citations, and none is looked for."""

    name = Citations.name


def _unusable(name: str, why: str) -> Tool:
    def execute(query: str = "") -> str:
        raise ToolError(f"{name} cannot be used here: {why}")

    properties = {"query": {"type": "string"}}
    return Tool(name, BUILTINS[name], {"type": "object", "properties": properties}, execute, effect="pure")


def http_request(params: parts.HttpParams) -> Tool:
    """The request that a component makes, to public addresses only."""

    async def execute(url: str, headers: dict[str, str], variables: dict[str, str]) -> str:
        client = GuardedClient(timeout=params.timeout)
        method = params.method.upper()
        options: dict[str, Any] = {"params": variables} if method == "GET" else {"json": variables}
        try:
            response = await client.request(method, url, headers=headers, **options)
        finally:
            await client.close()
        if response.status >= 400:
            raise ToolError(f"{url[:200]} answered with status {response.status}")
        text = response.body.decode("utf-8", "replace")
        return (await read_beside(len(text), read_html, text)).text if params.clean_html else text

    pairs = {"type": "object", "additionalProperties": {"type": "string"}}
    properties = {"url": {"type": "string"}, "headers": pairs, "variables": pairs}
    effect = "pure" if params.method.upper() == "GET" else "unsafe"
    return Tool(
        "http_request", "Ask an address.", {"type": "object", "properties": properties}, execute,
        timeout=params.timeout + 5, effect=effect, untrusted="the address",
    )  # fmt: skip
