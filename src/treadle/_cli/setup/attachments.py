"""Attachments of a question: files that are named, and what is piped into the program."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from treadle._cli.display.notice import Waiting
from treadle._tools.media.attach import MAX_BYTES, attach, content_of, from_bytes
from treadle._types.errors import ConfigError
from treadle._types.messages import AudioPart, Content, FilePart, ImagePart, Part, TextPart

MAX_TEXT_BYTES = 2_000_000
PIPE = "standard input"


def question_of(
    question: str | None, files: Iterable[str] = (), *, quiet: bool = False, as_files: bool = False
) -> Content:
    """Join the question with what goes with it. `-`, or no question at all, means that the pipe has the question.
    `as_files`: for an agent whose code reads files."""
    parts = [part_of_file(name, as_files=as_files) for name in files]
    if question in (None, "-"):
        if question is None and not piped():
            raise ConfigError('there is no question: treadle run "question", or pipe it in')
        return with_parts(_text(_read_pipe(quiet), PIPE).strip(), parts)
    if piped() and (data := _read_pipe(quiet)).strip():
        parts.append(part_of(data, PIPE))
    return with_parts(question, parts)


def with_parts(question: str, parts: Sequence[Part]) -> Content:
    """Put the question before what goes with it, which may be anybody's words."""
    return (TextPart(question), *parts) if parts else question


def piped() -> bool:
    """Return whether something is piped into the program or redirected from a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or replaced by something that is no file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read_pipe(quiet: bool) -> bytes:
    with Waiting("waiting for standard input (if there is none: < /dev/null)", quiet=quiet):
        return sys.stdin.buffer.read(MAX_BYTES + 1)


def part_of_file(name: str, *, as_files: bool = False) -> Part:
    """Read a file, or an address (`https://...`), which the provider fetches; a text as text, unless `as_files`."""
    if Path(name).expanduser().is_dir():
        fix = f"name a file in it, or let the model read there with -t files,folder={name}"
        raise ConfigError(f"{name} is a folder: {fix}")
    return attach(name) if as_files else _readable(attach(name))


def part_of(data: bytes, name: str) -> Part:
    return _readable(from_bytes(data, name=name))


def _readable(part: ImagePart | AudioPart | FilePart) -> Part:
    """Give a text file as its text, which every model can read."""
    if not isinstance(part, FilePart) or not part.data or part.mime == "application/pdf":
        return part
    data = content_of(part)
    try:
        return FilePart(text=_text(data, part.name), mime="text/plain", name=part.name)
    except _NoText:
        if part.mime != "application/octet-stream":
            return part
        raise


class _NoText(ConfigError):
    pass


def _text(data: bytes, name: str) -> str:
    if b"\x00" in data[:8192]:
        raise _NoText(f"{name} is no text, image, PDF or sound: turn it into one of them first")
    if len(data) > MAX_TEXT_BYTES:
        limit = MAX_TEXT_BYTES // 1_000_000
        raise ConfigError(f"{name} is larger than {limit} MB of text: cut it, or let the model read it with -t files")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
