"""Where the words of a run come from: what it has read from outside, and what its user has said.

Both are read off one label (`Origin`, `_types/messages.py`), which is set where something enters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from treadle._types import events as ev
from treadle._types.intent import Intent
from treadle._types.messages import (
    STRANGERS,
    AssistantMessage,
    Content,
    MediaPart,
    Message,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)

MAX_SOURCES = 8
"""How many sources are remembered by name; one is enough to be careful."""
SENT_ALONG = "the messages sent along"
"""The source of what a caller says a model or a tool has said: nobody here has seen it being said."""
IMPORTED = "a run that was not made here"
OLDER = "a log of an older version"
ATTACHED = "an attachment"


class Provenance(Struct, gc=False):
    """What a run has read from outside, first source first, and its user's own words."""

    sources: list[str] = []
    words: list[str] = []
    """The question, earlier turns of the user and messages sent during the run: never a tool's or a model's text."""
    always: set[str] = set()
    """Tools that a person allowed for the rest of the run after it had read something from outside."""
    brought: set[str] = set()
    """Those of `sources` that came with the question, not by reading."""
    intent: Intent | None = None
    """What the run may do unasked, where that was said."""
    confirmed: bool = False
    """A person has confirmed the intent that a model derived."""
    permitted: dict[str, int] = {}
    """The calls that the intent permits, each with its entry."""
    foreign: bool = False
    """The log was not written here: nothing in it is anybody's word."""

    def on_run_started(self, event: ev.RunStarted, record: ev.Record) -> None:
        self.read(event.sources)
        foreign = (IMPORTED if event.origin == "imported" else OLDER,) if event.origin in STRANGERS else ()
        past = (message.content for message in event.history if isinstance(message, UserMessage))
        self._bring((*foreign, *(name for content in (*past, event.question) for name in _files(content))))
        self.foreign = event.origin in STRANGERS
        # What a run inside another is asked was written by a model.
        if not event.depth and event.origin not in STRANGERS:
            self.words = [*words_of(event.history), own_text(event.question)]

    def on_tool_done(self, event: ev.ToolDone, record: ev.Record) -> None:
        if event.source:
            self.read((event.source,))

    def on_tainted(self, event: ev.Tainted | ev.ProviderToolsUsed, record: ev.Record) -> None:
        self.read(event.sources)

    on_provider_tools_used = on_tainted

    def on_message_added(self, event: ev.MessageAdded, record: ev.Record) -> None:
        if isinstance(event.message, UserMessage) and event.message.origin in STRANGERS:
            self.read((event.component,))

    def on_injected(self, event: ev.Injected, record: ev.Record) -> None:
        self.words.extend(event.texts)
        self._bring(_files(event.media))

    def on_intent_set(self, event: ev.IntentSet, record: ev.Record) -> None:
        if not self.foreign:  # a stranger's log does not say what may be done here
            self.intent, self.confirmed = event.intent, event.by == "person"

    def on_permitted(self, event: ev.Permitted, record: ev.Record) -> None:
        self.permitted[event.call_id] = event.entry

    def on_approved(self, event: ev.Approved, record: ev.Record) -> None:
        # An "always" from before anything was read is no answer to the question that comes after it.
        if event.always and event.allow and event.tool and self.sources:
            self.always.add(event.tool)

    def on_forked(self, event: ev.Forked, record: ev.Record) -> None:
        self.always.clear()
        if self.foreign:  # what a file says that a person sent during the run
            self.words.clear()

    def on_resumed(self, event: ev.Resumed, record: ev.Record) -> None:
        if event.changed:
            self.always.clear()

    def read(self, sources: Iterable[str]) -> None:
        for source in sources:
            if source and source not in self.sources and len(self.sources) < MAX_SOURCES:
                self.sources.append(source)

    def _bring(self, sources: Iterable[str]) -> None:
        for source in sources:
            self.brought.add(source)
            self.read((source,))

    def labelled(self, message: Message) -> Message:
        """Return a message as it enters the conversation: in a foreign log, no word is a person's of here, whatever the
        log says."""
        if not self.foreign or isinstance(message, SystemMessage) or message.origin in STRANGERS:
            return message
        return msgspec.structs.replace(message, origin="imported")

    def marked(self, message: AssistantMessage) -> AssistantMessage:
        """The reply, with what had been read before it was written. Only what a run read by itself is in the digest of
        its requests, as in older logs; whatever it had before it, its words are not a clean model's."""
        if not self.sources:
            return message
        source = next((source for source in self.sources if source not in self.brought), "")
        return msgspec.structs.replace(message, source=source, origin="outside")

    @property
    def first(self) -> str:
        """The source that is named to a person; empty when nothing was read from outside."""
        return self.sources[0] if self.sources else ""


def sources_of(messages: Iterable[Message]) -> list[str]:
    """Return what was read from outside before these messages were written, as far as they say so."""
    said = (message for message in messages if isinstance(message, UserMessage | AssistantMessage | ToolMessage))
    named = (getattr(message, "source", "") or (SENT_ALONG if message.origin in STRANGERS else "") for message in said)
    return list(dict.fromkeys(source for source in named if source))


def words_of(messages: Iterable[Message]) -> list[str]:
    """Return what a person said in these messages."""
    return [own_text(m.content) for m in messages if isinstance(m, UserMessage) and m.origin == "person"]


def own_text(content: Content) -> str:
    """Return the text that is its author's own, without what was put beside it."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart) and part.origin not in STRANGERS)


def _files(content: Content) -> Iterator[str]:
    """The names of what was sent along and may be a stranger's."""
    for part in () if isinstance(content, str) else content:
        if part.origin in STRANGERS:
            yield (part.name if isinstance(part, MediaPart) else "") or ATTACHED
