"""Secrets are taken out of events before they enter the state, so that a replay sees the same bytes as the run did."""

from __future__ import annotations

import os
from collections.abc import Callable

from treadle.journal.redact import Redactor
from treadle.types.events import AnswerStarted, Event, ThinkStarted, ToolStarted, encode_event

_NOTHING_NEW = (ThinkStarted, ToolStarted, AnswerStarted)
"""Events that only repeat what is in the state already; advisers' requests are the exception, and looked at."""


_made: dict[tuple[str, ...], tuple[dict[str, str], Callable[[Event], Event]]] = {}


def event_redactor(secrets: tuple[str, ...] = ()) -> Callable[[Event], Event]:
    """For the secrets given and those of the environment as it is now; made once for each."""
    environment = dict(os.environ)
    known = _made.get(secrets)
    if known is not None and known[0] == environment:
        return known[1]
    redact = _redactor(Redactor(secrets, env=environment))
    _made[secrets] = (environment, redact)
    return redact


def _redactor(redactor: Redactor) -> Callable[[Event], Event]:
    def redact(event: Event) -> Event:
        if isinstance(event, _NOTHING_NEW) and not getattr(event, "messages", ()):
            return event
        # One look at the whole event as text is much cheaper than a walk through its fields, and nearly always enough.
        text = encode_event(event).decode()
        return event if redactor.text(text) == text else redactor.tree(event)

    return redact
