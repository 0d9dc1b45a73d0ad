"""The files that a run has made: each is put where a person finds it, and its path is printed with a small preview."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from treadle._cli.display.ansi import colours
from treadle._cli.display.pixels import preview
from treadle._cli.display.text import clean
from treadle._engine.result import RunResult
from treadle._engine.surfaces.previews import contents, described, rows_of
from treadle._types.paths import state_folder

_MOST = 20
"""Files of one run that are shown."""


def show_files(result: RunResult[Any]) -> None:
    """Write the files of a run below the user's state folder, and say on standard error where each is."""
    if not result.artifacts:
        return
    folder = state_folder() / "files" / _name(result.run_id)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    taken: set[str] = set()
    for artifact in result.artifacts[:_MOST]:
        name = _name(artifact.name)
        stem, number = name, 1
        while name in taken:
            number += 1
            name = f"{Path(stem).stem}-{number}{Path(stem).suffix}"
        taken.add(name)
        path = folder / name
        path.write_bytes(contents(artifact))
        print(f"file: {path} ({clean(described(artifact))})", file=sys.stderr)
        if artifact.mime == "image/png" and colours(sys.stderr):
            print("\n".join(preview(contents(artifact))), file=sys.stderr)
        rows = rows_of(artifact)
        widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows), default=0))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
            print(clean("  " + "  ".join(cells).rstrip()), file=sys.stderr)


def _name(text: str) -> str:
    """A name for a file made of one that a model chose."""
    return re.sub(r"[^\w.-]+", "_", text.replace("\\", "/").rpartition("/")[2])[:100].lstrip(".") or "file"
