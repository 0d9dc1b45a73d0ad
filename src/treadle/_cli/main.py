"""The terminal program. A command's module is imported when the command is used, so that `treadle --help` is quick."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from types import ModuleType

from treadle._cli.setup import exit_codes as exits
from treadle._version import __version__

COMMANDS = {
    "run": ("commands.run", "answer a question with tools; the steps are shown live"),
    "chat": ("chat.command", "talk, and interrupt while it works"),
    "runs": ("runs", "list, show, watch, resume, replay, fork, export and explain recorded runs"),
    "serve": ("commands.serve", "serve agents over HTTP, with a page"),
    "doctor": ("commands.doctor", "find out what a model can really do"),
    "eval": ("commands.evaluate", "run a task file against a model and report"),
    "worker": ("commands.worker", "drive runs for a durable engine"),
    "submit": ("commands.submit", "hand a question to the workers"),
    "config": ("commands.config", "check a document that describes agents"),
    "kb": ("commands.kb", "build a knowledge base for the retrieval tool"),
    "mcp": ("commands.mcp", "offer agents and tools as an MCP server"),
    "tools": ("commands.tools", "list the built-in tools"),
    "models": ("commands.models", "list models: on this machine, served here, by provider"),
    "completion": ("commands.completion", "print the completion script for a shell"),
    "version": ("commands.version", "print the version"),
}
"""Name to module and one line of help."""

DESCRIPTION = """Turns any language model into a tool-using agent.

  treadle run "What is 17 * 23 + 4?"      answer one question
  treadle chat                            talk
  treadle runs list                       what was run; every run can be shown, replayed, forked"""


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")  # a terminal that cannot show a character is no reason to fail
    chosen = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        parser, modules = build_parser([chosen] if chosen in COMMANDS else [])
        args = parser.parse_args(arguments)
        if not args.command:
            parser.print_help()
            return exits.USAGE
        return run_command(modules[args.command], args)
    except SystemExit as leaving:  # argparse has said what is wrong
        return leaving.code if isinstance(leaving.code, int) else exits.OK if leaving.code is None else exits.FAILED


def build_parser(wanted: list[str]) -> tuple[argparse.ArgumentParser, dict[str, ModuleType]]:
    """The parser with the full options of the `wanted` commands and one line about each other one."""
    parser = argparse.ArgumentParser(
        prog="treadle", description=DESCRIPTION, epilog=exits.HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"treadle {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    modules: dict[str, ModuleType] = {}
    for name in COMMANDS:
        module, line = COMMANDS[name]
        if name in wanted:
            modules[name] = import_module(f"treadle._cli.{module}")
            modules[name].register(commands)
        else:
            commands.add_parser(name, help=line)
    return parser, modules


def run_command(module: ModuleType, args: argparse.Namespace) -> int:
    """Run a command; what it raises becomes one clear line and an exit code."""
    debug = os.environ.get("TREADLE_DEBUG", "") not in ("", "0")
    _set_up_logging(debug)
    try:
        return module.run(args)
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)
        return exits.CANCELLED
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not complain about it when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.OK
    except Exception as error:
        if debug:
            raise
        print(f"treadle: {_explained(error)}", file=sys.stderr)
        return exits.code_for(error)


def _explained(error: Exception) -> str:
    from treadle._cli.display.text import clean
    from treadle._types.errors import TreadleError

    if isinstance(error, (TreadleError, OSError)) and str(error):
        return clean(str(error)).strip()
    return f"internal error: {type(error).__name__}: {error}; TREADLE_DEBUG=1 shows where, please report it"


def _set_up_logging(debug: bool) -> None:
    import logging

    if debug:
        logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    else:
        # What the log says reaches the user as a result, a record or an error; tracebacks would tear the display.
        logging.getLogger("treadle").addHandler(logging.NullHandler())
        logging.getLogger("treadle").propagate = False


if __name__ == "__main__":
    sys.exit(main())
