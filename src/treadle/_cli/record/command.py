"""`treadle record`: records what a program exchanges with its models."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.display.help_text import HelpLines
from treadle._cli.setup.options import add_journal_option, flag, port, repeatable
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._record.upstreams import Routes
    from treadle._record.worker import Recording

_EXAMPLES = """examples:
  treadle record -- python my_app.py               its SDKs find the proxy through their usual variables
  treadle record --listen 8900 --to https://api.openai.com/v1
                                                   for programs that are given http://127.0.0.1:8900 by hand
  treadle record --save fixtures/ -- python my_app.py
                                                   also as files that treadle.testing.TrafficPlayer plays"""


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "record",
        description="Record what a program exchanges with its models: everything is passed on unchanged.",
        epilog=_EXAMPLES,
        formatter_class=HelpLines,
    )
    parser.add_argument("program", nargs="*", metavar="COMMAND", help="the program and its arguments, after --")
    parser.add_argument("--listen", type=port, metavar="PORT", help="wait for programs on this port of 127.0.0.1")
    line = "with --listen: where requests go; NAME=URL for several, each under /NAME"
    repeatable(parser, "--to", metavar="URL", help=line)
    line = "one more server, for a program that finds its address some other way, under /NAME"
    repeatable(parser, "--route", metavar="NAME=URL", help=line)
    parser.add_argument("--name", default="", help="the agent under which the runs are listed (the program's name)")
    parser.add_argument("--save", metavar="FOLDER", help="write the exchanges as files for tests into this folder")
    add_journal_option(parser)
    flag(parser, "-q", "--quiet", help="only say what could not be recorded")


def run(args: argparse.Namespace) -> int:
    from treadle._record.process import RecorderProcess
    from treadle._record.session import record_connections, record_program

    routes = _routes(args)
    recorder = RecorderProcess(_recording(args), _say)
    try:
        if args.program:
            return asyncio.run(record_program(args.program, routes, recorder, os.environ))
        asyncio.run(record_connections(args.listen, routes, recorder, lambda at: _ready(args, routes, at)))
        return 0
    finally:
        recorder.close()


def _routes(args: argparse.Namespace) -> Routes:
    from treadle._record.upstreams import Routes, routes_from, upstream_at

    if bool(args.program) == (args.listen is not None):
        raise ConfigError("give a program after --, or --listen PORT with --to URL: treadle record -- python app.py")
    if args.program:
        if args.to:
            raise ConfigError("--to belongs to --listen; for a program give --route NAME=URL")
        return routes_from(os.environ, _named(args.route, "--route"))
    if not args.to:
        raise ConfigError("--listen needs --to URL: requests go nowhere else")
    if len(args.to) == 1 and "=" not in args.to[0].partition("?")[0]:
        return Routes({"": upstream_at(args.to[0])})
    return Routes({name: upstream_at(url, name) for name, url in _named(args.to, "--to").items()})


def _named(pairs: list[str], option: str) -> dict[str, str]:
    urls: dict[str, str] = {}
    for pair in pairs:
        name, equals, url = pair.partition("=")
        if not equals or not name.isalnum():
            raise ConfigError(f"{option} {pair}: write NAME=URL, the name in letters and digits")
        urls[name] = url
    return urls


def _recording(args: argparse.Namespace) -> Recording:
    from treadle._cli.setup.launch import journal_location
    from treadle._journal import anchored
    from treadle._record.worker import Recording

    journal = journal_location(args)
    # The recorder works in another folder.
    anchored_journal = None if journal == "none" else anchored(journal)
    save = os.path.abspath(args.save) if args.save else ""
    return Recording(args.name or _name_of(args.program), anchored_journal, save, args.quiet)


def _name_of(program: list[str]) -> str:
    """Return the name under which the runs are listed: the script, or the program."""
    script = next((word for word in program[1:] if not word.startswith("-") and Path(word).suffix), "")
    return Path(script or (program[0] if program else "recorded")).name


def _ready(args: argparse.Namespace, routes: Routes, address: str) -> None:
    if not args.quiet:
        for name, upstream in routes.by_name.items():
            _say(f"{address}{'/' if name else ''}{name} passes on to {upstream.address} (Ctrl-C stops)")


def _say(text: str) -> None:
    print(f"treadle record: {text}", file=sys.stderr, flush=True)
