"""Where the words of a run come from: what it has read from outside, and what its user has said."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, Message, ToolMessage, UserMessage, text_of
from treadle._types.origin import STRANGERS

MAX_SOURCES = 8
"""How many sources are remembered by name; one is enough to be careful."""
SENT_ALONG = "the messages sent along"
"""The source of what a caller says a model or a tool has said: nobody here has seen it being said."""
IMPORTED = "a run that was not made here"
_SAID_BY_A_PERSON = ("question", "history", "interrupt")


class Provenance(Struct, gc=False):
    """What a run has read from outside, first source first, and its user's own words."""

    sources: list[str] = []
    words: list[str] = []
    """The question, earlier turns of the user and messages sent during the run: never a tool's or a model's text."""
    always: set[str] = set()
    """Tools that a person allowed for the rest of the run after it had read something from outside."""

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self.read(event.sources)
        if event.origin in STRANGERS:
            self.read((IMPORTED,))
        elif not event.depth:  # what a run inside another is asked was written by a model
            self.words = [*words_of(event.history), text_of(event.question)]

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        if event.source:
            self.read((event.source,))

    def on_tainted(self, event: ev.Tainted | ev.ProviderToolsUsed, record: ev.Record) -> None:
        self.read(event.sources)

    on_provider_tools_used = on_tainted

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.words.extend(event.texts)

    def on_approved(self, event: ev.Approved, record: ev.Record) -> None:
        # An "always" from before anything was read is no answer to the question that comes after it.
        if event.always and event.allow and event.tool and self.sources:
            self.always.add(event.tool)

    def on_forked(self, event: ev.Forked, record: ev.Record) -> None:
        self.always.clear()

    def read(self, sources: Iterable[str]) -> None:
        for source in sources:
            if source and source not in self.sources and len(self.sources) < MAX_SOURCES:
                self.sources.append(source)

    def marked(self, message: AssistantMessage) -> AssistantMessage:
        """The reply, with what had been read before it was written. An imported run keeps its messages as they were
        sent: it must still replay."""
        source = next((source for source in self.sources if source != IMPORTED), "")
        return msgspec.structs.replace(message, source=source) if source else message

    @property
    def first(self) -> str:
        """The source that is named to a person; empty when nothing was read from outside."""
        return self.sources[0] if self.sources else ""


def sources_of(messages: Iterable[Message]) -> list[str]:
    """Return what was read from outside before these messages were written, as far as they say so."""
    return list(dict.fromkeys(m.source for m in messages if isinstance(m, AssistantMessage | ToolMessage) and m.source))


def words_of(messages: Iterable[Message]) -> list[str]:
    """Return what a person said in these messages."""
    said = (m for m in messages if isinstance(m, UserMessage) and m.kind in _SAID_BY_A_PERSON)
    return [text_of(message.content) for message in said]
