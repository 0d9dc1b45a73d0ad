"""The terminal program: reads the arguments, runs the command, turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from types import ModuleType

from treadle._cli.command_table import COMMANDS, build_parser
from treadle._cli.display.notice import notice
from treadle._cli.driving.interrupts import RaiseOnce
from treadle._cli.setup import exit_codes

_SLOW = ("run", "chat", "runs", "serve", "worker")
"""Commands that import much before they have something to say; each clears the notice before it does."""


def main(argv: list[str] | None = None) -> int:
    """Run the program. With `argv` it runs inside another one, whose handler of Ctrl-C is restored."""
    with RaiseOnce(keep=argv is None) as interrupts:
        try:
            code = _dispatch(sys.argv[1:] if argv is None else argv)
            interrupts.exit_with(code)
        except KeyboardInterrupt:
            print("cancelled", file=sys.stderr)
            code = exit_codes.CANCELLED
    return code


def _dispatch(arguments: list[str]) -> int:
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the program
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="replace")  # an encoding without some character must not end the program
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        # The help of the program lists all commands; making a parser for each takes longer than most of what is asked.
        begins = command in COMMANDS and arguments[0] == command
        parser, modules = build_parser([command] if command in COMMANDS else [], others=not begins)
        args = parser.parse_args(arguments)
        if not args.command:
            if sys.stdin.isatty() and sys.stdout.isatty():
                return _dispatch(["chat"])
            parser.print_help()
            return exit_codes.USAGE
        return run_command(modules[args.command], args)
    except SystemExit as exit:  # argparse has printed what is wrong
        if exit.code is None:
            return exit_codes.OK
        return exit.code if isinstance(exit.code, int) else exit_codes.FAILED


def run_command(module: ModuleType, args: argparse.Namespace) -> int:
    """Run a command; an error becomes one line on stderr and an exit code."""
    if args.command in _SLOW and not (getattr(args, "quiet", False) or getattr(args, "json", False)):
        notice.show("starting …")
    debug = os.environ.get("TREADLE_DEBUG", "") not in ("", "0")
    _set_up_logging(debug)
    try:
        return module.run(args)
    except BrokenPipeError:
        # The reader has closed the pipe; the interpreter must not complain about it when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.OK
    except Exception as error:
        if debug:
            raise
        notice.clear()
        print(f"treadle: {_message_of(error)}", file=sys.stderr)
        return exit_codes.code_for(error)
    finally:
        notice.clear()


def _message_of(error: Exception) -> str:
    from treadle._cli.display.text import clean
    from treadle._types.errors import TreadleError

    if isinstance(error, OSError) and error.filename and error.strerror:
        return clean(f"{error.filename}: {error.strerror}")
    if isinstance(error, (TreadleError, OSError)) and str(error):
        return clean(str(error)).strip()
    return f"internal error: {type(error).__name__}: {error}; set TREADLE_DEBUG=1 for a traceback, and please report it"


def _set_up_logging(debug: bool) -> None:
    import logging

    if debug:
        logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    else:
        # Log messages would disturb the display; the user gets results, records and errors instead.
        logging.getLogger("treadle").addHandler(logging.NullHandler())
        logging.getLogger("treadle").propagate = False


if __name__ == "__main__":
    sys.exit(main())
