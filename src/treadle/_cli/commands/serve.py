"""`treadle serve`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup.options import add_agent_options, add_journal_option

if TYPE_CHECKING:
    from treadle._flows.agent import Agent


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        description="Serve the agent over HTTP: a page, the runs API with SSE, and an OpenAI-compatible endpoint.",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (127.0.0.1); any other needs tokens"
    )
    parser.add_argument("--port", type=int, help="the port to listen on (8460); 0 for any free one")
    parser.add_argument(
        "--tokens", metavar="FILE", help="who may use it: lines of 'user token'; or one token in TREADLE_TOKEN"
    )
    parser.add_argument("--name", default="", help="the name the agent is served under")
    parser.add_argument("--leave", action="store_true", help="do not go on with runs an earlier server left unfinished")
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.setup.launch import build_agent, launch_from, say_choice
    from treadle._cli.setup.user_config import read_user_file
    from treadle._plugins.guards.approval import Approval
    from treadle._server import ServerSettings, serve

    launch, choice = launch_from(args)
    agent = build_agent(launch, journal=None, approval=Approval(), yes=args.yes, note=False)
    say_choice(choice)
    options = {} if args.port is None else {"port": args.port}
    journal = args.journal or read_user_file().journal
    serve(
        {args.name or _name(agent): agent},
        "memory:" if journal == "none" else journal or None,
        host=args.host,
        tokens=tokens_from(args.tokens),
        settings=ServerSettings(on_restart="leave" if args.leave else "resume"),
        on_ready=lambda address: print(f"serving at {address} (Ctrl-C stops)", flush=True),
        **options,
    )
    return 0


def _name(agent: Agent) -> str:
    from treadle._cli.setup.launch import AGENT

    # Runs of the terminal are unfinished business of the terminal: a server must not take them up.
    return "agent" if agent.name == AGENT else agent.name


def tokens_from(file: str | None) -> dict[str, str]:
    """Tokens by user, from a file or the environment: on the command line everybody could read them."""
    from treadle._types.errors import ConfigError

    tokens = {token: "user" for token in [os.environ.get("TREADLE_TOKEN", "").strip()] if token}
    lines = Path(file).read_text("utf-8").splitlines() if file else []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise ConfigError(f"{file}, line {number}: write a user and a token, such as 'ada 3f9c...'")
        tokens[words[1]] = words[0]
    return tokens
