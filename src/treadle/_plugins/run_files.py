"""The files of one run of code: those it is given lie in a folder of its own, what the code writes there comes back."""

from __future__ import annotations

import mimetypes
import shutil
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from weakref import finalize

from treadle._types.errors import ToolError
from treadle._types.events import Artifact

MAX_BYTES = 5_000_000
"""A file that is larger does not come back."""


class RunFiles:
    """Copies: what the code does to them does not change the files that were given."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.path = Path(mkdtemp(prefix="treadle-files-"))
        self.close = finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)
        """Removes the folder; so does the end of a run that is never continued."""
        for given in paths:
            source = Path(given)
            if not source.is_file():
                raise ToolError(f"the file {source.name!r} that was given to this run is not there")
            if (self.path / source.name).exists():
                raise ToolError(f"two files with the name {source.name!r} were given to this run: rename one")
            shutil.copyfile(source, self.path / source.name)
        self._seen: dict[str, bytes] = {}
        self.changed()

    def changed(self) -> tuple[Artifact, ...]:
        """The files that were written since this was last asked."""
        found: list[Artifact] = []
        for file in sorted(self.path.rglob("*")):
            if file.is_symlink() or not file.is_file() or file.stat().st_size > MAX_BYTES:
                continue
            name, content = file.relative_to(self.path).as_posix(), file.read_bytes()
            if self._seen.get(name) != content:
                self._seen[name] = content
                found.append(_artifact(name, content))
        return tuple(found)


def _artifact(name: str, content: bytes) -> Artifact:
    mime = mimetypes.guess_type(name)[0] or "text/plain"
    summary = f"A file of {len(content)} bytes."
    try:
        return Artifact(name, content.decode(), mime, summary=summary)
    except UnicodeDecodeError:
        kind = mime if not mime.startswith("text/") else "application/octet-stream"
        return Artifact(name, b64encode(content).decode(), kind, base64=True, summary=summary)
