"""Logs without secrets and what is masked, and with the run they are about: every logger of ours, and those of the
server below it, go through one filter."""

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
    """What is logged meanwhile, here and in what is called from here, says that it is about this run, and has what
    `mask` makes of it: a tool that gets the data themselves may fail with them in its message."""
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
    """For all secrets of the process, made again when one comes or goes."""

    def __init__(self) -> None:
        self._made: tuple[int, dict[str, str], Redactor] | None = None
        self._lock = threading.Lock()

    def text(self, text: str) -> str:
        with self._lock:
            environment = environment_secrets(os.environ)
            made = self._made
            if made is None or made[0] != known_secrets.version or made[1] != environment:
                version, known = known_secrets.version, known_secrets.values()
                named = {**known, **environment}
                self._made = made = (version, environment, Redactor([(n, v) for v, n in named.items()], env={}))
        return made[2].text(text)


process_redactor = ProcessRedactor()


class SecretFilter(Filter):
    """Takes secrets and what is masked out of a record's message and its traceback, and adds the run. It never drops a
    record."""

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
    """The logger, with the filter. Filters are not inherited: each logger needs its own."""
    logger.addFilter(_filter)
    return logger


def get_logger(name: str = "treadle") -> Logger:
    """A logger of ours."""
    return guarded(logging.getLogger(name))


def log_handled(log: Logger, text: str, *args: object, error: BaseException | None = None) -> None:
    """A failure that the program has dealt with (the one being handled, unless one is given): one line as a warning,
    which programs without a logging configuration show, and its traceback for those that log at `INFO`."""
    guarded(log)  # it may be one of the program's
    error = error or sys.exception()
    # Clean before it is cut: half of what is to be taken out is something that nobody would find.
    said = _clean(str(error)).strip().partition("\n")[0][:500]
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    log.warning(f"{text}: %s", *args, reason)
    if log.isEnabledFor(logging.INFO):
        log.info(f"{text}, in full:", *args, exc_info=error)
