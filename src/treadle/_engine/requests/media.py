"""Images, sound and files on their way to a model: sent as they are, turned to text, or refused before a request.

What a model cannot read is given to it as text. That text is made once, when the content enters the run, and recorded
with it, so a replay sees the same bytes whatever library is installed then. What the next request shows is decided from
the log alone: `shown` looks at the part and at the recorded profile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._models.base import Model
from treadle._models.media import ABILITY, FILE_IDS, Kind, forms_of, kind_of, source_of
from treadle._tools.media.attach import MAX_BYTES, checked, content_of, from_bytes
from treadle._types.errors import ConfigError, MissingExtraError, ToolError
from treadle._types.messages import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.profile import Profile

MAX_TOTAL = 45_000_000
"""Bytes of all that one message brings; with base64 and the conversation around it, providers refuse more."""
_WORDS = {
    "image": "images",
    "audio": "sound",
    "pdf": "PDF files",
    "file": "files of this type",
    "office": "office files",
}
_BYTES_PER_TOKEN = 3
_MAX_CHARS = 400_000


def reads(profile: Profile, kind: Kind) -> bool:
    """Return whether a model is sent content of a kind as it is. Images are also sent when it is not known."""
    if kind == "text":
        return False
    able = getattr(profile, ABILITY[kind])
    return able is not False if kind == "image" else bool(able)


def shown(message: Message, profile: Profile) -> Message:
    """A message as a model with this profile is sent it: what it cannot read stands there as text."""
    if not isinstance(message, UserMessage | ToolMessage) or isinstance(message.content, str):
        return message
    content = message.content
    parts = tuple(
        part if isinstance(part, TextPart) or _is_sent(part, profile) else TextPart(_as_text(part)) for part in content
    )
    if parts == content:
        return message
    return msgspec.structs.replace(message, content=parts)


def _is_sent(part: ImagePart | AudioPart | FilePart, profile: Profile) -> bool:
    if kind_of(part) == "office" and not part.file_id:  # a provider that has the file knows what to do with it
        return False
    return reads(profile, kind_of(part)) and bool(part.data or part.url or part.file_id)


def _as_text(part: ImagePart | AudioPart | FilePart) -> str:
    kind = kind_of(part)
    label = f"{kind if kind in ('image', 'audio') else 'file'} {part.name}".strip()
    if part.text:
        return f"[{label}]\n{part.text}\n[end of {label}]"
    return f"[{label}: {part.mime}. You cannot read {_WORDS.get(kind, 'it')}, so its content is not shown.]"


async def prepared_message(
    content: Content, models: Sequence[Model]
) -> tuple[str, tuple[ImagePart | AudioPart | FilePart, ...]]:
    """The text and the media of a message to a run that works. Whoever sent it is not there any more to be told, so
    nothing is refused."""
    if isinstance(content, str):
        return content, ()
    try:
        ready = await prepared(content, models, refuse=False)
    except ConfigError as error:  # too much at once
        return f"{text_of(content)}\n[its files are not shown, because {error}]", ()
    return text_of(ready), tuple(part for part in ready if not isinstance(part, TextPart | str))


async def prepared(content: Content, models: Sequence[Model], fetch: Any = None, *, refuse: bool = True) -> Content:
    """Return a content ready for these models; `ConfigError` when the first of them cannot be given some of what a user
    gives. Of a tool's result nothing is refused: words say what cannot be read."""
    if isinstance(content, str) or all(isinstance(part, TextPart) for part in content):
        return content
    parts: list[Part] = []
    total = 0
    for part in content:
        if isinstance(part, TextPart):
            parts.append(part)
            continue
        try:
            part = await _ready(checked(part), models, fetch, refuse=refuse)
        except (ConfigError, ToolError, MissingExtraError) as error:
            if refuse:
                raise error if isinstance(error, ConfigError) else ConfigError(_refusal(part, str(error))) from error
            parts.append(TextPart(f"[{part.name or kind_of(part)}: not shown, because {error}]"))
            continue
        total += len(part.data) * 3 // 4
        parts.append(part)
    if total > MAX_TOTAL:
        raise ConfigError(
            f"the files of one message have {total / 1e6:.0f} MB, and at most {MAX_TOTAL // 1_000_000} MB can be sent: "
            "send fewer, or upload them to the provider and give their `file_id`"
        )
    return tuple(parts)


async def _ready(
    part: ImagePart | AudioPart | FilePart, models: Sequence[Model], fetch: Any, *, refuse: bool
) -> ImagePart | AudioPart | FilePart:
    """The part with everything that any of the models needs of it: its content, its text."""
    kind = kind_of(part)
    by_us = kind in ("text", "file", "office") or any(_wants_content(part, model) for model in models)
    if source_of(part) == "url" and by_us:
        part = await _fetched(part, fetch)
        kind = kind_of(part)
    direct = [_is_sent(part, model.profile) for model in models]
    if not all(direct) and not part.text and part.data and kind in ("pdf", "office", "text"):
        try:
            from treadle._tools.media.reading import text_of_file  # only where there is something to read

            text = await asyncio.to_thread(text_of_file, kind, content_of(part), _room(models))
            part = msgspec.structs.replace(part, text=text)
        except (ToolError, MissingExtraError) as error:
            if refuse and not direct[0]:
                raise ConfigError(_refusal(part, f"{_cannot(models[0], kind)}, and {error}")) from None
    if direct[0]:
        _require_form(part, kind, models[0])
    elif refuse and not part.text:
        raise ConfigError(_refusal(part, _cannot(models[0], kind)))
    return part


def _wants_content(part: ImagePart | AudioPart | FilePart, model: Model) -> bool:
    """Return whether a model needs what is at an address: it cannot fetch it, or can only be given its text."""
    kind = kind_of(part)
    return not reads(model.profile, kind) or "url" not in forms_of(model).sources(kind)


async def _fetched(part: ImagePart | AudioPart | FilePart, fetch: Any) -> ImagePart | AudioPart | FilePart:
    if fetch is None:
        from treadle._tools.builtin.http.client import GuardedClient  # only where something is fetched

        client = GuardedClient(max_bytes=MAX_BYTES, timeout=60.0)
        try:
            response = await client.get(part.url)
        finally:
            await client.close()
    else:
        response = await fetch(part.url)
    if response.status != 200:
        raise ToolError(f"{part.url[:200]} answered with status {response.status}")
    mime = "" if response.mime in ("", "application/octet-stream", "binary/octet-stream") else response.mime
    return from_bytes(response.body, mime=mime, name=part.name, text=part.text)


def _require_form(part: ImagePart | AudioPart | FilePart, kind: Kind, model: Model) -> None:
    """Refuse what the model's format has no words for: the source, the type, the size."""
    forms, source = forms_of(model), source_of(part)
    if source not in forms.sources(kind):
        ways = {"data": "its bytes or its path", "url": "its address", "id": "a file id"}
        known = " or ".join(ways[way] for way in forms.sources(kind)) or "nothing but text"
        raise ConfigError(f"{_label(part)} is given by {ways[source]}, and {model.name} takes {known} for it")
    if source == "id" and (owner := _owner(part.file_id or part.url, forms.ids)):
        raise ConfigError(
            f"{part.file_id or part.url!r} is the id of a file at {owner}, and {model.name} is a model of {forms.ids}: "
            "upload the file there, or give the file itself"
        )
    if source == "data":
        types, limit, size = forms.types(kind), forms.limit(kind), len(part.data) * 3 // 4
        if types and part.mime not in types:
            raise ConfigError(f"{_label(part)} is {part.mime}, and {model.name} reads {', '.join(types)}: convert it")
        if size > limit:
            raise ConfigError(
                f"{_label(part)} has {size / 1e6:.1f} MB, and {model.name} takes at most {limit / 1e6:g} MB: "
                "make it smaller, or upload it to the provider and give its `file_id`"
            )


def _owner(file_id: str, ids: str) -> str:
    """Whose id it is, if it is another provider's than `ids`; "" when it may be right."""
    if not ids or file_id.startswith(FILE_IDS[ids]):
        return ""
    return next((name for name, begins in FILE_IDS.items() if file_id.startswith(begins)), "")


def _room(models: Sequence[Model]) -> int:
    """Characters of one file's text: at most half of the smallest window."""
    windows = [model.profile.window for model in models if model.profile.window]
    return max(2_000, min([_MAX_CHARS, *(window * _BYTES_PER_TOKEN // 2 for window in windows)]))


def _cannot(model: Model, kind: Kind) -> str:
    return f"{model.name} does not read {_WORDS.get(kind, 'it')}"


def _refusal(part: ImagePart | AudioPart | FilePart, why: str) -> str:
    kind = kind_of(part)
    advice = {
        "image": "use a model that can, or send in words what it shows",
        "audio": "use a model that can, or send in words what is said",
        "pdf": "use a model that can, or send its text",
        "file": "convert it to PDF, CSV or plain text",
    }
    return f"{_label(part)}: {why}: {advice.get(kind, 'give its text')}"


def _label(part: ImagePart | AudioPart | FilePart) -> str:
    return part.name or part.url[:200] or f"the {kind_of(part)}"
