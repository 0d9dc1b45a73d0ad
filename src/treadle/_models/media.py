"""The media that each provider's format accepts: which kinds of content, in which form and type, and how large.

A new format is one more `MediaForms` here, an attribute `media` of its model, and a function in its
`wire.py` that writes the parts. What a model cannot be sent is turned to text, fetched, or refused by the engine
(`_engine/requests/media.py`), before a request is made.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._types.messages import AudioPart, ImagePart, MediaPart
from treadle._types.profile import Profile

MB = 1_000_000
Kind = Literal["image", "audio", "pdf", "office", "text", "file"]
Source = Literal["data", "url", "id"]
ABILITY: dict[str, str] = {"image": "vision", "audio": "audio"} | dict.fromkeys(("pdf", "office", "file"), "documents")
"""The ability of the profile that a kind needs; text needs none."""
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXT = (
    "application/json", "application/x-ndjson", "application/xml", "application/yaml", "application/x-yaml",
    "application/toml", "application/javascript", "application/x-sh", "application/sql", "application/csv",
)  # fmt: skip
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
OFFICE = {
    ".docx": _OPEN_XML + "wordprocessingml.document",
    ".xlsx": _OPEN_XML + "spreadsheetml.sheet",
    ".pptx": _OPEN_XML + "presentationml.presentation",
}
"""Files that become text for every model."""
FILE_IDS = {
    "openai": ("file-", "file_"),
    "anthropic": ("file_",),
    "gemini": ("files/", "https://", "gs://"),
    "bedrock": ("s3://",),
}
"""How the ids of files look that were uploaded to a provider."""


class MediaForms(Struct, frozen=True):
    """The media that one format accepts."""

    image: tuple[Source, ...] = ()
    pdf: tuple[Source, ...] = ()
    audio: tuple[Source, ...] = ()
    images: tuple[str, ...] = IMAGES
    sounds: tuple[str, ...] = ("audio/wav", "audio/mpeg")
    max_image: int = 20 * MB
    max_pdf: int = 32 * MB
    max_audio: int = 20 * MB
    ids: str = ""
    """Whose file ids: a key of `FILE_IDS`."""

    def sources(self, kind: Kind) -> tuple[Source, ...]:
        """How content of a kind may be given."""
        if kind in ("file", "office"):  # only as a file the provider has, whose type it knows
            return tuple(source for source in self.pdf if source == "id")
        return () if kind == "text" else getattr(self, kind)

    def limit(self, kind: Kind) -> int:
        return {"image": self.max_image, "audio": self.max_audio}.get(kind, self.max_pdf)

    def types(self, kind: Kind) -> tuple[str, ...]:
        """The MIME types of a kind; empty when any is taken."""
        return {"image": self.images, "audio": self.sounds}.get(kind, ())

    def of(self, profile: Profile) -> Profile:
        """The profile without abilities that this format has no words for."""
        missing: dict[str, Any] = {
            ABILITY[kind]: False for kind in ("image", "audio", "pdf") if not getattr(self, kind)
        }
        return msgspec.structs.replace(profile, **missing) if missing else profile


ANYTHING = MediaForms(
    ("data", "url", "id"), ("data", "url", "id"), ("data", "url", "id"), images=(), sounds=(), max_image=32 * MB
)
"""For models of other makers, and scripted ones: their profile alone decides."""
NOTHING = MediaForms()
OPENAI_CHAT = MediaForms(("data", "url"), ("data", "id"), ("data",), max_image=50 * MB, max_pdf=32 * MB, ids="openai")
COMPATIBLE_CHAT = MediaForms(("data",), ("data",), ("data",), ids="openai")
"""Other servers of the same format. They are never given an address to fetch: they stand inside of networks that
whoever writes a question must not reach through them."""
RESPONSES = MediaForms(("data", "url", "id"), ("data", "url", "id"), (), max_image=50 * MB, ids="openai")
ANTHROPIC = MediaForms(("data", "url", "id"), ("data", "url", "id"), (), max_image=5 * MB, ids="anthropic")
GEMINI = MediaForms(
    ("data", "url", "id"),
    ("data", "url", "id"),
    ("data", "url", "id"),
    images=("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    sounds=("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    ids="gemini",
)

BEDROCK = MediaForms(("data", "id"), ("data", "id"), (), max_image=3_750_000, max_pdf=4_500_000, ids="bedrock")


def kind_of(part: MediaPart) -> Kind:
    """Return the kind of a part's content, by its class and MIME type."""
    if isinstance(part, ImagePart):
        return "image"
    if isinstance(part, AudioPart):
        return "audio"
    mime = part.mime.partition(";")[0].strip().lower()
    if mime == "application/pdf":
        return "pdf"
    if mime in OFFICE.values():
        return "office"
    return "text" if mime.startswith("text/") or mime in _TEXT or mime.endswith(("+json", "+xml")) else "file"


def source_of(part: MediaPart) -> Source:
    """How its content is given."""
    if part.file_id or part.url.startswith(("s3://", "gs://")):
        return "id"
    return "url" if part.url and not part.url.startswith("data:") else "data"


def inline(part: MediaPart) -> tuple[str, str]:
    """MIME type and base64 data of a part that has them, also of one with a `data:` address."""
    if part.url.startswith("data:"):
        mime, _, data = part.url.removeprefix("data:").partition(";base64,")
        return mime, data
    return part.mime, part.data


def data_url(part: MediaPart) -> str:
    """The address of a part: its own, or one that holds its content."""
    return part.url or f"data:{part.mime};base64,{part.data}"


def forms_of(model: object) -> MediaForms:
    """Return what a model's format accepts; anything, if it does not say."""
    forms = getattr(model, "media", None)
    return forms if isinstance(forms, MediaForms) else ANYTHING
