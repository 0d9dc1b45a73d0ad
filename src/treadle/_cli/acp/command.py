"""`treadle acp`: an agent for editors that speak the Agent Client Protocol, over standard input and output."""

from __future__ import annotations

import argparse
from typing import Any, cast

from treadle._cli.chat.code import BACKENDS
from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import add_agent_options, add_command, add_journal_option, repeatable
from treadle._types.errors import ConfigError


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        "acp",
        "Serve an editor (Zed, JetBrains and others) over the Agent Client Protocol: the editor starts this command.",
    )
    line = "what it works on: host (the editor's folder itself), or a copy of it"
    parser.add_argument("-w", "--workspace", choices=BACKENDS, default="host", help=line)
    line = "commands that need no question, such as 'git status|pytest *'"
    repeatable(parser, "--allow", metavar="RULES", help=line)
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    try:
        from acp import run_agent
    except ImportError:
        raise ConfigError("treadle acp needs a package: pip install 'treadle[acp]'") from None
    from treadle._cli.acp.editor import Editor
    from treadle._cli.setup.launch import journal_from, launch_from
    from treadle._journal import open_journal

    if args.file:
        raise ConfigError("treadle acp works with the preset 'coding', not with a document (-f)")
    args.preset = args.preset or "coding"
    args.tools = args.tools or ["none"]
    launch, _ = launch_from(args)
    journal = journal_from(args) or open_journal("memory:")

    async def serve() -> None:
        editor = Editor(launch, journal, yes=args.yes)
        try:
            await run_agent(cast("Any", editor))
        finally:
            await editor.close()

    asyncio.run(serve())
    return exit_codes.OK
