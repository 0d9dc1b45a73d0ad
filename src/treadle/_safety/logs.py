"""Keep secrets and masked data out of logs, and add the run id to each record.

All loggers of this package, and those of the HTTP server below it, go through one filter.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from logging import Filter, Formatter, Logger, LogRecord

from treadle._safety.redact import Redactor
from treadle._safety.secrets import environment_secrets, known_secrets

_formatter = Formatter()
_run: ContextVar[str] = ContextVar("treadle_run", default="")
_mask: ContextVar[Callable[[str], str] | None] = ContextVar("treadle_mask", default=None)
_NOT_MASKED = "(left out: it could not be masked)"


@contextmanager
def logs_of(run_id: str, mask: Callable[[str], str] | None = None) -> Generator[None]:
    """Attach a run id and a mask to all log records made inside the block.

    The mask matters here because a tool that receives unmasked data may put them into the message of its error.
    """
    outer, outer_mask = _run.set(run_id), _mask.set(mask)
    try:
        yield
    finally:
        _run.reset(outer)
        _mask.reset(outer_mask)


def _clean(text: str) -> str:
    text = process_redactor.text(text)
    if (mask := _mask.get()) is None:
        return text
    try:
        return mask(text)
    except Exception:
        return _NOT_MASKED


class ProcessRedactor:
    """Redact all secrets of the process; rebuilt when a secret is added or removed."""

    def __init__(self) -> None:
        self._made: tuple[int, dict[str, str], Redactor] | None = None
        self._lock = threading.Lock()

    def text(self, text: str) -> str:
        with self._lock:
            environment = environment_secrets(os.environ)
            made = self._made
            if made is None or made[0] != known_secrets.version or made[1] != environment:
                version = known_secrets.version
                named = {**known_secrets.values(), **environment}
                self._made = made = (version, environment, Redactor([(n, v) for v, n in named.items()], env={}))
        return made[2].text(text)


process_redactor = ProcessRedactor()


class SecretFilter(Filter):
    """Remove secrets and masked data from the message and traceback of a record, and add the run id.

    It never drops a record.
    """

    def filter(self, record: LogRecord) -> bool:
        if (run := _run.get()) and not hasattr(record, "run"):
            record.run = run
        try:
            self._clean(record)
        except Exception:  # a message that cannot be written is the handler's to report
            return True
        return True

    def _clean(self, record: LogRecord) -> None:
        message = record.getMessage()
        if _clean(message) != message:
            if isinstance(record.args, tuple):  # they stay apart if possible: uvicorn's formatter needs them
                record.args = tuple(_clean(arg) if isinstance(arg, str) else arg for arg in record.args)
            message = record.getMessage()
            clean = _clean(message)
            if clean != message:
                record.msg, record.args = clean, None
        if record.exc_info and record.exc_info[0] is not None:
            traceback = record.exc_text or _formatter.formatException(record.exc_info)
            clean = _clean(traceback)
            if clean != traceback:  # not the exception itself: a handler would write it once more
                record.exc_text, record.exc_info = clean, None
        if record.stack_info:
            record.stack_info = _clean(record.stack_info)


_filter = SecretFilter()


def guarded(logger: Logger) -> Logger:
    """Add the filter to a logger. Filters are not inherited: each logger needs its own."""
    logger.addFilter(_filter)
    return logger


def get_logger(name: str = "treadle") -> Logger:
    """Return a logger that has the filter."""
    return guarded(logging.getLogger(name))


def log_handled(log: Logger, text: str, *args: object, error: BaseException | None = None) -> None:
    """Log a failure that was handled: one line as a warning, the traceback at `INFO`.

    A program without a logging configuration shows warnings only, so it gets the line and no traceback. Without
    `error`, the exception being handled is logged.
    """
    guarded(log)  # it may be one of the program's
    error = error or sys.exception()
    # Redact before cutting: half of a secret would not be recognized any more.
    message = _clean(str(error)).strip().partition("\n")[0][:500]
    reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
    log.warning(f"{text}: %s", *args, reason)
    if log.isEnabledFor(logging.INFO):
        log.info(f"{text}, in full:", *args, exc_info=error)
