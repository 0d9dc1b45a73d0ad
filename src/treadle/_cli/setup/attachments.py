"""What goes with a question: files that are named, and what is piped into the program."""

from __future__ import annotations

import base64
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from treadle._cli.display.notice import Waiting
from treadle._types.errors import ConfigError
from treadle._types.messages import Content, ImagePart, TextPart

Part = TextPart | ImagePart
MAX_TEXT_BYTES = 2_000_000
MAX_IMAGE_BYTES = 20_000_000
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
PIPE = "standard input"


def question_of(question: str | None, files: Iterable[str] = (), *, quiet: bool = False) -> Content:
    """The question with what goes with it. `-`, or no question at all, means that the pipe has the question."""
    parts = [part_of_file(name) for name in files]
    if question in (None, "-"):
        if question is None and not piped():
            raise ConfigError('there is no question: treadle run "question", or pipe it in')
        return with_parts(_text(_read_pipe(quiet), PIPE).strip(), parts)
    if piped() and (data := _read_pipe(quiet)).strip():
        parts.append(part_of(data, PIPE))
    return with_parts(question, parts)


def with_parts(question: str, parts: Iterable[Part]) -> Content:
    """One text where everything is text, so that every model and every list of runs can read it."""
    parts = [*parts]
    texts = [question, *(part.text for part in parts if isinstance(part, TextPart))]
    images = [part for part in parts if isinstance(part, ImagePart)]
    text = "\n\n".join(filter(None, texts))
    return (TextPart(text), *images) if images else text


def piped() -> bool:
    """Whether something is piped into the program or redirected from a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or replaced by something that is no file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read_pipe(quiet: bool) -> bytes:
    with Waiting("waiting for standard input (if there is none: < /dev/null)", quiet=quiet):
        return sys.stdin.buffer.read(MAX_IMAGE_BYTES + 1)


def part_of_file(name: str) -> Part:
    path = Path(name).expanduser()
    try:
        if path.is_dir():
            raise ConfigError(
                f"{name} is a folder: name a file in it, or let the model read there with -t files,folder={name}"
            )
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the file {name} cannot be read: {error.strerror}") from None
    return part_of(data, path.name)


def part_of(data: bytes, name: str) -> Part:
    """An image as an image, anything else as text under its name."""
    mime = next((mime for magic, mime in _IMAGES.items() if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        mime = "image/webp"
    if mime:
        if len(data) > MAX_IMAGE_BYTES:
            raise ConfigError(f"{name} is larger than {MAX_IMAGE_BYTES // 1_000_000} MB: make the image smaller")
        return ImagePart(data=base64.b64encode(data).decode(), mime=mime)
    return TextPart(f"[{name}]\n{_text(data, name)}")


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_TEXT_BYTES:
        limit = MAX_TEXT_BYTES // 1_000_000
        raise ConfigError(f"{name} is larger than {limit} MB of text: cut it, or let the model read it with -t files")
    if b"\x00" in data[:8192]:
        raise ConfigError(f"{name} is neither text nor an image: turn it into one of them first")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
