"""The files of one run of code: those it is given lie in a folder of its own, what the code writes there comes back.

A file is given by its path (`files=`) or as a part of the question (`--attach`, the page, HTTP): from here on it is the
same.
"""

from __future__ import annotations

import mimetypes
import shutil
from base64 import b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from weakref import finalize

import msgspec
from msgspec import Struct

from treadle._tools.media.attach import attach, content_of
from treadle._tools.results import cut
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import Artifact
from treadle._types.messages import Content, FilePart, MediaPart, Part, TextPart
from treadle._types.usage import safe_artifact_name

MAX_BYTES = 5_000_000
"""A file that is larger does not come back."""
FOLDER = "/work"
"""Where the code finds them."""
_PREVIEW_LINES, _PREVIEW_CHARS, _PREVIEW_BYTES = 3, 160, 4_096


class GivenFile(Struct, frozen=True):
    """A file for the code of a run, under a name that no other file of the run has."""

    name: str
    source: Path | MediaPart

    def copy_to(self, folder: Path) -> None:
        if isinstance(self.source, MediaPart):
            (folder / self.name).write_bytes(content_of(self.source))
            return
        try:
            shutil.copyfile(self.source, folder / self.name)
        except OSError as error:
            raise ToolError(f"the file {self.name!r} of this run cannot be read: {error.strerror}") from None


def given_files(question: Content, paths: Sequence[str]) -> list[GivenFile]:
    """The files that go with a question, those named by path after its own."""
    parts = () if isinstance(question, str) else question
    sources: list[tuple[str, Path | MediaPart]] = [
        (part.name, part) for part in parts if isinstance(part, MediaPart) and part.data
    ]
    sources += [(Path(path).name, Path(path).expanduser()) for path in paths]
    return [
        GivenFile(name, source) for name, (_, source) in zip(_unique(name for name, _ in sources), sources, strict=True)
    ]


def _unique(names: Iterable[str]) -> list[str]:
    """Names of files in one folder: a second `data.csv` is `data-2.csv`."""
    chosen: list[str] = []
    for name in names:
        path = PurePosixPath(PurePosixPath(safe_artifact_name(name)).name or "file")
        number, unique = 1, path.name
        while unique in chosen:
            number += 1
            unique = f"{path.stem}-{number}{path.suffix}"
        chosen.append(unique)
    return chosen


def with_files(question: Content, paths: Sequence[str], *, in_folder: bool) -> Content:
    """The question of a run that is given files; one that is not there is refused before the first request.

    With `in_folder` the run's code reads them: the model is told of them, not sent what is in them. Elsewhere files
    that are named by path go with the question like any other.
    """
    for path in paths:
        if not Path(path).expanduser().is_file():
            raise ConfigError(f"files: there is no file {path!r}")
    parts: tuple[Part, ...] = (TextPart(question),) if isinstance(question, str) else question
    if not in_folder:
        return (*parts, *map(attach, paths)) if paths else question
    if isinstance(question, str):
        return question
    return tuple(
        msgspec.structs.replace(part, text=f"It is in {FOLDER}; the list of files says under which name.")
        if isinstance(part, FilePart) and part.data and not part.text and part.mime != "application/pdf"
        else part
        for part in parts
    )


class RunFiles:
    """Copies: what the code does to them does not change the files that were given."""

    def __init__(self, files: Sequence[GivenFile]) -> None:
        self.path = Path(mkdtemp(prefix="treadle-files-"))
        self.close = finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)
        """Removes the folder; so does the end of a run that is never continued."""
        for file in files:
            file.copy_to(self.path)
        self.names = [file.name for file in files]
        self._seen: dict[str, bytes] = {}
        self.changed()

    def listing(self) -> str:
        """Each file that was given, with its size and first lines."""
        return "\n".join(_described(self.path / name) for name in self.names)

    def changed(self) -> tuple[Artifact, ...]:
        """The files that were written since this was last asked."""
        artifacts: list[Artifact] = []
        for file in sorted(self.path.rglob("*")):
            if file.is_symlink() or not file.is_file() or file.stat().st_size > MAX_BYTES:
                continue
            name, content = file.relative_to(self.path).as_posix(), file.read_bytes()
            if self._seen.get(name) != content:
                self._seen[name] = content
                artifacts.append(_artifact(name, content))
        return tuple(artifacts)


def _described(file: Path) -> str:
    with file.open("rb") as opened:
        head = opened.read(_PREVIEW_BYTES)
    size = f"- {file.name} ({file.stat().st_size} bytes)"
    text = _text(head, cut_off=len(head) == _PREVIEW_BYTES)
    if text is None:
        return f"{size}: {mimetypes.guess_type(file.name)[0] or 'not a text'}"
    return "\n".join([f"{size}, begins with:", *(f"    {line}" for line in _first_lines(text))])


def _text(content: bytes, *, cut_off: bool = False) -> str | None:
    try:
        text = content.decode("utf-8-sig", "ignore" if cut_off else "strict")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _first_lines(text: str) -> list[str]:
    return [cut(line, _PREVIEW_CHARS) for line in text.splitlines()[:_PREVIEW_LINES]]


def _artifact(name: str, content: bytes) -> Artifact:
    mime = mimetypes.guess_type(name)[0] or "text/plain"
    size, text = f"A file of {len(content)} bytes.", _text(content)
    if text is not None:
        table = name.endswith((".csv", ".tsv")) and text.strip()
        rows = f" {len(text.splitlines()) - 1} rows below: {_first_lines(text)[0]}" if table else ""
        return Artifact(name, text, mime, summary=size + rows)
    kind = mime if not mime.startswith("text/") else "application/octet-stream"
    return Artifact(name, b64encode(content).decode(), kind, base64=True, summary=size)
