"""The display for where the output goes: a terminal, a pipe, or JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from treadle._cli.display.ansi import capable
from treadle._cli.display.base import Display
from treadle._cli.display.notice import notice
from treadle._cli.display.plain import JsonDisplay, PlainDisplay
from treadle._types.events import Record


def open_display(
    run_id: str, *, json: bool = False, quiet: bool = False, prompt: bool = False, past: Sequence[Record] = ()
) -> Display:
    """The display for where the output goes; with `prompt` it also shows the line that is being typed."""
    notice.clear()
    if json:
        return JsonDisplay()
    # Or the answer goes to a file or a pipe, and the steps to a terminal.
    for stream, answer in ((sys.stdout, None), (sys.stderr, sys.stdout)):
        if not quiet and rich_terminal(stream):
            from treadle._cli.display.live import LiveDisplay

            return LiveDisplay(run_id, stream, answer=answer, prompt=prompt, past=past)
    return PlainDisplay(run_id, steps=None if quiet else sys.stderr, answer=sys.stdout, past=past)


def rich_terminal(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal that can show more than plain text, and `rich` is installed."""
    if not capable(stream) or os.environ.get("TREADLE_PLAIN"):
        return False
    from importlib.util import find_spec

    return find_spec("rich") is not None
