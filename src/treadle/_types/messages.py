"""What a conversation is made of. Values only; wire formats live with the providers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Union

from msgspec import structs

from treadle._types.value import Value

Origin = Literal["person", "operator", "model", "tool", "outside", "imported"]
"""Who is behind a piece of text or a record: said where it enters, and never raised afterwards.

person: whoever asks. operator: whoever set the program up (instructions, documents, the engine's own notes). model: a
reply of a model. tool: a result of a tool that reads nothing from outside. outside: pages, mails, files, attachments,
results of servers. imported: a run or a message that was not made here, and old logs that do not say.
"""
Unlabelled = Literal[""]
"""Not said yet: whoever takes it in says it, and where nobody does it is nobody's word."""
STRANGERS: frozenset[str] = frozenset({"outside", "imported"})
"""What may contain instructions of a stranger."""


class TextPart(Value, frozen=True, tag="text", omit_defaults=True, gc=False):
    """A piece of text inside a message."""

    text: str
    origin: Origin | Unlabelled = ""
    """Where it comes from, if from elsewhere than its message."""


class MediaPart(Value, frozen=True, omit_defaults=True, gc=False):
    """What the parts that are not text have in common: an address, base64 data, or the id of a file that the provider
    has."""

    url: str = ""
    data: str = ""
    mime: str = ""
    name: str = ""
    """What it is called, for the model and in messages: "report.pdf"."""
    file_id: str = ""
    """The id of a file that was uploaded to the provider of the model."""
    text: str = ""
    """What a model is given that cannot read the content: the text of a PDF, a transcript, a description."""
    blob: str = ""
    """SHA-256 of the content where a journal keeps it beside its rows. Empty in every part outside of a journal."""
    origin: Origin = "outside"
    """Whoever sends a file has seldom written it: it is read like a page."""


class ImagePart(MediaPart, frozen=True, tag="image", omit_defaults=True, gc=False):
    """An image."""

    mime: str = "image/png"


class AudioPart(MediaPart, frozen=True, tag="audio", omit_defaults=True, gc=False):
    """A recording of speech or other sound."""

    mime: str = "audio/wav"


class FilePart(MediaPart, frozen=True, tag="file", omit_defaults=True, gc=False):
    """A PDF, a table, or any other file."""

    mime: str = "application/pdf"


Part = TextPart | ImagePart | AudioPart | FilePart
"""A piece of a message."""
Content = str | tuple[TextPart | ImagePart | AudioPart | FilePart, ...]
"""What a message says: plain text, or text, images, sound and files."""


class ToolCall(Value, frozen=True, omit_defaults=True, gc=False):
    """One call the model asked for, read and ready to be checked.

    `problem` is set when the arguments could not be read; `raw` keeps what the model wrote.
    """

    id: str
    name: str
    args: dict[str, Any] = {}
    raw: str = ""
    problem: str = ""
    repaired: str = ""
    """Why the arguments may not be what the model meant: what was put right to read them, or where in the text they
    stood. Only a tool without effects runs with such arguments; for any other the model is asked again."""
    from_text: bool = False
    """A model that is offered native calls wrote this one into its text."""
    external: bool = False
    """Set where a pause names the call: it waits for a result from outside, not for a decision."""


class SystemMessage(Value, frozen=True, tag="system", tag_field="role", omit_defaults=True, gc=False):
    """The system prompt."""

    text: str
    rendered: bool = False
    """What a run put together itself, dialect and tools included: shown in its result, not part of a history."""

    @property
    def role(self) -> Literal["system"]:
        return "system"


class UserMessage(Value, frozen=True, tag="user", tag_field="role", omit_defaults=True, gc=False):
    """What a person wrote, or what the engine tells the model in the role of the user; `kind` says which."""

    content: Content
    kind: str = "question"
    """question | history | interrupt | note | reformat | observation | summary: what put it there."""
    pinned: bool = False
    origin: Origin | Unlabelled = ""
    """Whose words these are: the role of the user is not only the person's."""

    @property
    def role(self) -> Literal["user"]:
        return "user"


class AssistantMessage(Value, frozen=True, tag="assistant", tag_field="role", omit_defaults=True, gc=False):
    """What the model said: its text as written, and the calls that were read from it."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    dialect: str = "native"
    """The dialect `text` is written in: another dialect rewrites the message instead of sending it as it is."""
    opaque: dict[str, Any] | None = None
    """What a provider wants to see again unchanged (thinking signatures and the like)."""
    source: str = ""
    """What had been read from outside when it was written, if anything: "example.org"."""
    origin: Origin | Unlabelled = ""
    """`model` for a reply to this engine; `outside` for what somebody says that a model has said."""

    @property
    def role(self) -> Literal["assistant"]:
        return "assistant"


class ToolMessage(Value, frozen=True, tag="tool", tag_field="role", omit_defaults=True, gc=False):
    """The observation that answers one call."""

    call_id: str
    name: str
    content: Content
    error: bool = False
    source: str = ""
    """Where it comes from, if from outside: "example.org"."""
    origin: Origin | Unlabelled = ""
    """`tool` for a result that this engine has seen; `outside` for what comes from there or was sent along."""

    @property
    def role(self) -> Literal["tool"]:
        return "tool"


Message = Union[SystemMessage, UserMessage, AssistantMessage, ToolMessage]  # noqa: UP007 - msgspec reads it at run time
"""Any message of a conversation."""


def unlabelled(message: Message) -> Message:
    """The message as it is sent: where it comes from is nothing to the model."""
    if isinstance(message, SystemMessage) or not message.origin:
        return message
    return structs.replace(message, origin="")


def text_of(content: Content) -> str:
    """The text of a content, without images, sound and files."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


def with_names(content: Content) -> str:
    """The text of a content, and what the files beside it are called."""
    if isinstance(content, str):
        return content
    named = [f"[{part.name or part.mime}]" for part in content if not isinstance(part, TextPart)]
    return "\n".join(filter(None, [text_of(content), *named]))


def join_content(contents: Iterable[Content]) -> Content:
    """Several contents as one, kept a plain string when nothing but text is in it."""
    parts: list[Part] = []
    for content in contents:
        parts.extend([TextPart(content)] if isinstance(content, str) else content)
    if all(isinstance(part, TextPart) for part in parts):
        return "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
    return tuple(parts)
