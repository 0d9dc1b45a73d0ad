"""Contents of images, sounds, files and artifacts, kept beside a journal's rows: each once, under its SHA-256.

A record is taken apart when it is stored and put together when it is loaded, here alone: outside of a journal every
part holds its content, so a replay, a fork and an export see the same bytes as the run did. A content whose base64 is
not canonical stays in its row, because it could not be given back as it was; so do small ones.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from treadle._types.errors import CorruptLogError
from treadle._types.events import Event
from treadle._types.messages import MediaPart
from treadle._types.usage import Artifact

SMALLEST = 2_048
"""Characters of base64. A smaller content costs less in its row than in a row of its own."""
_REFERENCE = re.compile(rb'"blob":"([0-9a-f]{64})"')
Lookup = Callable[[str], bytes | None]
T = TypeVar("T")


def may_hold_content(data: bytes) -> bool:
    """Return whether a stored event may have content large enough for a separate row."""
    return len(data) > SMALLEST and (b'"data":"' in data or b'"base64":true' in data)


def references(data: bytes) -> list[str]:
    """Return the keys of the contents that a stored event refers to."""
    if b'"blob":"' not in data:
        return []
    return [key.decode() for key in _REFERENCE.findall(data)]


def detached(event: T) -> tuple[T, dict[str, bytes]]:
    """Replace the contents of an event or message by references; return both."""
    contents: dict[str, bytes] = {}

    def detach(part: MediaPart | Artifact) -> MediaPart | Artifact:
        text = part.data if isinstance(part, MediaPart) else part.content if part.base64 else ""
        raw = _canonical(text) if len(text) > SMALLEST and not part.blob else None
        if raw is None:
            return part
        key = sha256(raw).hexdigest()
        contents[key] = raw
        return _changed(part, "", key)

    return _walk(event, detach), contents


def parts_of(event: Event) -> list[MediaPart | Artifact]:
    """Collect the parts and artifacts of an event."""
    parts: list[MediaPart | Artifact] = []

    def note(part: MediaPart | Artifact) -> MediaPart | Artifact:
        parts.append(part)
        return part

    _walk(event, note)
    return parts


def attached(event: Event, lookup: Lookup) -> Event:
    """The event as it was before `detached`."""
    texts: dict[str, str] = {}

    def attach(part: MediaPart | Artifact) -> MediaPart | Artifact:
        key = part.blob
        if not key:
            return part
        if key not in texts:
            content = lookup(key)
            if content is None or sha256(content).hexdigest() != key:
                raise CorruptLogError(f"the content {key[:12]} of {part.name or 'a part'} is missing or damaged")
            texts[key] = b64encode(content).decode()
        return _changed(part, texts[key], "")

    return _walk(event, attach)


def _canonical(text: str) -> bytes | None:
    try:
        raw = b64decode(text, validate=True)
    except ValueError:
        return None
    return raw if b64encode(raw).decode() == text else None


def _changed(part: MediaPart | Artifact, text: str, blob: str) -> MediaPart | Artifact:
    if isinstance(part, MediaPart):
        return msgspec.structs.replace(part, data=text, blob=blob)
    return msgspec.structs.replace(part, content=text, blob=blob)


def _walk(value: T, change: Callable[[Any], Any]) -> T:
    """Change every part and artifact in a value; return the same object if nothing changed."""
    node: Any = value
    if isinstance(node, MediaPart | Artifact):
        return change(node)
    if isinstance(node, Struct):
        new = {name: _walk(getattr(node, name), change) for name in node.__struct_fields__}
        changed = {name: field for name, field in new.items() if field is not getattr(node, name)}
        return cast(T, msgspec.structs.replace(node, **changed) if changed else node)
    if isinstance(node, tuple):
        items = cast("tuple[Any, ...]", node)
        walked = tuple(_walk(item, change) for item in items)
        return cast(T, node if all(a is b for a, b in zip(walked, items, strict=True)) else walked)
    if isinstance(node, dict):
        fields = cast("dict[Any, Any]", node)
        filled = {key: _walk(field, change) for key, field in fields.items()}
        return cast(T, node if all(filled[key] is fields[key] for key in fields) else filled)
    return value
