"""The tree of a folder: what is in it, content-addressed, and only what has changed is read again.

Kept are the content and the permissions of files and folders, where symbolic links lead, and empty folders. Not kept
are owners, times, extended attributes, that two names are one file (hard links), sparse files, and the permissions of
the folder itself. Sockets, pipes and devices are skipped, and by rule what can be made again or is too large; what was
skipped is named.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from treadle._types.errors import TreeError
from treadle._workspace.objects import Entry, Objects, encoded
from treadle._workspace.overlay import Overlay

RACY = 20_000_000
"""Nanoseconds: a file that was changed so shortly before it was read may be changed again without any difference in its
times, whose steps are up to 10 ms."""
RACY_COARSE = 2_000_000_000
"""The same on file systems that keep whole seconds."""
_FLUSH = 16_000_000
_SECOND = 1_000_000_000
_MAX_DEPTH = 200
_PIECE = 1 << 30
"""No system reads more at once."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""What was a file a moment ago may be a link or a pipe by now: neither is followed nor waited for."""

Signature = tuple[int, int, int, int, int]


class Rules(Struct, frozen=True):
    """The rules of what is not kept of a folder, and how much is."""

    max_file: int = 32_000_000
    """A file that is larger is skipped."""
    max_files: int = 200_000
    max_bytes: int = 2_000_000_000
    """What is read for one tree: with more than that, nothing is stored."""
    names: frozenset[str] = frozenset({"node_modules", "__pycache__"})
    """Folders that are made again by what made them."""
    marks: frozenset[str] = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
    """A file that says that its folder can be made again: an environment, a cache."""
    secret: frozenset[str] = frozenset()
    """Files, by name, that are never stored."""


_WHY = {"pyvenv.cfg": "environment", "CACHEDIR.TAG": "cache", "node_modules": "installed packages"}


class Folder:
    """One folder as it was when it was last looked at."""

    __slots__ = ("entries", "folders", "id", "own", "signatures", "unsure")

    def __init__(self) -> None:
        self.id = b""
        self.entries: dict[str, Entry] = {}
        self.signatures: dict[str, Signature] = {}
        self.unsure: set[str] = set()
        """Files that could have changed since without a trace."""
        self.folders: dict[str, Folder] = {}
        self.own: set[str] | None = None
        """Of layers: the names that were in the upper one, where that is known."""


class Snapshot(Struct, frozen=True):
    tree: bytes
    skipped: tuple[str, ...] = ()
    """What is not in the tree, each with the reason."""
    files: int = 0
    read: int = 0
    """Bytes that were read: those of files that could have changed."""


def signature(stats: os.stat_result) -> Signature:
    return stats.st_ino, stats.st_size, stats.st_mtime_ns, stats.st_ctime_ns, stats.st_mode


def may_change_unseen(seen: Signature, now: int) -> bool:
    """Return whether a file that was read at `now` could be changed later and look the same."""
    changed = seen[3]
    return changed > now - (RACY if changed % _SECOND else RACY_COARSE)


class Tracked:
    """A folder whose trees are stored again and again: it knows what it looked like before. Not for two threads."""

    def __init__(self, root: Path, objects: Objects, rules: Rules | None = None, layers: Overlay | None = None) -> None:
        self.root = root
        self._layers = layers
        self.objects = objects
        self.rules = rules or Rules()
        self.cached = Folder()
        self._new: dict[bytes, bytes] = {}
        self._size = self._files = self._read = 0
        self._mapped: Collection[int] = ()
        self._skipped: list[str] = []
        self._written = 0

    def assume(self, tree: bytes) -> None:
        """Take the folder for what a stored tree says."""
        self.cached = self._known(tree)

    def _known(self, tree: bytes) -> Folder:
        folder = Folder()
        folder.id = tree
        for entry in self.objects.entries(tree):
            name = os.fsdecode(entry.name)
            folder.entries[name] = entry
            if entry.kind == "d":
                folder.folders[name] = self._known(entry.ref)
        return folder

    def save(self, mapped: Collection[int] = (), *, written: bool = False, own: bool = False) -> Snapshot:
        """Store the tree of the folder as it is now. `mapped`: the files, by inode, that a living process has mapped
        for writing: what it writes there leaves no trace in their times. `written`: what is known of the folder was
        written to it a moment ago, and nobody else could write. `own`: of layers only what lies in the upper one is
        looked at; what has changed below it since is not the run's."""
        self._new, self._size, self._files, self._read = {}, 0, 0, 0
        layered = own and self._layers is not None and bool(self.cached.id)
        self._skipped = self._skipped if layered else []  # what lies below is skipped as before
        self._mapped, self._written = mapped, time.time_ns() if written else 0
        try:
            fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self.cached = self._scan(fd, self.cached, "", 0, layered) or Folder()
            finally:
                os.close(fd)
            self.objects.put(self._new)
        except (OSError, RecursionError) as error:
            self.cached = Folder()
            raise TreeError(f"the tree of {self.root} could not be stored: {error}") from error
        except TreeError:
            self.cached = Folder()  # something may be known of it that was never stored
            raise
        finally:
            self._new = {}
        return Snapshot(self.cached.id, tuple(dict.fromkeys(self._skipped)), self._files, self._read)

    def _scan(self, fd: int, cached: Folder | None, where: str, depth: int, layered: bool) -> Folder | None:
        """Look at one folder; None when the rules say that it is skipped."""
        with os.scandir(fd) as items:
            listing = list(items)
        if depth and cached is None:  # what has been kept so far goes on being kept
            for item in listing:
                if item.name in self.rules.marks:
                    self._skip(where, _WHY.get(item.name, item.name))
                    return None
        if depth > _MAX_DEPTH:
            raise TreeError(f"the folder {where[:200]} lies more than {_MAX_DEPTH} folders deep")
        now = Folder()
        before, signatures, unsure = (cached.entries, cached.signatures, cached.unsure) if cached else ({}, {}, ())
        same = cached is not None and bool(cached.id)
        now.own = own = self._layers.written(where) if self._layers is not None else None
        layered = layered and own is not None
        if cached is not None and own is not None and layered:
            _carry(cached, now, {item.name for item in listing})
            listing = [item for item in listing if item.name in own]
        for item in listing:
            name = item.name
            stats = item.stat(follow_symlinks=False)
            mode = stats.st_mode
            old = before.get(name)
            if stat.S_ISREG(mode):
                self._files += 1
                seen = (stats.st_ino, stats.st_size, stats.st_mtime_ns, stats.st_ctime_ns, mode)
                if (
                    old is not None
                    and signatures.get(name) == seen
                    and name not in unsure
                    and not self._is_mapped(stats.st_ino, where + name)
                ):
                    entry = old
                    now.signatures[name] = seen
                    if self._written and may_change_unseen(seen, self._written):
                        now.unsure.add(name)
                else:
                    entry = self._file(fd, name, seen, now, where)
            elif stat.S_ISDIR(mode):
                entry = self._folder(fd, name, mode, cached, now, where, depth, layered)
            elif stat.S_ISLNK(mode):
                entry = Entry(os.fsencode(name), "l", 0, os.fsencode(os.readlink(name, dir_fd=fd)))
            else:
                entry = None
                self._skip(where + name, "not a file")
            same = same and (entry is old or entry == old)
            if entry is not None:
                now.entries[name] = entry
        if self._files > self.rules.max_files:
            raise TreeError(f"the folder {self.root} has more than {self.rules.max_files} files")
        if cached is not None and same and len(now.entries) == len(before):
            now.id = cached.id
        else:
            now.id, data = encoded(now.entries.values())
            self._keep(now.id, data)
        return now

    def _is_mapped(self, inode: int, path: str) -> bool:
        if not self._mapped:
            return False
        return inode in self._mapped or (self._layers is not None and self._layers.is_mapped(path, self._mapped))

    def _folder(
        self, fd: int, name: str, mode: int, cached: Folder | None, now: Folder, where: str, depth: int, layered: bool
    ) -> Entry | None:
        path = f"{where}{name}/"
        before = cached.folders.get(name) if cached is not None else None
        if name in self.rules.names and before is None:
            if why := _WHY.get(name):  # compiled files appear everywhere: not worth a word
                self._skip(path, why)
            return None
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        except PermissionError:
            self._skip(path, "not readable")
            return None
        except (FileNotFoundError, NotADirectoryError):  # it is gone by now
            return None
        try:
            folder = self._scan(inner, before, path, depth + 1, layered)
        finally:
            os.close(inner)
        if folder is None:
            return None
        now.folders[name] = folder
        return Entry(os.fsencode(name), "d", stat.S_IMODE(mode), folder.id)

    def _file(self, fd: int, name: str, seen: Signature, now: Folder, where: str) -> Entry | None:
        """Read a file that could have changed."""
        if seen[1] > self.rules.max_file:
            self._skip(where + name, f"{seen[1] / 1e6:.0f} MB")
            return None
        if name in self.rules.secret:
            self._skip(where + name, "not to be stored")
            return None
        at = time.time_ns()
        try:
            content, seen = _read(fd, name, seen, self.rules.max_file)
        except PermissionError:
            self._skip(where + name, "not readable")
            return None
        except FileNotFoundError:
            return None
        self._read += len(content)
        if self._read > self.rules.max_bytes:
            raise TreeError(f"the folder {self.root} has more than {self.rules.max_bytes / 1e6:.0f} MB that are new")
        digest = sha256(content).digest()
        now.signatures[name] = seen
        if may_change_unseen(seen, at) or self._is_mapped(seen[0], where + name):
            now.unsure.add(name)
        self._keep(digest, content)
        return Entry(os.fsencode(name), "f", stat.S_IMODE(seen[4]), digest)

    def _keep(self, digest: bytes, content: bytes) -> None:
        self._new[digest] = content
        self._size += len(content)
        if self._size > _FLUSH:
            self.objects.put(self._new)
            self._new, self._size = {}, 0

    def _skip(self, path: str, why: str) -> None:
        self._skipped.append(f"{path} ({why})")


def _carry(before: Folder, now: Folder, there: Collection[str]) -> None:
    """Go on with what is known of a folder but for its upper layer, also where it was changed or removed below."""
    own, was_own = now.own or (), before.own
    for name, entry in before.entries.items():
        if name in own or (name not in there and (was_own is None or name in was_own)):
            continue  # written, or removed by whoever had written it
        now.entries[name] = entry
        if name in before.folders:
            now.folders[name] = before.folders[name]
        elif name in before.signatures:
            now.signatures[name] = before.signatures[name]
        if name in before.unsure:
            now.unsure.add(name)


def _read(fd: int, name: str, seen: Signature, most: int) -> tuple[bytes, Signature]:
    """The content of a file, and what it looked like when that was read: not while it is being written, if that ends
    soon."""
    content = b""
    for _ in range(3):
        file = os.open(name, _READ, dir_fd=fd)
        try:
            content = os.read(file, seen[1] + 1)
            while len(content) <= most and len(content) >= _PIECE and (more := os.read(file, _PIECE)):
                content += more
            after = signature(os.fstat(file))
        finally:
            os.close(file)
        if after == seen and len(content) == seen[1]:
            break
        seen = after
    return content, seen
