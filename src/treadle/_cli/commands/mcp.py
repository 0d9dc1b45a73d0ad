"""`treadle mcp`: serves agents and tools to MCP clients; logs in at MCP servers."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import mcp_logins as logins
from treadle._cli.setup.options import add_journal_option, flag, port, repeatable
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._agent.agent import Agent
    from treadle._engine.result import RunResult
    from treadle._server.mcp.values import McpPrompt, McpResource
    from treadle._tools.base import Tool


def register(commands: Any) -> None:
    parser = commands.add_parser("mcp", description="Treadle and the Model Context Protocol.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    serve = actions.add_parser(
        "serve",
        help="serve agents and tools as an MCP server",
        description="Serve agents and tools as an MCP server, over standard input and output or --http.",
    )
    repeatable(serve, "-f", "--file", metavar="FILE", help="a document whose agent is served")
    repeatable(serve, "-t", "--tools", metavar="NAME", help="a built-in tool, module:name or file.py:name")
    line = "the model of the agents, instead of those in the documents"
    serve.add_argument("-m", "--model", metavar="PROVIDER:MODEL", help=line)
    flag(serve, "--runs", help="recorded runs as resources (treadle://runs)")
    line = "a knowledge base as resources (treadle://knowledge/NAME)"
    repeatable(serve, "--kb", metavar="NAME=FILE", help=line)
    add_journal_option(serve)
    serve.add_argument("--http", type=port, metavar="PORT", help="serve over HTTP on 127.0.0.1; 0 for any free port")
    serve.add_argument("--name", default="treadle", help="the name of the server (treadle)")
    logins.register(actions)


def run(args: argparse.Namespace) -> int:
    return _serve(args) if args.action == "serve" else logins.run(args)


def _serve(args: argparse.Namespace) -> int:
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.toolbox import find_tools
    from treadle._server.mcp.server import make_server, serve_http, serve_stdio
    from treadle._tools.toolkit import Toolkit

    agents = [_agent(file, args.model) for file in args.file]
    kit = Toolkit([*map(question_tool, agents), *find_tools(args.tools)])
    resources = _resources(args)
    if not len(kit) and not resources:
        raise ConfigError(
            "there is nothing to serve: give an agent with -f FILE, tools with --tools NAME, --runs or --kb NAME=FILE"
        )
    server = make_server(kit, args.name, resources=resources, prompts=[agent_prompt(agent) for agent in agents])
    if args.http is None:
        run_async(serve_stdio(server))
    else:
        run_async(
            serve_http(server, args.http, lambda address: print(f"serving at {address} (Ctrl-C stops)", flush=True))
        )
    return 0


def _resources(args: argparse.Namespace) -> list[McpResource]:
    from treadle._cli.setup.launch import existing_journal
    from treadle._server.mcp.own_resources import knowledge_resources, run_resources
    from treadle._tools.builtin.knowledge.base import KnowledgeBase

    bases: dict[str, KnowledgeBase] = {}
    for pair in args.kb:
        name, _, path = str(pair).rpartition("=")
        name = name or Path(path).stem
        if not Path(path).is_file():
            raise ConfigError(f"--kb {pair}: there is no file {path}")
        if not re.fullmatch(r"[\w.-]+", name):
            raise ConfigError(f"--kb {pair}: a name has letters, digits, '.', '_' and '-' only: --kb NAME=FILE")
        bases[name] = KnowledgeBase(path)
    runs = run_resources(existing_journal(args)) if args.runs else []
    return [*runs, *knowledge_resources(bases)]


def agent_prompt(agent: Agent) -> McpPrompt:
    """Offer an agent's instructions with a question, for a client that wants to answer it with its own model."""
    from treadle._server.mcp.values import McpPrompt
    from treadle._tools.mcp.client import safe_name

    def render(question: str) -> str:
        return f"{agent.system}\n\n{question}" if isinstance(agent.system, str) and agent.system else question

    return McpPrompt(
        name=safe_name(agent.name),
        render=render,
        description=agent.description or f"The instructions of the agent {agent.name}.",
        arguments={"question": "What to ask."},
    )


def _agent(file: str, model: str | None) -> Agent:
    from treadle._config import load_agent
    from treadle._models.catalog.default import model_named

    agent = load_agent(file, model=model_named(model) if model else None)
    for tool in agent.toolkit:
        if tool.approval == "ask" or agent.settings.asks_about(tool.all_names):
            print(
                f"treadle: {agent.name} has the tool {tool.name}, which needs approval; an MCP client cannot give it",
                file=sys.stderr,
            )
    return agent


def _unanswered(agent: Agent, result: RunResult) -> str:
    """Explain to a client, which cannot decide about calls, that a run waits for approval; empty when none waits."""
    if result.stop_reason != "paused":
        return ""
    waiting = ", ".join(f"{call.tool} ({call.why})" for call in result.pending) or "a person"
    stored = f"; the run {result.run_id} is kept in the journal" if agent.journal is not None else ""
    return f"There is no answer: it waits for a person's approval, which cannot be given over MCP: {waiting}{stored}."


def question_tool(agent: Agent) -> Tool:
    """Offer an agent as a tool: its argument is a question, its result the answer; steps are reported as progress."""
    from treadle._tools.base import Tool, ToolContext, ToolResponse
    from treadle._tools.mcp.client import safe_name
    from treadle._types.events import Record, ToolStarted

    async def ask(context: ToolContext, question: str) -> ToolResponse:
        def show(record: Record) -> None:
            if isinstance(record.event, ToolStarted):
                context.output(f"{record.event.call.name} ...")

        run = agent.start(question)
        run.subscribe(show)
        result = await run
        return ToolResponse(
            _unanswered(agent, result) or result.answer or str(result.error or result.stop_reason),
            error=not result.success,
            artifacts=result.artifacts,
        )

    return Tool(
        safe_name(agent.name),
        agent.description or f"Ask the agent {agent.name}.",
        {
            "type": "object",
            "properties": {"question": {"type": "string"}},
            "required": ["question"],
            "additionalProperties": False,
        },
        ask,
        timeout=None,
        context_param="context",
    )
