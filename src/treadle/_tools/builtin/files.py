"""Tools for the files in one work folder: list, read, write, search."""

from __future__ import annotations

import base64
import mimetypes
import os
import time
from contextlib import suppress
from fnmatch import fnmatch
from typing import Annotated

from msgspec import Meta, Struct, structs

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import clip
from treadle._tools.builtin.reading.charset import decode_text
from treadle._tools.builtin.workfolder import Entry, NoSuchFileError, WorkFolder, split_path
from treadle._tools.function import tool
from treadle._types.errors import ToolError
from treadle._types.events import Artifact

_Path = Annotated[str, Meta(max_length=1_000, description="Path in the work folder, like notes/today.txt")]
_Folder = Annotated[str, Meta(max_length=1_000, description="Folder to list; empty for the work folder itself")]
_Line = Annotated[int, Meta(ge=1, description="First line to read")]
_Text = Annotated[str, Meta(max_length=200, description="Text to find in the files; empty finds files by name alone")]
_Name = Annotated[str, Meta(max_length=100, description="Only files whose name fits, like *.md")]
_Content = Annotated[str, Meta(description="The whole text to write")]
_Append = Annotated[bool, Meta(description="Add to the end instead of replacing the file")]
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class Listing(Struct, frozen=True, omit_defaults=True):
    path: str
    entries: tuple[Entry, ...]
    more: int = 0
    """How many entries were left out."""


class FileText(Struct, frozen=True, omit_defaults=True):
    path: str
    text: str
    lines: int
    """How many lines the whole file has."""
    next_line: int = 0
    """The line to continue reading from; 0 at the end."""


class Written(Struct, frozen=True):
    path: str
    bytes: int
    created: bool


class Match(Struct, frozen=True, omit_defaults=True):
    path: str
    line: int = 0
    text: str = ""


class Matches(Struct, frozen=True, omit_defaults=True):
    matches: tuple[Match, ...]
    incomplete: bool = False
    """A limit was reached before everything was searched."""


@bounded
def files(
    folder: str | os.PathLike[str],
    *,
    write: bool = True,
    hidden: bool = True,
    max_chars: Count = 8_000,
    max_bytes: Count = 2_000_000,
    max_entries: Count = 200,
    timeout: Seconds = 15.0,
) -> list[Tool]:
    """Tools for the files in `folder`, which is created if missing; without `write` nothing can be changed.

    Without `hidden` what begins with a dot does not exist for the tools: keys and settings often lie in such files.
    """
    access = _FileAccess(WorkFolder(folder), hidden, max_chars, max_bytes, max_entries, timeout * 0.8)
    folder_name = "the work folder"
    tools: list[Tool] = [
        tool(access.list, name="list_files", timeout=timeout, effect="pure", untrusted=folder_name),
        tool(access.read, name="read_file", timeout=timeout, effect="pure", untrusted="{path}"),
        tool(access.search, name="search_files", timeout=timeout, effect="pure", untrusted=folder_name),
    ]
    if write:
        tools.append(tool(access.write, name="write_file", timeout=timeout, effect="unsafe", concurrent=False))
    return tools


class _FileAccess(Struct, frozen=True):
    """The functions of the tools, with their limits. The model reads their docstrings."""

    folder: WorkFolder
    hidden: bool
    max_chars: int
    max_bytes: int
    max_entries: int
    max_seconds: float

    def _parts(self, path: str) -> tuple[str, ...]:
        parts = split_path(path)
        if dotted := next(filter(self._left_out, parts), None):
            raise ToolError(f"{dotted} is hidden: what begins with a dot cannot be used here")
        return parts

    def _left_out(self, name: str) -> bool:
        return not self.hidden and name.startswith(".")

    def list(self, path: _Folder = "") -> Listing:
        """List the files and folders in the work folder."""
        parts = self._parts(path)
        entries = [entry for entry in self.folder.entries(parts) if not self._left_out(entry.name)]
        more = max(len(entries) - self.max_entries, 0)
        shown = (structs.replace(entry, name=_shown(entry.name)) for entry in entries[: self.max_entries])
        return Listing("/".join(parts), tuple(shown), more)

    def read(self, path: _Path, start_line: _Line = 1) -> FileText | ToolResponse:
        """Read a text file in the work folder; long files come in parts."""
        parts = self._parts(path)
        return part_of_file("/".join(parts), self.folder.read(parts, self.max_bytes), start_line, self.max_chars)

    def write(self, path: _Path, content: _Content, append: _Append = False) -> ToolResponse:
        """Write a text file in the work folder."""
        parts = self._parts(path)
        data = content.encode("utf-8", "surrogatepass")
        if append:
            with suppress(NoSuchFileError):
                data = self.folder.read(parts, self.max_bytes) + data
        if len(data) > self.max_bytes:
            raise ToolError(f"the file would be larger than {self.max_bytes} bytes")
        created = self.folder.write(parts, data)
        name = "/".join(parts)
        mime = mimetypes.guess_type(name)[0] or "text/plain"
        artifact = Artifact(name=name, content=data.decode("utf-8", "replace"), mime=mime, summary=f"{len(data)} bytes")
        return ToolResponse(observation=Written(name, len(data), created), artifacts=(artifact,))

    def search(self, text: _Text = "", name: _Name = "*") -> Matches:
        """Find text (any case) or file names in the work folder."""
        folded, deadline = text.casefold(), time.monotonic() + self.max_seconds
        matches: list[Match] = []
        for parts, entry in self.folder.walk((), lambda folder: folder in _SKIPPED or self._left_out(folder)):
            path = "/".join(parts)
            if self._left_out(entry.name):
                continue
            if len(matches) >= self.max_entries or time.monotonic() > deadline:
                return Matches(tuple(matches[: self.max_entries]), incomplete=True)
            if not (fnmatch(entry.name, name) or fnmatch(path, name)):
                continue
            matches.extend(self._matching_lines(parts, _shown(path), folded) if folded else [Match(_shown(path))])
        return Matches(tuple(matches[: self.max_entries]), incomplete=len(matches) > self.max_entries)

    def _matching_lines(self, parts: tuple[str, ...], path: str, folded: str) -> list[Match]:
        try:
            data = self.folder.read(parts, self.max_bytes)
        except ToolError:
            return []
        content = decode_text(data)
        if "\0" in content[:8192]:
            return []
        lines = ((number, line) for number, line in enumerate(content.splitlines(), 1) if folded in line.casefold())
        return [Match(path, number, clip(line.strip(), 200)) for number, line in lines]


def _shown(name: str) -> str:
    """A name whose bytes are no text is written with their numbers."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def part_of_file(name: str, data: bytes, start_line: int, max_chars: int) -> FileText | ToolResponse:
    """The text from a line on, as much of it as fits; what is no text comes as an artifact."""
    content = decode_text(data)
    if "\0" in content[:8192]:
        return _as_artifact(name, data)
    lines = content.splitlines(keepends=True)
    if start_line > max(len(lines), 1):
        raise ToolError(f"{name} has only {len(lines)} lines")
    count, size = 0, 0
    for line in lines[start_line - 1 :]:
        if count and size + len(line) > max_chars:
            break
        count, size = count + 1, size + len(line)
    end = start_line - 1 + count
    text = clip("".join(lines[start_line - 1 : end]), max_chars)
    return FileText(name, text, len(lines), end + 1 if end < len(lines) else 0)


def _as_artifact(name: str, data: bytes) -> ToolResponse:
    mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
    size = f"{mime}, {len(data)} bytes"
    artifact = Artifact(name=name, content=base64.b64encode(data).decode(), mime=mime, base64=True, summary=size)
    return ToolResponse(observation=f"{name} is not a text file: {size}", artifacts=(artifact,))
