"""A path, bytes or an address as a part of a message. The only place where a path becomes content."""

from __future__ import annotations

import mimetypes
import os
import stat
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec

from treadle._models.media import OFFICE
from treadle._types.errors import ConfigError
from treadle._types.messages import AudioPart, FilePart, ImagePart, MediaPart

MAX_BYTES = 32_000_000
"""Of one part. No provider takes more in a request; larger files are uploaded to the provider and named by their id."""
SCHEMES = ("http", "https", "gs", "s3", "data")
_ADDRESSES = ("http://", "https://", "gs://", "s3://")
_UNKNOWN = "application/octet-stream"
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (4, b"ftypheic", "image/heic"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AIFF", "audio/aiff"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftypM4A", "audio/mp4"),
)
_SUFFIXES = {
    ".md": "text/markdown", ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".toml": "application/toml", ".webp": "image/webp", ".m4a": "audio/mp4",
    ".flac": "audio/flac", ".ogg": "audio/ogg", ".wav": "audio/wav", ".mp3": "audio/mpeg", ".ts": "text/plain",
    **OFFICE,
}  # fmt: skip
"""Types that the system's table lacks, or has under other names on some systems."""


def attach(
    source: str | os.PathLike[str] | bytes,
    *,
    mime: str = "",
    name: str = "",
    text: str | Callable[[bytes], str] = "",
    within: str | os.PathLike[str] | None = None,
) -> ImagePart | AudioPart | FilePart:
    """A part from a file's path, from its bytes, or from its address (`https://...`).

    `text`, or a function that makes it from the bytes, is for models that cannot read the content. With `within`, a
    path that leads out of that folder is refused.
    """
    if isinstance(source, bytes):
        return from_bytes(source, mime=mime, name=name, text=text if isinstance(text, str) else text(source))
    location = os.fspath(source)
    if isinstance(text, str) and isinstance(source, str) and location.lower().startswith(_ADDRESSES):
        guessed = mime or _by_name(urlsplit(location).path)
        named = name or PurePosixPath(unquote(urlsplit(location).path)).name
        return part_class(guessed or _UNKNOWN)(url=location, mime=guessed or _UNKNOWN, name=named, text=text)
    if isinstance(text, str) and location.startswith("data:"):
        return checked(ImagePart(url=location, name=name, text=text))
    data, path = _read(location, within)
    return from_bytes(data, mime=mime, name=name or path.name, text=text if isinstance(text, str) else text(data))


def from_bytes(data: bytes, *, mime: str = "", name: str = "", text: str = "") -> ImagePart | AudioPart | FilePart:
    """A part that holds `data`."""
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{name or 'the content'} {_too_large(len(data))}")
    if not data:
        raise ConfigError(f"{name or 'the content'} is empty: there is nothing to attach")
    mime = mime or mime_of(data, name)
    return part_class(mime)(data=b64encode(data).decode(), mime=mime, name=name, text=text)


def part_class(mime: str) -> type[ImagePart] | type[AudioPart] | type[FilePart]:
    """The class of the part for a MIME type."""
    return ImagePart if mime.startswith("image/") else AudioPart if mime.startswith("audio/") else FilePart


def mime_of(data: bytes, name: str = "") -> str:
    """The type of some content: by how it begins, else by its name, else whether it is text."""
    for offset, magic, mime in _MAGIC:
        if data.startswith(magic, offset):
            return mime
    guessed = _by_name(name)
    if guessed and not guessed.startswith(("image/", "audio/", "application/pdf")):
        return guessed
    if b"\0" in data[:8192]:
        return _UNKNOWN
    try:
        data[:8192].decode()
    except UnicodeDecodeError as error:
        if error.start < len(data[:8192]) - 4:
            return _UNKNOWN
    return "text/plain"


def checked(part: ImagePart | AudioPart | FilePart) -> ImagePart | AudioPart | FilePart:
    """A part whose content is given in one way, in canonical form and within the limits; `ConfigError` otherwise."""
    label = part.name or f"the {type(part).__name__}"
    fields = [field for field in ("url", "data", "file_id") if getattr(part, field)]
    if not fields and not part.text:
        raise ConfigError(f"{label} has no content: give it a `url`, `data` (base64) or a `file_id`")
    if len(fields) > 1:
        raise ConfigError(f"{label} has {' and '.join(fields)}: give its content in one way")
    if part.url.startswith("data:"):
        mime, separator, data = part.url.removeprefix("data:").partition(";base64,")
        if not separator:
            raise ConfigError(f"{label}: a data: address must be base64, like data:image/png;base64,...")
        part = msgspec.structs.replace(part, url="", data=data, mime=mime or part.mime)
    elif part.url and urlsplit(part.url).scheme.lower() not in SCHEMES:
        raise ConfigError(f"{label}: only http and https addresses can be given; for a file use attach(path)")
    if part.data:
        if len(part.data) > MAX_BYTES * 4 // 3 + 4:
            raise ConfigError(f"{label} {_too_large(len(part.data) * 3 // 4)}")
        canonical = _canonical(part.data, label)
        if canonical != part.data:
            part = msgspec.structs.replace(part, data=canonical)
    return msgspec.structs.replace(part, blob="") if part.blob else part


def content_of(part: MediaPart) -> bytes:
    """The bytes of a part that holds its content."""
    return b64decode(part.data)


def _canonical(data: str, label: str) -> str:
    try:
        raw = b64decode("".join(data.split()), validate=True)
    except (Base64Error, ValueError):
        raise ConfigError(f"{label}: `data` is not base64") from None
    if not raw:
        raise ConfigError(f"{label} is empty: there is nothing to attach")
    return b64encode(raw).decode()


def _read(location: str, within: str | os.PathLike[str] | None) -> tuple[bytes, Path]:
    path = Path(location).expanduser()
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(Path(within).resolve()):
            raise ConfigError(f"{location} is outside of {within}: only files in that folder can be attached")
        # Not blocking: a pipe that nobody writes to must not stop the program before its kind is known.
        handle = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{location} is not a file: a folder, device or pipe cannot be attached")
            if status.st_size > MAX_BYTES:
                raise ConfigError(f"{location} {_too_large(status.st_size)}")
            return file.read(MAX_BYTES + 1), path
    except IsADirectoryError:
        raise ConfigError(f"{location} is a folder: name the files in it") from None
    except OSError as error:
        raise ConfigError(f"{location} cannot be read: {error.strerror or error}") from None


def _too_large(size: int) -> str:
    return (
        f"has {size / 1e6:.1f} MB, and at most {MAX_BYTES // 1_000_000} MB can be attached: "
        "make it smaller, or upload it to the provider and give its `file_id`"
    )


def _by_name(name: str) -> str:
    suffix = PurePosixPath(name.lower()).suffix
    return _SUFFIXES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0] or ""
