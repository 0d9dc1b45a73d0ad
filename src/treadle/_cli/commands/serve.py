"""`treadle serve`: serves an agent over HTTP."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup.options import add_agent_options, add_journal_option, flag, port, positive, repeatable

if TYPE_CHECKING:
    from treadle._agent.agent import Agent


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        description="Serve an agent over HTTP: a web page, an API with event streams, an OpenAI-compatible endpoint.",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (127.0.0.1); any other requires tokens"
    )
    parser.add_argument("--port", type=port, help="the port to listen on (8460); 0 for any free one")
    parser.add_argument(
        "--tokens", metavar="FILE", help="a file with lines of 'user token'; or set one token in TREADLE_TOKEN"
    )
    line = "a user who may read /metrics (without it: the only user)"
    repeatable(parser, "--operator", metavar="USER", help=line)
    parser.add_argument("--name", default="", help="the name of the agent in the API")
    line = "a model that may be chosen for a conversation"
    repeatable(parser, "--offer", metavar="MODEL", help=line)
    line = "a preset that may be chosen for a conversation (without tokens: all but 'code')"
    repeatable(parser, "--offer-preset", metavar="NAME", help=line)
    flag(parser, "--leave", help="do not resume the runs that an earlier server left unfinished")
    parser.add_argument("--prefix", default="", metavar="PATH", help="the path a reverse proxy serves it under")
    line = "believe the X-Forwarded headers of this proxy, an address or a network"
    repeatable(parser, "--trust-proxy", metavar="ADDRESS", help=line)
    line = "how often to look for runs that another server on the same journal left unfinished"
    parser.add_argument("--takeover", type=positive, metavar="SECONDS", help=line)
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.setup.launch import journal_location, unattended_agent
    from treadle._cli.setup.toolbox import source_files
    from treadle._server import ServerSettings, make_server

    agent = unattended_agent(args)
    options = {} if args.port is None else {"port": args.port}
    journal = journal_location(args)
    tokens = tokens_from(args.tokens)
    settings = ServerSettings(
        on_restart="leave" if args.leave else "resume",
        models=tuple(args.offer),
        presets=_presets(args.offer_preset, alone=not tokens),
        operators=tuple(args.operator),
        sources=(*([args.file] if args.file else []), *source_files(args.tools or ())),
        trusted_proxies=tuple(args.trust_proxy),
        path_prefix=args.prefix,
        takeover=args.takeover,
    )
    server = make_server(
        {args.name or _name(agent): agent},
        "memory:" if journal == "none" else journal or None,
        host=args.host,
        tokens=tokens,
        settings=settings,
        on_ready=lambda address: print(f"serving at {address} (Ctrl-C stops)", flush=True),
        **options,
    )
    _tell_warnings()
    server.run()
    return 0


def _tell_warnings() -> None:
    """Runs that the server leaves to a person, and what goes wrong while nobody watches, are said in the terminal."""
    import logging

    from treadle._safety.logs import get_logger

    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    get_logger("treadle.server").addHandler(handler)


def _presets(offered: list[str], *, alone: bool) -> tuple[str, ...]:
    """Select the presets to offer: all to whoever serves for themselves, except the one that lets a model run code."""
    from treadle._agent import presets

    if offered or not alone:
        return tuple(offered)
    return tuple(name for name in presets.names() if name not in ("code", "coding"))


def _name(agent: Agent) -> str:
    from treadle._cli.setup.launch import AGENT

    # Another name than that of terminal agents: a server must not resume runs of the terminal.
    return "agent" if agent.name == AGENT else agent.name


def tokens_from(file: str | None) -> dict[str, str]:
    """Read users by token, from a file or the environment; on the command line, other users could read them."""
    from treadle._safety.data import DataError, read_text
    from treadle._types.errors import ConfigError

    tokens = {token: "user" for token in [os.environ.get("TREADLE_TOKEN", "").strip()] if token}
    try:
        lines = read_text(Path(file)).splitlines() if file else []
    except (OSError, DataError) as error:
        raise ConfigError(f"the file with tokens {file} cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) != 2:
            raise ConfigError(f"{file}, line {number}: expected a user and a token, such as 'ada 3f9c...'")
        if fields[1] in tokens:
            raise ConfigError(f"{file}, line {number}: the token of {fields[0]} is already another user's")
        tokens[fields[1]] = fields[0]
    return tokens
