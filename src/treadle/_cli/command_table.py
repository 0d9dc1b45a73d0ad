"""The commands of the program. A command's module is imported when it is used, so that `treadle --help` is quick."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from treadle._cli.display.help_text import HelpLines
from treadle._cli.setup import exit_codes
from treadle._version import __version__

COMMANDS = {
    "run": ("commands.run", "answer a question with tools; the steps are shown live"),
    "chat": ("chat.command", "a conversation; type while it works to steer it"),
    "code": ("chat.code", "work on the files of this folder: read, change and test them, with every step to be undone"),
    "runs": ("runs.command", "list, show, watch, resume, replay, fork and export recorded runs"),
    "record": ("record.command", "record what a program of any engine exchanges with its models"),
    "report": ("record.report", "report where tokens, money and time of recorded runs went"),
    "regress": ("runs.regress", "say which recorded runs a change affects, and how those end now"),
    "verify": ("runs.proof", "check the proof of an answer, offline"),
    "serve": ("commands.serve", "serve agents over HTTP, with a web page"),
    "doctor": ("commands.doctor", "test what a model can really do"),
    "eval": ("commands.evaluate", "run a task file against a model and report"),
    "batch": ("commands.batch", "answer the questions of a file, at half the price where the provider allows it"),
    "worker": ("commands.worker", "run submitted questions for a Temporal server"),
    "submit": ("commands.submit", "submit a question to the workers"),
    "config": ("commands.config", "check a document that describes agents"),
    "kb": ("commands.kb", "build and search a knowledge base for the retrieval tool"),
    "mcp": ("commands.mcp", "log in at MCP servers; serve agents and tools as one"),
    "memory": ("workspace.memory", "see, edit and forget what is remembered about users"),
    "skills": ("workspace.skills", "list, check and accept Agent Skills"),
    "trust": ("workspace.consent", "trust a folder, so that its AGENTS.md is read"),
    "tools": ("commands.tools", "list the built-in tools"),
    "models": ("commands.models", "list the models that can be used here"),
    "acp": ("acp.command", "serve an editor over the Agent Client Protocol"),
    "completion": ("commands.completion", "print a completion script for a shell"),
    "version": ("commands.version", "print the version"),
}
"""The module of each command below `treadle._cli`, and one line of help."""

DESCRIPTION = """Turns any language model into a tool-using agent.

  treadle run "What is 17 * 23 + 4?"      answer one question
  treadle chat                            have a conversation
  treadle runs list                       list earlier runs; each can be shown, resumed, replayed, forked"""


class Parser(argparse.ArgumentParser):
    """Reports an error in one line that names the help, where the options are."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:  # here, where the options of this command are known: it may be one of several, each in another
            meant = _meant(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(meant or f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        if unknown := re.match(r"argument [\w ]+: invalid choice: '(.*)' \(choose from (.*)\)", message):
            message = _meant(unknown[1], re.findall(r"'?([\w-]+)'?", unknown[2])) or message
        self.exit(exit_codes.USAGE, f"{self.prog}: {message.removeprefix('argument ')} ({self.prog} --help)\n")


def _meant(unknown: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(unknown, names, 1)
    return f"there is no {unknown!r}: did you mean {close[0]!r}?" if close else ""


def build_parser(wanted: list[str], *, others: bool = True) -> tuple[argparse.ArgumentParser, dict[str, ModuleType]]:
    """Build the parser with the full options of the `wanted` commands and, with `others`, one line about each other."""
    parser = Parser(prog="treadle", description=DESCRIPTION, epilog=exit_codes.HELP, formatter_class=HelpLines)
    parser.add_argument("--version", action="version", version=f"treadle {__version__}")
    parser.set_defaults(every_command=_every_command)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    modules: dict[str, ModuleType] = {}
    for name, (module, line) in COMMANDS.items():
        if name in wanted:
            modules[name] = import_module(f"treadle._cli.{module}")
            modules[name].register(commands)
        elif others:
            commands.add_parser(name, help=line)
    return parser, modules


def _every_command() -> tuple[argparse.ArgumentParser, dict[str, str]]:
    """Return the parser with all options and a line about each command, for commands that describe the program."""
    return build_parser(list(COMMANDS))[0], {name: line for name, (_, line) in COMMANDS.items()}
