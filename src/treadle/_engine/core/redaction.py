"""Secrets are taken out of events before they enter the state, so that a replay sees the same bytes as the run did."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import msgspec

from treadle._safety.redact import Redactor
from treadle._safety.secrets import environment_secrets, known_secrets
from treadle._safety.stream import StreamRedactor
from treadle._types import events as ev

_NOTHING_NEW = frozenset({ev.ThinkStarted, ev.ToolStarted, ev.AnswerStarted})
"""Events that only repeat what is in the state already; advisers' requests are the exception, and looked at."""

_LOOK_AGAIN = 1.0
_KEPT = 8
"""Redactors kept for another run; each is for other secrets."""


class EventRedactor:
    """Events without secrets: the ones given, those of the environment, and those known at the time of the event."""

    def __init__(self, secrets: tuple[str, ...], environment: dict[str, str]) -> None:
        self._given = [("secret", value) for value in secrets]
        self._environment = environment
        self._version = -1
        self._redactor = Redactor(env={})

    def __call__(self, event: ev.Event) -> ev.Event:
        if type(event) in _NOTHING_NEW and not getattr(event, "messages", ()):
            return event
        redactor = self._redactor if known_secrets.version == self._version else self.current()
        # One look at the whole event as JSON is much cheaper than a walk through its fields, and nearly always enough.
        return redactor.tree(event) if redactor.suspects(ev.encode_event(event).decode()) else event

    def text(self, text: str) -> str:
        return self.current().text(text)

    def current(self) -> Redactor:
        version = known_secrets.version
        if version != self._version:
            of_variables = environment_secrets(self._environment)
            known = [(name, value) for value, name in known_secrets.values().items() if value not in of_variables]
            self._redactor = Redactor([*known, *self._given], env=self._environment)
            self._version = version
        return self._redactor


class LiveRedaction:
    """What is only shown comes in pieces, and a secret may be cut in two: each text has its own redactor.

    A piece is a part of one text: of a model's reply, of its thinking, of the answer, of one call's output.
    """

    def __init__(self, redact: EventRedactor) -> None:
        self._redact = redact
        self._open: dict[tuple[str, str], tuple[StreamRedactor, ev.Event]] = {}
        """By kind and whose: the redactor, and the last piece, whose other fields a later one has as well."""

    def pieces(self, event: ev.Event) -> Iterator[ev.Event]:
        """Return what to show in the place of a piece: nothing, a shorter one, or also the end of the text before
        it."""
        match event:
            case ev.TextStreamed(component=component, reasoning=reasoning, text=text):
                yield from self._end("text" if reasoning else "thought", component)
                yield from self._piece(("thought" if reasoning else "text", component), event, text)
            case ev.AnswerDelta(text=text):
                yield from self._piece(("answer", ""), event, text)
            case ev.ToolOutput(call_id=call_id, text=text):
                yield from self._piece(("output", call_id), event, text)
            case ev.AnswerRetracted():
                self._open.pop(("answer", ""), None)  # the event has all of it
                yield self._redact(event)
            case ev.Reset(component=component):
                self._drop(component)
                yield event
            case _:
                yield self._redact(event)

    def ends(self, event: ev.Event) -> Iterator[ev.Event]:
        """Return what is still held of the texts that a record ends."""
        if not self._open:
            return
        match event:
            case ev.ThinkDone(component=component):
                for kind in ("thought", "text", "answer"):
                    yield from self._end(kind, "" if kind == "answer" else component)
            case ev.ThinkFailed(component=component):
                self._drop(component)
            case ev.AnswerDone():
                yield from self._end("answer", "")
            case ev.ToolDone(call_id=call_id):
                yield from self._end("output", call_id)
            case ev.RunFinished():
                for kind, owner in list(self._open):
                    yield from self._end(kind, owner)
            case _:
                pass

    def _piece(self, key: tuple[str, str], event: ev.Event, text: str) -> Iterator[ev.Event]:
        stream, _ = self._open.get(key) or (StreamRedactor(self._redact.current()), event)
        shown = stream.feed(text)
        self._open[key] = stream, event
        if shown == text:
            yield event
        elif shown:
            yield msgspec.structs.replace(event, text=shown)

    def _end(self, kind: str, owner: str) -> Iterator[ev.Event]:
        stream, event = self._open.pop((kind, owner), (None, None))
        if stream is not None and event is not None and (shown := stream.flush()):
            yield msgspec.structs.replace(event, text=shown)

    def _drop(self, component: str) -> None:
        """The attempt is void, and so is what was held of it."""
        for key in (("thought", component), ("text", component), ("answer", "")):
            self._open.pop(key, None)


_made: dict[tuple[str, ...], tuple[float, dict[str, str], EventRedactor]] = {}


def event_redactor(secrets: tuple[str, ...] = ()) -> EventRedactor:
    """For the secrets given and those of the environment, which is looked at again once a second at most."""
    now = time.monotonic()
    cached = _made.pop(secrets, None)
    if cached is None or now - cached[0] >= _LOOK_AGAIN:
        environment = dict(os.environ)
        same = cached is not None and cached[1] == environment
        cached = now, environment, cached[2] if cached is not None and same else EventRedactor(secrets, environment)
    _made[secrets] = cached
    while len(_made) > _KEPT:
        _made.pop(next(iter(_made)))
    return cached[2]
