"""Turns the result of an MCP tool into a `ToolResponse` without dropping any content."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from treadle._tools.base import ToolResponse
from treadle._types.events import Artifact
from treadle._types.messages import AudioPart, FilePart, ImagePart, Part, TextPart

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_BINARY = "application/octet-stream"


def to_response(result: CallToolResult) -> ToolResponse:
    """Texts, images, sound and PDF files go to the model, other binary resources become artifacts."""
    pieces: list[Part | Artifact] = []
    for number, block in enumerate(result.content, 1):
        pieces += _pieces(block, number)
    texts = [piece.text for piece in pieces if isinstance(piece, TextPart)]
    structured = _structured(result.structured_content, texts)
    if structured:
        pieces.append(TextPart(structured))
    return ToolResponse(pieces if pieces else None, error=result.is_error)


def _pieces(block: Any, number: int) -> list[Part | Artifact]:
    match block.type:
        case "text":
            return [TextPart(block.text)]
        case "image":
            return [ImagePart(data=block.data, mime=block.mime_type)]
        case "audio":
            mime = block.mime_type or "audio/wav"  # for the model, and for the user to listen to
            return [AudioPart(data=block.data, mime=mime), _artifact(f"audio-{number}", block.data, mime)]
        case "resource_link":
            details = " ".join(
                filter(None, (block.title or block.name, block.mime_type and f"({block.mime_type})", block.description))
            )
            return [TextPart(f"[resource {block.uri}: {details}]")]
        case "resource":
            return _resource(block.resource, number)
        case other:
            return [TextPart(f"[content of an unknown kind: {other}]")]


def _resource(resource: Any, number: int) -> list[Part | Artifact]:
    mime = resource.mime_type or ""
    if (text := getattr(resource, "text", None)) is not None:
        return [TextPart(f"[resource {resource.uri}]\n{text}")]
    if mime.startswith("image/"):
        return [TextPart(f"[resource {resource.uri}]"), ImagePart(data=resource.blob, mime=mime)]
    name = str(resource.uri).rstrip("/").rpartition("/")[2] or f"resource-{number}"
    read = [FilePart(data=resource.blob, name=name)] if mime == "application/pdf" else []
    return [*read, _artifact(name, resource.blob, mime or _BINARY, summary=str(resource.uri))]


def _artifact(name: str, data: str, mime: str, summary: str = "") -> Artifact:
    if "." not in name:
        name += mimetypes.guess_extension(mime) or ""
    return Artifact(name[:128], data, mime, base64=True, summary=summary)


_COMPARED = 4_000
"""Characters: in a longer text, nothing is looked for piece by piece."""


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a value."""
    if isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _leaves(item)
    else:
        yield value.strip() if isinstance(value, str) else msgspec.json.encode(value).decode()


def _structured(value: Any, texts: list[str]) -> str:
    """The structured content as JSON, unless a text repeats it, as servers do for older clients."""
    if value is None:
        return ""
    shown: list[Any] = list(texts)
    for text in texts:
        with suppress(msgspec.DecodeError, RecursionError):
            shown.append(msgspec.json.decode(text))
    text = "\n".join(texts)
    if 0 < len(text) <= _COMPARED and all(
        re.search(rf"(?<![\w.]){re.escape(leaf)}(?![\w])", text) for leaf in _leaves(value)
    ):
        return ""  # the same in other words
    wrapped = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    repeated = value in shown or (list(wrapped) == ["result"] and wrapped["result"] in (*shown, texts))
    return "" if repeated else msgspec.json.encode(value).decode()
