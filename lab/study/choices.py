"""What both programs of the study let one choose: which engines, and where their environments are."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def add_engines(command: argparse.ArgumentParser, engines: Sequence[str]) -> None:
    command.add_argument("--who", type=names, default=list(engines), help=",".join(engines))


def add_environments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--venvs", type=Path, default=Path(tempfile.gettempdir()) / "treadle-peers", help="environments of the others"
    )


def parsed(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, engines: Sequence[str]
) -> argparse.Namespace:
    """The options, all of whose engines there are."""
    options = parser.parse_args(arguments)
    if unknown := set(options.who) - set(engines):
        parser.error(f"--who: {sorted(unknown)[0]!r} is unknown; expected some of: {', '.join(engines)}")
    return options
