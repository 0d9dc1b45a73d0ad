"""Secrets are taken out of events before they enter the state, so that a replay sees the same bytes as the run did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from treadle._journal.redact import Redactor
from treadle._types.events import AnswerStarted, Event, ThinkStarted, ToolStarted, encode_event

_NOTHING_NEW = (ThinkStarted, ToolStarted, AnswerStarted)
"""Events that only repeat what is in the state already; advisers' requests are the exception, and looked at."""


_LOOK_AGAIN = 1.0
_made: dict[tuple[str, ...], tuple[float, dict[str, str], Callable[[Event], Event]]] = {}


def event_redactor(secrets: tuple[str, ...] = ()) -> Callable[[Event], Event]:
    """For the secrets given and those of the environment, which is looked at again once a second at most."""
    now = time.monotonic()
    cached = _made.get(secrets)
    if cached is not None and now - cached[0] < _LOOK_AGAIN:
        return cached[2]
    environment = dict(os.environ)
    same = cached is not None and cached[1] == environment
    redact = cached[2] if cached is not None and same else _redactor(Redactor(secrets, env=environment))
    _made[secrets] = (now, environment, redact)
    return redact


def _redactor(redactor: Redactor) -> Callable[[Event], Event]:
    def redact(event: Event) -> Event:
        if isinstance(event, _NOTHING_NEW) and not getattr(event, "messages", ()):
            return event
        # One look at the whole event as JSON is much cheaper than a walk through its fields, and nearly always enough.
        return redactor.tree(event) if redactor.suspects(encode_event(event)) else event

    return redact
