"""Keys of this user, each in a file of its own that nobody else can read: what is sealed with one was written here."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from treadle._journal.base import Journal
from treadle._types.paths import state_folder


def key_in(path: Path) -> bytes:
    """Return the key in a file, which is made if there is none."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(fresh, path)  # the first process to link it wins, also among several that start at once
        except OSError:
            if not path.exists():
                fresh.replace(path)
        fresh.unlink(missing_ok=True)
    return path.read_bytes()


def server_mark(journal: Journal, run_id: str) -> str:
    """Return the seal of a run that a server of this journal starts.

    The key lies beside the journal's file. Servers that share a database share the key by `TREADLE_JOURNAL_KEY`;
    without it, the key is in the user's state folder.
    """
    shared = os.environ.get("TREADLE_JOURNAL_KEY", "")
    file: Path | None = getattr(journal, "path", None)
    place = state_folder() / "journal.key" if file is None else file.with_name(f"{file.name}.key")
    return hmac.digest(shared.encode() or key_in(place), b"run\n" + run_id.encode(), "sha256").hex()


def is_marked(journal: Journal, run_id: str, mark: str) -> bool:
    """Return whether a server of this journal started the run."""
    return bool(mark) and hmac.compare_digest(server_mark(journal, run_id), mark)
