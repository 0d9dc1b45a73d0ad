"""The difference between two trees: the paths, and their text as a unified difference."""

from __future__ import annotations

import difflib
import os
from collections.abc import Generator, Sequence
from typing import Literal

from msgspec import Struct

from treadle._types.workspace_events import TreeChanges
from treadle._workspace.objects import EMPTY, Entry, Objects

MAX_PATHS = 40
"""Paths that a record names."""
MAX_TEXT = 200_000
"""Bytes of a file beyond which its lines are not compared."""


class PathChange(Struct, frozen=True):
    """One path that differs."""

    path: str
    kind: Literal["A", "M", "D"]
    old: Entry | None
    new: Entry | None


def changes_between(objects: Objects, old: bytes, new: bytes) -> Generator[PathChange]:
    """The paths that differ, folders before what is in them. Only folders that differ are looked into."""
    yield from _changes(objects, old, new, "")


def _changes(objects: Objects, old: bytes, new: bytes, where: str) -> Generator[PathChange]:
    if old == new:
        return
    before = {entry.name: entry for entry in objects.entries(old)}
    after = {entry.name: entry for entry in objects.entries(new)}
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        path = where + os.fsdecode(name)
        inner_old = one.ref if one is not None and one.kind == "d" else EMPTY
        inner_new = other.ref if other is not None and other.kind == "d" else EMPTY
        if one is None or other is None or one.kind != other.kind:
            if one is not None:
                yield PathChange(path, "D", one, None)
            if other is not None:
                yield PathChange(path, "A", None, other)
        elif one.kind != "d" or one.mode != other.mode:
            yield PathChange(path, "M", one, other)
        yield from _changes(objects, inner_old, inner_new, f"{path}/")


def summary(objects: Objects, old: bytes, new: bytes) -> TreeChanges:
    """The changes as a record has them. Folders that are new or gone count by what is in them."""
    counts = {"A": 0, "M": 0, "D": 0}
    paths: list[str] = []
    for change in changes_between(objects, old, new):
        entry = change.new or change.old
        if entry is None or (entry.kind == "d" and entry.ref != EMPTY):
            continue
        counts[change.kind] += 1
        if len(paths) < MAX_PATHS:
            paths.append(f"{change.kind} {printable(change.path)}{'/' if entry.kind == 'd' else ''}")
    return TreeChanges(counts["A"], counts["M"], counts["D"], tuple(paths))


def unified(objects: Objects, old: bytes, new: bytes, *, most: int = 400_000) -> str:
    """The difference as text, of at most `most` characters."""
    pieces: list[str] = []
    size = 0
    for change in changes_between(objects, old, new):
        text = file_difference(objects, change)
        size += len(text)
        if size > most:
            pieces.append(f"... the difference goes on: {change.path} and more\n")
            break
        pieces.append(text)
    return "".join(pieces)


def file_difference(objects: Objects, change: PathChange) -> str:
    """The difference of one path; empty for a folder that has only other contents."""
    path, old, new = printable(change.path), change.old, change.new
    entry = new or old
    assert entry is not None
    if entry.kind == "d":
        if old is None or new is None:
            return f"{'removed' if new is None else 'new'} folder {path}/\n" if entry.ref == EMPTY else ""
        return f"mode of {path}/: {old.mode:o} to {new.mode:o}\n"
    modes = f"mode of {path}: {old.mode:o} to {new.mode:o}\n" if old and new and old.mode != new.mode else ""
    if old is not None and new is not None and old.ref == new.ref:
        return modes
    before, after = _lines(objects, old), _lines(objects, new)
    names = f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null"
    if before is None or after is None:
        return f"{modes}--- {names[0]}\n+++ {names[1]}\nnot compared: not a text, or too large\n"
    lines = list(difflib.unified_diff(before, after, *names))
    if not lines:
        return f"{modes}--- {names[0]}\n+++ {names[1]}\nan empty file\n"
    return modes + "".join(line if line.endswith("\n") else f"{line}\n\\ no new line at the end\n" for line in lines)


def file_at(objects: Objects, tree: bytes, path: str) -> bytes | None:
    """The content of a file of a tree; None where there is none."""
    *folders, name = os.fsencode(path).split(b"/")
    for folder in folders:
        inner = next((entry for entry in objects.entries(tree) if (entry.name, entry.kind) == (folder, "d")), None)
        if inner is None:
            return None
        tree = inner.ref
    file = next((entry for entry in objects.entries(tree) if (entry.name, entry.kind) == (name, "f")), None)
    return None if file is None else objects.get(file.ref)


def _lines(objects: Objects, entry: Entry | None) -> Sequence[str] | None:
    if entry is None:
        return ()
    content = entry.ref if entry.kind == "l" else objects.get(entry.ref)
    if b"\0" in content or len(content) > MAX_TEXT:
        return None
    try:
        return content.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


def printable(path: str) -> str:
    """A path as it can be stored and shown, whatever its bytes are."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
