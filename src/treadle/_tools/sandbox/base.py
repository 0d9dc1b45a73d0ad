"""Limits and results that both sandboxes share."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, check_fields
from treadle._tools.results import NO_OUTPUT, cut, safe_repr


class SandboxLimits(Struct, frozen=True):
    seconds: Seconds = 10.0
    """Run time of the code itself; waiting for tools does not count."""
    memory: Count = 256 * 1024 * 1024
    """Of the code with all processes it starts."""
    scratch: Count = 64 * 1024 * 1024
    """How much it may write into each of its temporary folders, which lie in memory; with full CPython only."""
    output_chars: Count = 50_000
    code_chars: Count = 100_000
    processes: Count = 32
    """Used only by sandboxes in which code can start processes."""

    def __post_init__(self) -> None:
        check_fields(self, "SandboxLimits.")


class CodeResult(Struct, frozen=True):
    """The result of running a piece of code."""

    stdout: str = ""
    value: Any = None
    """The value of the last expression."""
    error: str = ""

    def text(self, limit: int) -> str:
        """The observation: what was printed, then the last value or the error."""
        pieces = [cut(self.stdout.rstrip("\n"), limit)] if self.stdout.strip() else []
        if self.error:
            pieces.append(cut(self.error, limit))
        elif self.value is not None:
            # As Python writes it, with quotes around the strings of a list.
            pieces.append(cut(self.value if isinstance(self.value, str) else safe_repr(self.value), limit))
        return "\n".join(pieces) or NO_OUTPUT
