"""`treadle serve`."""

from __future__ import annotations

import argparse
from typing import Any

from treadle.cli.options import add_agent_options, add_journal_option


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "serve", description="Serve the agent over HTTP: a page, the runs API, SSE, and an OpenAI-compatible endpoint."
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8321, help="the port to listen on (8321)")
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    return 0
