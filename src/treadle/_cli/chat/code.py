"""`treadle code`: a conversation about the files of a folder."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.setup.options import add_agent_options, add_command, add_journal_option, flag, repeatable
from treadle._types.errors import ConfigError

BACKENDS = ("sandbox", "copy", "worktree", "host")


def register(commands: Any) -> None:
    parser = add_command(
        commands,
        "code",
        "Work on a copy of this folder, each step of which can be gone back to (/fork N, /undo), until you say /apply.",
    )
    parser.add_argument("question", nargs="?", default="", help="what is to be done; without it you are asked")
    parser.add_argument(
        "-w",
        "--workspace",
        choices=BACKENDS,
        help="sandbox (a copy without network; the default where bubblewrap can be used), copy, worktree (a git "
        "checkout), host (your files themselves)",
    )
    flag(parser, "--network", help="let programs in the sandbox use the network; what may send is then asked about")
    line = "a host that programs in the sandbox may reach, like pypi.org or *.example.com"
    repeatable(parser, "--host", metavar="HOST", help=line)
    line = "commands that need no question, such as 'git status|pytest *'"
    repeatable(parser, "--allow", metavar="RULES", help=line)
    earlier = parser.add_mutually_exclusive_group()
    earlier.add_argument("-c", "--continue", dest="go_on", action="store_true", help="go on with the newest one here")
    earlier.add_argument("--resume", metavar="ID", help="go on with this conversation, or after this run")
    add_agent_options(parser)
    flag(parser, "-q", "--quiet", help="show only the answers")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.chat.command import run as converse
    from treadle._cli.setup.launch import default_workspace

    if args.file or args.journal == "none":
        raise ConfigError("treadle code needs a journal, which keeps the steps, and no document (-f)")
    args.workspace = args.workspace or default_workspace()
    args.preset = args.preset or "coding"
    args.tools = args.tools or ["none"]
    return converse(args)
