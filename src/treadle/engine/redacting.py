"""Secrets are taken out of events before they enter the state, so that a replay sees the same bytes as the run did."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from treadle.journal.redact import Redactor
from treadle.types.events import AnswerStarted, Event, ThinkStarted, ToolStarted, encode_event

_NOTHING_NEW = (ThinkStarted, ToolStarted, AnswerStarted)
"""Events that only repeat what is in the state already; advisers' requests are the exception, and looked at."""


def event_redactor(secrets: Iterable[str] = ()) -> Callable[[Event], Event]:
    redactor = Redactor(secrets)

    def redact(event: Event) -> Event:
        if isinstance(event, _NOTHING_NEW) and not getattr(event, "messages", ()):
            return event
        # One look at the whole event as text is much cheaper than a walk through its fields, and nearly always enough.
        text = encode_event(event).decode()
        return event if redactor.text(text) == text else redactor.tree(event)

    return redact
