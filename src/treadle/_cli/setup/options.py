"""Options that several commands share."""

from __future__ import annotations

import argparse

PRESETS = ("default", "two_phase", "streaming", "strict", "reflective", "planned", "code", "research")
"""A copy: importing `treadle._flows.presets` for the names would import the engine."""


def add_agent_options(parser: argparse.ArgumentParser, *, attach: bool = False) -> None:
    """With `attach`, files for the question can be named, too."""
    agent = parser.add_argument_group("agent")
    agent.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        help="such as openai:gpt-5-mini, ollama:llama3.2, ollama (its first one), http://host:8080/v1, "
        "http://host:8080/v1#name, local:qwen2.5-coder-1.5b, or scripted:FILE",
    )
    agent.add_argument(
        "-t",
        "--tools",
        action="append",
        metavar="NAME",
        help="a built-in tool, module:name or file.py:name; may be repeated; 'none' for no tools",
    )
    agent.add_argument(
        "--skills",
        action="append",
        metavar="PATH",
        help="the folder of a skill that you have accepted; may be repeated; 'none' for no skills "
        "(default: your own and those of this folder)",
    )
    agent.add_argument(
        "--instructions",
        action="append",
        metavar="FILE",
        help="a file for the system prompt; may be repeated; 'none' for none "
        "(default: AGENTS.md, your own and those of folders you trust)",
    )
    agent.add_argument("-p", "--preset", choices=PRESETS, help="a set of settings")
    if attach:
        agent.add_argument(
            "-f",
            "--file",
            dest="files",
            nargs="+",
            action="extend",
            default=[],
            metavar="FILE",
            help="a JSON or YAML document that describes the agent; any other file goes with the question",
        )
        agent.add_argument(
            "--attach",
            nargs="+",
            action="extend",
            default=[],
            metavar="FILE",
            help="files that go with the question: text of any kind (also JSON and YAML), images, PDF, sound",
        )
    else:
        agent.add_argument("-f", "--file", metavar="FILE", help="a JSON or YAML document that describes the agent")
    agent.add_argument("--system", metavar="TEXT", help="the system prompt")
    agent.add_argument("--plan", action="store_true", help="make a plan first and update it while working")
    limits = parser.add_argument_group("limits and settings")
    limits.add_argument("--max-cost", type=positive, metavar="DOLLARS", help="stop before more than this is spent")
    limits.add_argument("--max-iterations", type=count, metavar="N", help="stop after N steps")
    limits.add_argument(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="any setting, such as temperature=0.2 or budget.tokens=20000",
    )
    limits.add_argument(
        "--ask", action="append", metavar="TOOL", help="ask before this tool runs ('all' for every tool)"
    )
    limits.add_argument("-y", "--yes", action="store_true", help="approve every tool that would ask")


def add_journal_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are recorded: a file, postgres://..., or 'none' (default: your own journal)",
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print every record as one line of JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the answer only")


def positive(text: str) -> float:
    """An option of seconds or dollars."""
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
    """An option of at least 1."""
    return _whole(text, 1)


def amount(text: str) -> int:
    """An option of at least 0."""
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
