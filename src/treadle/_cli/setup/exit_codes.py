"""Exit codes that scripts can rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle._engine.result import RunResult

OK, FAILED, USAGE, STOPPED, PAUSED, CANCELLED = 0, 1, 2, 3, 4, 130

HELP = """exit codes:
  0    an answer (or the command succeeded)
  1    an error: the model or the journal failed, there is no answer, or it is marked as unsuccessful
  2    bad usage or input: an option, a file, a name, a missing key or package
  3    stopped before an answer: limit, budget, or stuck
  4    paused: a tool call waits for approval
  130  cancelled with Ctrl-C"""

_BY_REASON = {
    "limit": STOPPED,
    "budget": STOPPED,
    "stuck": STOPPED,
    "paused": PAUSED,
    "cancelled": CANCELLED,
    "empty": FAILED,
    "error": FAILED,
}


def code_of(result: RunResult) -> int:
    return _BY_REASON.get(result.stop_reason, OK if result.success else FAILED)


def code_for(error: Exception) -> int:
    """Return the exit code for an error that ended a command."""
    from treadle._types.errors import ConfigError, LimitError, RunNotFoundError

    if isinstance(error, LimitError):
        return STOPPED
    return USAGE if isinstance(error, (ConfigError, RunNotFoundError)) else FAILED
