"""Content in request bodies: text, images, sound, files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from treadle._server.errors import bad_request
from treadle._tools.media.attach import checked
from treadle._types.errors import ConfigError
from treadle._types.messages import AudioPart, Content, FilePart, ImagePart, TextPart

Text = Annotated[str, Meta(min_length=1, max_length=200_000)]


class In(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Unknown fields are refused, so that a misspelt one is an error rather than ignored."""


class TextItem(In, frozen=True, tag="text"):
    text: Text


class _Media(In, frozen=True):
    """Content by address, as base64 data, or by the id of a file at the model's provider: one of the three."""

    url: Annotated[str, Meta(max_length=8192)] = ""
    data: str = ""
    name: Annotated[str, Meta(max_length=255)] = ""
    file_id: Annotated[str, Meta(max_length=500)] = ""
    text: Annotated[str, Meta(max_length=400_000)] = ""
    """For models that cannot read the content: a description, a transcript."""


class ImageItem(_Media, frozen=True, tag="image"):
    """An image by address, or as base64 data."""

    mime: str = "image/png"


class AudioItem(_Media, frozen=True, tag="audio"):
    """Sound."""

    mime: str = "audio/wav"


class FileItem(_Media, frozen=True, tag="file"):
    """A PDF, a table, a text."""

    mime: str = "application/pdf"


Items = Annotated[list[TextItem | ImageItem | AudioItem | FileItem], Meta(min_length=1, max_length=20)]


def content_of(content: str | Sequence[TextItem | ImageItem | AudioItem | FileItem]) -> Content:
    """Convert the content of a request to the engine's content, and check media."""
    if isinstance(content, str):
        return content
    return tuple(TextPart(item.text) if isinstance(item, TextItem) else _media(item) for item in content)


def _media(item: ImageItem | AudioItem | FileItem) -> ImagePart | AudioPart | FilePart:
    kinds = {ImageItem: ImagePart, AudioItem: AudioPart, FileItem: FilePart}
    try:
        return checked(kinds[type(item)](item.url, item.data, item.mime, item.name, item.file_id, item.text))
    except ConfigError as error:
        raise bad_request(str(error)) from None
