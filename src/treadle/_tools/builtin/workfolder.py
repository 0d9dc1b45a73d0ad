"""A folder that file tools cannot leave: no `..`, no absolute paths, no links, no devices.

Where the system can open files relative to an open folder, every step of a path is opened without following links, so
nothing can be replaced in between. Elsewhere (Windows) each step is checked, and checked again on the opened file.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from treadle._types.errors import ToolError

_DEVICE_NAME = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.I)
_NO_FOLLOW = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
HAS_FOLDER_HANDLES = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")

Parts = tuple[str, ...]


class NoSuchFileError(ToolError):
    """There is nothing at the path."""


class Entry(Struct, frozen=True, omit_defaults=True):
    name: str
    kind: str
    """file | folder | link | other"""
    size: int = 0


def split_path(path: str) -> Parts:
    """The parts of a relative path, by rules that hold on every system; () is the folder itself."""
    if len(path) > 1_000 or any(ord(char) < 32 or ord(char) == 127 for char in path):
        raise ToolError("the path is too long or contains control characters")
    path = path.replace("\\", "/")
    if path.startswith("/") or ":" in path:
        raise ToolError(f"refused: {path!r} is not relative to the work folder; write it like notes/today.txt")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for part in parts:
        if part == "..":
            raise ToolError("refused: '..' would leave the work folder")
        if (
            part != part.rstrip(" .")
            or _DEVICE_NAME.fullmatch(part.partition(".")[0].rstrip())
            or len(part.encode("utf-8", "replace")) > 250
        ):
            raise ToolError(f"refused: {part[:60]!r} is not a file name that every system accepts")
    return parts


class WorkFolder:
    """Reads and writes below one folder. Paths are `Parts`; every failure is a `ToolError`."""

    def __init__(self, root: str | os.PathLike[str], *, handles: bool = HAS_FOLDER_HANDLES) -> None:
        Path(root).mkdir(parents=True, exist_ok=True)
        self._handles = handles
        # A path through /proc leads somewhere else once it is resolved; with handles it need not be.
        self.root = os.path.abspath(root) if handles else os.path.realpath(root)

    def entries(self, parts: Parts) -> list[Entry]:
        """The entries of a folder, sorted by name."""
        with _explain_errors(parts), self._folder(parts) as folder, os.scandir(folder.target) as items:
            return sorted((_entry(item) for item in items), key=lambda entry: entry.name)

    def walk(self, parts: Parts, skip: Callable[[str], bool]) -> Iterator[tuple[Parts, Entry]]:
        """Every file below a folder, depth first; folders that `skip` names are left out."""
        pending = [parts]
        while pending:
            here = pending.pop()
            with suppress(ToolError):  # a folder that was removed or may not be read
                entries = self.entries(here)
                pending.extend(
                    (*here, entry.name)
                    for entry in reversed(entries)
                    if entry.kind == "folder" and not skip(entry.name)
                )
                yield from (((*here, entry.name), entry) for entry in entries if entry.kind == "file")

    def read(self, parts: Parts, limit: int) -> bytes:
        """A file's bytes; one larger than `limit` is refused."""
        with (
            _explain_errors(parts),
            self._folder_of(parts) as folder,
            os.fdopen(folder.open(parts[-1], os.O_RDONLY), "rb") as file,
        ):
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ToolError(f"{'/'.join(parts)} is larger than {limit} bytes")
        return data

    def write(self, parts: Parts, data: bytes) -> bool:
        """Replace or create a file in one step, with the folders it needs; True when it is new."""
        with _explain_errors(parts), self._folder_of(parts, create=True) as folder:
            before = folder.regular(parts[-1])
            draft = f".{secrets.token_hex(8)}.tmp"
            try:
                with os.fdopen(folder.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                    file.write(data)
                    if before is not None and hasattr(os, "fchmod"):
                        os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
                folder.replace(draft, parts[-1])
            except BaseException:
                with suppress(OSError):
                    folder.remove(draft)
                raise
        return before is None

    def remove(self, parts: Parts) -> None:
        """Remove a file."""
        with _explain_errors(parts), self._folder_of(parts) as folder:
            if folder.regular(parts[-1]) is None:
                raise FileNotFoundError
            folder.remove(parts[-1])

    def _folder_of(self, parts: Parts, *, create: bool = False) -> AbstractContextManager[_Handle | _Checked]:
        if not parts:
            raise ToolError("the path is empty: give the path of a file")
        return self._folder(parts[:-1], create=create)

    @contextmanager
    def _folder(self, parts: Parts, *, create: bool = False) -> Generator[_Handle | _Checked]:
        if not self._handles:
            folder = _Checked(self.root, self.root)
            for part in parts:
                folder = folder.enter(part, create)
            yield folder
            return
        handle = _Handle(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY))
        try:
            for part in parts:
                inner = handle.enter(part, create)
                os.close(handle.target)
                handle = inner
            yield handle
        finally:
            os.close(handle.target)


class _Handle:
    """An open folder: names are looked up in it even if its path has changed since."""

    def __init__(self, target: int) -> None:
        self.target = target

    def enter(self, name: str, create: bool) -> _Handle:
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.target)
        return _Handle(os.open(name, _OPEN_FOLDER, dir_fd=self.target))

    def open(self, name: str, flags: int) -> int:
        return _only_regular(os.open(name, flags | _NO_FOLLOW, 0o644, dir_fd=self.target))

    def regular(self, name: str) -> os.stat_result | None:
        try:
            return _check_regular(os.stat(name, dir_fd=self.target, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def replace(self, old: str, new: str) -> None:
        os.replace(old, new, src_dir_fd=self.target, dst_dir_fd=self.target)

    def remove(self, name: str) -> None:
        os.remove(name, dir_fd=self.target)


class _Checked:
    """A folder by its path, for systems without folder handles."""

    def __init__(self, target: str, root: str) -> None:
        self.target = target
        self._root = root

    def enter(self, name: str, create: bool) -> _Checked:
        path = os.path.join(self.target, name)
        if create:
            with suppress(FileExistsError):
                os.mkdir(path)
        if not stat.S_ISDIR(self._unlinked(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        return _Checked(path, self._root)

    def open(self, name: str, flags: int) -> int:
        path = os.path.join(self.target, name)
        if not flags & os.O_CREAT:
            self._unlinked(path)
        handle = _only_regular(os.open(path, flags | _NO_FOLLOW, 0o644))
        try:
            if not os.path.samestat(os.fstat(handle), self._unlinked(path)):
                raise OSError(errno.ELOOP, "replaced while it was opened")
        except BaseException:
            os.close(handle)
            raise
        return handle

    def regular(self, name: str) -> os.stat_result | None:
        try:
            return _check_regular(self._unlinked(os.path.join(self.target, name)))
        except FileNotFoundError:
            return None

    def replace(self, old: str, new: str) -> None:
        os.replace(os.path.join(self.target, old), os.path.join(self.target, new))

    def remove(self, name: str) -> None:
        os.remove(os.path.join(self.target, name))

    def _unlinked(self, path: str) -> os.stat_result:
        """The status of a path that is not a link and lies inside the root."""
        status = os.lstat(path)
        reparse = getattr(status, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
        if stat.S_ISLNK(status.st_mode) or reparse:
            raise OSError(errno.ELOOP, "a link")
        real = os.path.normcase(os.path.realpath(path))
        if os.path.commonpath([real, os.path.normcase(self._root)]) != os.path.normcase(self._root):
            raise OSError(errno.ELOOP, "outside")
        return status


def _entry(item: os.DirEntry[str]) -> Entry:
    state = item.stat(follow_symlinks=False)
    if item.is_symlink() or getattr(state, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0):
        return Entry(item.name, "link")
    if stat.S_ISREG(state.st_mode):
        return Entry(item.name, "file", state.st_size)
    return Entry(item.name, "folder" if stat.S_ISDIR(state.st_mode) else "other")


def _only_regular(handle: int) -> int:
    try:
        _check_regular(os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check_regular(state: os.stat_result) -> os.stat_result:
    if stat.S_ISLNK(state.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder")
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return state


@contextmanager
def _explain_errors(parts: Parts) -> Generator[None]:
    """System errors as `ToolError`s for the model, without the folder's path on this machine."""
    name = "/".join(parts) or "the work folder"
    try:
        yield
    except FileNotFoundError:
        raise NoSuchFileError(f"there is no file or folder {name}") from None
    except IsADirectoryError:
        raise ToolError(f"{name} is a folder, not a file") from None
    except NotADirectoryError:
        raise ToolError(f"{name}: a part of the path is not a folder (links are not followed)") from None
    except PermissionError:
        raise ToolError(f"no permission for {name}") from None
    except OSError as error:
        reason = "links are not followed" if error.errno == errno.ELOOP else error.strerror or "it cannot be opened"
        raise ToolError(f"refused: {name}: {reason}") from None
