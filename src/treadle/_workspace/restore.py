"""Making a folder equal to a tree: only what differs is touched.

Every name is opened below the descriptor of its folder and no link is followed, so that nothing outside is written,
whatever the folder holds. No process may change the folder meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from treadle._types.errors import TreeError
from treadle._workspace.objects import Entry
from treadle._workspace.snapshot import Folder, Snapshot, Tracked, signature

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_ALL = 0o700
COMPILED = "__pycache__"
T = TypeVar("T")


def restore(folder: Tracked, tree: bytes) -> Snapshot:
    """Make the folder equal to `tree`, and return what it is then: the tree, unless something that is skipped by rule
    is in the way of it."""
    if not folder.objects.has(tree):
        raise TreeError(f"the tree {tree.hex()} is not in the store: it was deleted with its run, or made elsewhere")
    folder.root.mkdir(mode=_ALL, parents=True, exist_ok=True)
    before = folder.save()
    if before.tree == tree:
        return before
    try:
        fd = os.open(folder.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _apply(folder, fd, folder.cached, tree)
        finally:
            os.close(fd)
    except OSError as error:
        folder.cached = Folder()
        raise TreeError(f"{folder.root} could not be restored: {error}") from error
    return folder.save(written=True)


def _apply(folder: Tracked, fd: int, now: Folder, tree: bytes) -> None:
    """Bring one folder, of which `now` is cached, to `tree`."""
    wanted = {os.fsdecode(entry.name): entry for entry in folder.objects.entries(tree)}
    different = [name for name in now.entries.keys() | wanted.keys() if now.entries.get(name) != wanted.get(name)]
    now.id = b""
    for name in different:
        entry, goal = now.entries.get(name), wanted.get(name)
        if entry is not None and (goal is None or goal.kind != "d" or entry.kind != "d"):
            _remove(fd, name, now)
        if goal is None:
            continue
        if goal.kind == "d":
            _fill(folder, fd, name, goal, now)
        else:
            _write(folder, fd, name, goal, now)
        now.entries[name] = goal
    if any(name.endswith(".py") for name in different) and COMPILED not in wanted:
        # Compiled in the same second from a source of the same size, it would be taken for up to date.
        with suppress(FileNotFoundError):
            _remove_any(fd, COMPILED)


def _fill(folder: Tracked, fd: int, name: str, goal: Entry, now: Folder) -> None:
    inner_known = now.folders.get(name)
    if inner_known is None:
        _make(fd, name, lambda: os.mkdir(name, _ALL, dir_fd=fd))
        inner_known = now.folders[name] = Folder()
    inner = os.open(name, _OPEN, dir_fd=fd)
    try:
        if inner_known.id != goal.ref:
            os.fchmod(inner, _ALL)
            _apply(folder, inner, inner_known, goal.ref)
        os.fchmod(inner, goal.mode)
    finally:
        os.close(inner)


def _write(folder: Tracked, fd: int, name: str, goal: Entry, now: Folder) -> None:
    if goal.kind == "l":
        _make(fd, name, lambda: os.symlink(goal.ref, os.fsencode(name), dir_fd=fd))
        return
    view = memoryview(folder.objects.get(goal.ref))
    file = _make(fd, name, lambda: os.open(name, _NEW, goal.mode & 0o777, dir_fd=fd))
    try:
        while view:
            view = view[os.write(file, view) :]
        stats = os.fstat(file)
        if stat.S_IMODE(stats.st_mode) != goal.mode:
            os.fchmod(file, goal.mode)
            stats = os.fstat(file)
        now.signatures[name] = signature(stats)
    finally:
        os.close(file)


def _make(fd: int, name: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except FileExistsError:  # something that is skipped is in its place
        _remove_any(fd, name)
        return make()


def _remove(fd: int, name: str, now: Folder) -> None:
    """Remove what is known of; a folder stays when something that is skipped lies in it."""
    if now.entries.pop(name).kind != "d":
        now.signatures.pop(name, None)
        os.unlink(name, dir_fd=fd)
        return
    cached = now.folders.pop(name)
    inner = os.open(name, _OPEN, dir_fd=fd)
    try:
        os.fchmod(inner, _ALL)
        for inside in list(cached.entries):
            _remove(inner, inside, cached)
        with suppress(FileNotFoundError):
            _remove_any(inner, COMPILED)
    finally:
        os.close(inner)
    with suppress(OSError):
        os.rmdir(name, dir_fd=fd)


def _remove_any(fd: int, name: str) -> None:
    """Remove whatever has this name, and what is in it."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=fd)
        return
    inner = os.open(name, _OPEN, dir_fd=fd)
    try:
        os.fchmod(inner, _ALL)
        with os.scandir(inner) as items:
            names = [item.name for item in items]
        for inside in names:
            _remove_any(inner, inside)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=fd)
