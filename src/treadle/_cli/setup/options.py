"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.display.help_text import HelpLines
from treadle._cli.setup import exit_codes

PRESETS = ("default", "two_phase", "streaming", "strict", "reflective", "planned", "code", "coding", "research")
"""A copy: importing `treadle._agent.presets` for the names would import the engine."""


Options = argparse.ArgumentParser | argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage]


def add_command(commands: Any, name: str, description: str, examples: str = "") -> argparse.ArgumentParser:
    """Add a command whose help ends with its `examples` and the exit codes."""
    epilog = examples + exit_codes.HELP
    return commands.add_parser(name, description=description, epilog=epilog, formatter_class=HelpLines)


def flag(parser: Options, *names: str, help: str) -> None:
    """Add an option without a value."""
    parser.add_argument(*names, action="store_true", help=help)


def repeatable(parser: Options, *names: str, metavar: str, help: str) -> None:
    """Add an option that may be given several times; its value is a list."""
    parser.add_argument(*names, action="append", default=[], metavar=metavar, help=f"{help}; may be repeated")


def add_agent_options(parser: argparse.ArgumentParser, *, attach: bool = False) -> None:
    """Add the options that describe an agent; with `attach`, also those that name files for the question."""
    agent = parser.add_argument_group("agent")
    agent.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        help="such as openai:gpt-5-mini, ollama (its first one), http://host:8080/v1#name, local:qwen2.5-coder-1.5b, "
        "scripted:FILE",
    )
    repeatable(
        agent,
        "-t",
        "--tools",
        metavar="NAME",
        help="a built-in tool, module:name or file.py:name; 'none' for no tools",
    )
    repeatable(
        agent,
        "--skills",
        metavar="PATH",
        help="the folder of an accepted skill; 'none' for no skills (default: your own and those of this folder)",
    )
    repeatable(
        agent,
        "--instructions",
        metavar="FILE",
        help="a file for the system prompt; 'none' for none (default: AGENTS.md, your own and those of trusted "
        "folders)",
    )
    agent.add_argument("-p", "--preset", choices=PRESETS, help="a set of settings")
    if attach:
        files: dict[str, Any] = {"nargs": "+", "action": "extend", "default": [], "metavar": "FILE"}
        line = "a JSON or YAML document that describes the agent; any other file goes with the question"
        agent.add_argument("-f", "--file", dest="files", **files, help=line)
        line = "files that go with the question: text, images, PDF, sound"
        agent.add_argument("--attach", **files, help=line)
    else:
        agent.add_argument("-f", "--file", metavar="FILE", help="a JSON or YAML document that describes the agent")
    agent.add_argument("--system", metavar="TEXT", help="the system prompt")
    flag(agent, "--plan", help="make a plan first and update it while working")
    limits = parser.add_argument_group("limits and settings")
    limits.add_argument("--max-cost", type=positive, metavar="DOLLARS", help="stop before more than this is spent")
    limits.add_argument("--max-iterations", type=count, metavar="N", help="stop after N steps")
    line = "any setting, such as temperature=0.2 or budget.tokens=20000"
    repeatable(limits, "--set", metavar="NAME=VALUE", help=line)
    repeatable(limits, "--ask", metavar="TOOL", help="ask before this tool runs ('all' for every tool)")
    flag(limits, "-y", "--yes", help="approve every tool that would ask")


def add_journal_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are recorded: a file, postgres://..., or 'none' (default: your own journal)",
    )


def add_temporal_options(parser: argparse.ArgumentParser) -> None:
    line = "the address of the Temporal server (127.0.0.1:7233)"
    parser.add_argument("--temporal", default="127.0.0.1:7233", metavar="HOST:PORT", help=line)
    parser.add_argument("--queue", default="treadle", help="the task queue (treadle)")
    parser.add_argument("--name", default="agent", help="the name of the agent (agent)")


def add_output_options(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--json", help="print every record as one line of JSON")
    flag(parser, "-q", "--quiet", help="print the answer only")


def positive(text: str) -> float:
    """Read an option of seconds or dollars."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def not_negative(text: str) -> float:
    return 0.0 if text == "0" else positive(text)


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    return _whole(text, 1)


def amount(text: str) -> int:
    """Read a whole number of at least 0."""
    return _whole(text, 0)


def port(text: str) -> int:
    return _whole(text, 0, 65_535)


def _whole(text: str, least: int, most: int | None = None) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least or (most is not None and value > most):
        words = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"{text} is not a whole number {words}")
    return value


def json_object(text: str) -> dict[str, Any]:
    import msgspec

    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f'it must be a JSON object, such as {{"city": "Lyon"}}: {error}') from None
