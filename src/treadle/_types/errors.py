"""Everything Treadle raises, as one tree:

TreadleError
|- ConfigError                a setting, a tool, a file or a prompt that cannot be used; the message names the fix
|  |- DuplicateToolError      two tools under one name
|  |- SchemaError             a tool's schema cannot be checked
|  |- MissingKeyError         a provider's key was not given
|  |- MissingExtraError       an optional part of Treadle is not installed
|  |- WrongValueError         a setting cannot have this value; a ValueError, too
|  `- UnknownModelError       no such model or provider
|     `- NotAModelError       an object that is no model; a TypeError, too
|- ModelError                 a model call failed
|  |- TransientModelError     worth another attempt: 408, 409, 429, 5xx, a dropped or silent connection
|  |- RequestRefusedError     the provider refuses this request: other 4xx
|  |  `- ContextOverflowError the request does not fit the model's window
|  |- BadReplyError           an answer that is not what the protocol says
|  `- ContentFilteredError    the provider withheld the reply
|- ToolError                  raise it in a tool to tell the model something
|- GuardrailError             a guardrail has stopped the run
|- StructuredCallError        no level of a structured call gave a readable value
|- RunError                   a run ended in an error and has no answer; `.result` is what it gave
|- RunEndedError              a message was sent to a run that reads no more
|- LimitError                 a bound was reached
|  |- MaxIterationsError      the loop reached its limit and `on_limit="raise"`
|  `- BudgetExhaustedError    a budget is used up
|- TreeError                  the files of a workspace cannot be stored, found or restored
`- JournalError               the log cannot be written or read
   |- RunNotFoundError         the journal has no run with this id
   |- RunBusyError            another process drives this run
   `- CorruptLogError          a stored record is damaged
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle._types.usage import NO_USAGE, Usage


class TreadleError(Exception):
    """The root of every error Treadle raises on purpose."""


class ConfigError(TreadleError):
    """A setting, a tool, a file or a prompt that cannot be used. The message names the fix."""


class DuplicateToolError(ConfigError):
    """Two tools of one toolkit have the same name."""


class SchemaError(ConfigError):
    """A tool's JSON Schema is invalid, or a parameter's type cannot be described as JSON Schema."""


class MissingKeyError(ConfigError):
    """A provider needs an API key and none was given."""


class MissingExtraError(ConfigError):
    """An optional part of Treadle is not installed; the message says which extra to install."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional part of Treadle: pip install "treadle[{extra}]"')
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        """Pickled by what it is made from: the message alone does not make one."""
        return type(self), (self.what, self.extra)


class UnknownModelError(ConfigError):
    """No such model or provider."""


class NotAModelError(UnknownModelError, TypeError):
    """The object passed as a model is no name of one, and no model either."""


class WrongValueError(ConfigError, ValueError):
    """A setting cannot have this value."""


class ModelError(TreadleError):
    """A model call failed. `usage` is what the failed attempt is known to have cost."""

    def __init__(self, message: str, *, status: int | None = None, usage: Usage = NO_USAGE, provider: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.usage = usage
        self.provider = provider


class TransientModelError(ModelError):
    """Worth another attempt; `retry_after` is the server's own wish in seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None, **details: Any) -> None:
        super().__init__(message, **details)
        self.retry_after = retry_after


class RequestRefusedError(ModelError):
    """The provider refused this request, and would refuse it again."""


class ContextOverflowError(RequestRefusedError):
    """The request does not fit into the model's context window."""


class BadReplyError(ModelError):
    """The provider's response does not follow its own protocol."""


class ContentFilteredError(ModelError):
    """The provider withheld the reply because of its content."""


class ToolError(TreadleError):
    """Raise it in a tool: its text is always shown to the model."""


class GuardrailError(TreadleError):
    """A guardrail has stopped the run. `guard` names it, `reason` says why, `message` is the answer of the run."""

    def __init__(self, guard: str, reason: str, message: str = "") -> None:
        super().__init__(f"the guardrail {guard} has stopped the run: {reason}")
        self.guard = guard
        self.reason = reason
        self.message = message or "I cannot help with that."

    def __reduce__(self) -> tuple[type[GuardrailError], tuple[str, str, str]]:
        """Pickled by what it is made from: the message alone does not make one."""
        return type(self), (self.guard, self.reason, self.message)


class StructuredCallError(TreadleError):
    """No level of a structured call gave a value of the requested shape."""

    def __init__(self, message: str, *, usage: Usage = NO_USAGE, calls: int = 0) -> None:
        super().__init__(message)
        self.usage = usage
        self.calls = calls


class RunError(TreadleError):
    """A run ended in an error and has no answer. `result` is its `RunResult`; the error itself is the cause."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class LimitError(TreadleError):
    """A bound was reached. `cost` and `metadata` say what was done up to then."""

    def __init__(self, message: str, *, cost: Usage = NO_USAGE, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.cost = cost
        self.metadata = metadata or {}


class MaxIterationsError(LimitError):
    """The loop reached `max_iterations` and `on_limit` is "raise"."""


class BudgetExhaustedError(LimitError):
    """A budget is used up and `on_budget` is "raise"."""


class TreeError(TreadleError):
    """The files of a workspace cannot be stored, found or restored."""


class JournalError(TreadleError):
    """The log of a run cannot be written or read."""


class RunEndedError(TreadleError):
    """A message was sent to a run that has ended, or is about to: nobody would read it."""


class RunNotFoundError(JournalError):
    """The journal has no run with this id."""


class RunBusyError(JournalError):
    """Another process is driving this run."""


class CorruptLogError(JournalError):
    """A stored record is damaged."""


def nearest(name: str, names: Iterable[str], listed: Iterable[str] | None = None, cutoff: float = 0.6) -> str:
    """Say which of these names was meant, or which there are (`listed`: only some of them), where none is near."""
    from difflib import get_close_matches

    known = list(names)
    near = get_close_matches(name, known, 1, cutoff)
    return (
        f"did you mean {near[0]!r}?" if near else f"expected one of: {', '.join(listed or known) or '(there are none)'}"
    )
