"""Where the trees and the folders of runs lie: beside their journal.

For a journal in memory that is a temporary folder, for Postgres a folder of this machine: the files of a run can be
restored only where it was made.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import weakref
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from treadle._journal.base import Journal
from treadle._types.errors import RunNotFoundError
from treadle._types.paths import state_folder
from treadle._workspace.objects import Objects
from treadle._workspace.overlay import layers_of

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def place_of(journal: Journal | None) -> Path | None:
    """The folder with the trees of a journal's runs; None for a journal in memory."""
    path, dsn = getattr(journal, "path", None), getattr(journal, "_dsn", None)
    if isinstance(path, Path):
        return Path(f"{path.absolute()}.trees")
    if isinstance(dsn, str):
        return state_folder() / "trees" / sha256(dsn.encode()).hexdigest()[:16]
    return None


_temporary: weakref.WeakKeyDictionary[Any, Path] = weakref.WeakKeyDictionary()


def objects_of(journal: Journal | None, owner: object) -> Objects:
    """The store beside a journal. In memory it lives as long as the journal does, or as `owner` where there is none."""
    if (place := place_of(journal)) is None:
        key = owner if journal is None else journal
        if key not in _temporary:
            folder = mkdtemp(prefix="treadle-workspaces-")
            _temporary[key] = Path(folder)
            weakref.finalize(key, shutil.rmtree, folder, ignore_errors=True)
        place = _temporary[key]
    return Objects(place)


def stored(journal: Journal) -> Objects | None:
    """The store beside a journal; None when no run of it has had a workspace."""
    place = place_of(journal) or _temporary.get(journal)
    return Objects(place) if place is not None and (place / "trees.db").is_file() else None


def folder_of(objects: Objects, run_id: str) -> Path:
    """The own folder of a run."""
    name = run_id if _PLAIN.fullmatch(run_id) else sha256(run_id.encode()).hexdigest()
    return objects.folder / "runs" / name


def share(journal: Journal, origin: str, fork: str, last: str) -> None:
    """Keep the trees of a run as long as its fork is there. What follows the fork begins with the `last` one, also if
    the fork itself was never driven."""
    if (objects := stored(journal)) is not None:
        objects.share(origin, fork)
        if last:
            objects.note(fork, bytes.fromhex(last), "forked")
        objects.close()


async def collect(journal: Journal) -> int:
    """Delete the trees and the folders of runs that are no longer in the journal; returns how many objects went."""
    if (objects := stored(journal)) is None:
        return 0
    gone = [run for run in objects.runs() if not await _is_there(journal, run)]
    # A run that is being driven may have stored objects of a tree that is not noted yet: they are left for next time.
    driven = await journal.list(status="running", limit=1)
    deleted = await asyncio.to_thread(objects.forget, gone, delete=not driven)
    for run in gone:
        remove(folder_of(objects, run))
        remove(layers_of(folder_of(objects, run)))
    objects.close()
    return deleted


async def _is_there(journal: Journal, run: str) -> bool:
    try:
        await journal.info(run)
    except RunNotFoundError:
        return False
    return True


def remove(folder: Path) -> None:
    """Remove a folder and what is in it, whatever its permissions say."""
    for path in _folders(folder):
        path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _folders(folder: Path) -> Collection[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return ()
    folder.chmod(0o700)
    return [
        inner
        for path in folder.iterdir()
        for inner in (path, *_folders(path))
        if not inner.is_symlink() and inner.is_dir()
    ]
