"""Operations about the agents: their tools, knowledge bases and MCP servers, and one of their tools called by hand."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from treadle._agent.agent import Agent
from treadle._agent.presets import memory_stores
from treadle._flows.tool_trial import TRIAL, question_of
from treadle._plugins.mcp import McpTools
from treadle._safety.logs import process_redactor
from treadle._server.api import bodies as b
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import not_found
from treadle._server.live.variants import Variants
from treadle._tools.base import Tool
from treadle._tools.builtin.knowledge.retrieval import searched_by
from treadle._types.errors import ToolError, TreadleError
from treadle._types.ids import fresh_id

routes = Routes("server")

_PATIENCE = 10.0
"""Seconds an MCP server has to list its tools."""


class ToolCallBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    args: dict[str, Any] = {}


class ToolBody(Struct, frozen=True):
    name: str
    description: str
    approval: str
    parameters: dict[str, Any]


class KnowledgeBody(Struct, frozen=True):
    name: str
    tool: str
    """The tool that searches it."""
    exists: bool


class AgentBody(Struct, frozen=True):
    name: str
    description: str
    model: str
    kind: str
    max_iterations: int
    tools: list[ToolBody]
    knowledge: list[KnowledgeBody]
    mcp: list[str]
    """The names of its MCP servers; `GET /api/agents/{name}/mcp` says whether they answer."""
    preset: str
    remembers: bool
    """It has the plug-in `Memory`; `GET /api/memory` says what is remembered."""
    models: list[str]
    """Those a run of this agent can be started with, its own first."""
    presets: list[str]


class AgentList(Struct, frozen=True):
    agents: list[AgentBody]


class McpBody(Struct, frozen=True):
    name: str
    ok: bool
    tools: list[str]
    problem: str


class McpList(Struct, frozen=True):
    servers: list[McpBody]


@routes("GET", "/api/agents", AgentList)
async def list_agents(call: Call) -> Response:
    """List the agents of this server."""
    return answer(AgentList([_agent_body(name, agent, call.hub.variants) for name, agent in call.hub.agents.items()]))


def _agent_body(name: str, agent: Agent, variants: Variants) -> AgentBody:
    return AgentBody(
        name,
        agent.description,
        agent.model.name,
        type(agent).__name__,
        agent.settings.max_iterations,
        [ToolBody(t.name, t.description, _approval(agent, t), dict(t.parameters)) for t in agent.toolkit],
        [KnowledgeBody(path.stem, t.name, path.exists()) for t in agent.toolkit for path in searched_by(t)],
        [server.connection.name for server in _servers(agent)],
        agent.preset.name,
        bool(memory_stores(agent)),
        variants.models(agent),
        variants.presets(agent),
    )


def _approval(agent: Agent, tool: Tool) -> str:
    return "ask" if tool.approval == "allow" and agent.settings.asks_about(tool.all_names) else tool.approval


def _servers(agent: Agent) -> list[McpTools]:
    return [plugin for plugin in agent.plugins if isinstance(plugin, McpTools)]


@routes("GET", "/api/agents/{agent}/mcp", McpList, errors=(404,))
async def agent_mcp(call: Call) -> Response:
    """Check whether the MCP servers of an agent answer, and list their tools."""
    agent = call.hub.agent(call.path("agent"))
    return answer(McpList(list(await asyncio.gather(*map(_health, _servers(agent))))))


async def _health(server: McpTools) -> McpBody:
    name = server.connection.name
    try:
        async with asyncio.timeout(_PATIENCE):
            listed = await server.connection.listed()
    except (ToolError, TreadleError) as error:
        return McpBody(name, False, [], process_redactor.text(str(error))[:500])
    except TimeoutError:
        return McpBody(name, False, [], f"it did not answer within {_PATIENCE:g} seconds")
    return McpBody(name, True, [tool.name for tool in listed if not server.only or tool.name in server.only], "")


@routes("POST", "/api/agents/{agent}/tools/{tool}", {201: b.Created}, body=ToolCallBody, errors=(404, 409))
async def try_tool(call: Call) -> Response:
    """Call one tool of an agent by hand: a run without its model, with its approvals, recorded."""
    agent, tool, body = call.path("agent"), call.path("tool"), call.body
    served = call.hub.agent(agent)
    if tool not in {one.name for one in served.toolkit} and not _servers(served):
        raise not_found(f"tool {tool[:80]!r} of the agent {agent[:80]!r}")
    run_id, principal = fresh_id(), call.principal
    run = await call.hub.start(
        call.hub.trials[f"{agent}{TRIAL}"],
        question_of(tool, body.args),
        run_id=run_id,
        conversation=run_id,
        user=principal.user,
        key=principal.key,
    )
    return answer(b.created(run.id, run_id), 201)
