"""Help that fits the terminal: lines stay lines, and one that is too long goes on below itself."""

from __future__ import annotations

import argparse
import re
import textwrap

_FIRST_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")


class HelpLines(argparse.RawDescriptionHelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(_fitted(indent + line, width) for line in text.splitlines())


def _fitted(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    lead = len(line) - len(line.lstrip())
    first = _FIRST_COLUMN.match(line)
    if first is None:
        return textwrap.fill(line, width, subsequent_indent=" " * lead)
    rest = line[first.end() :]
    if first.end() <= width // 2:
        return textwrap.fill(rest, width, initial_indent=first[0], subsequent_indent=" " * first.end())
    below = " " * (lead + 4)
    words = textwrap.fill(rest, width, initial_indent=below, subsequent_indent=below)
    return f"{_fitted(first[0].rstrip(), width)}\n{words}"
