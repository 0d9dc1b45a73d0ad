"""python -m training.pieces split FILE FOLDER [--megabytes 24]
python -m training.pieces join FOLDER OUT

A file in pieces, for a way on which only little travels at once. FOLDER/list.json names the pieces with their hashes:
`join` tells which are missing or damaged, and writes the file only when it is the one that was split.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

LIST = "list.json"


def split(path: Path, folder: Path, size: int) -> list[Path]:
    """The pieces, in order. They are numbered, so that one glance shows what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while content := file.read(size):
            whole.update(content)
            piece = folder / f"{len(made):03d}.piece"
            piece.write_bytes(content)
            made.append(piece)
    entries = [{"name": piece.name, "sha256": _hash(piece)} for piece in made]
    listed = {"file": path.name, "bytes": path.stat().st_size, "sha256": whole.hexdigest(), "pieces": entries}
    (folder / LIST).write_text(json.dumps(listed, indent=1))
    return made


def missing(folder: Path) -> list[str]:
    """Names of pieces that are not there or not whole."""
    return [
        entry["name"]
        for entry in _listed(folder)["pieces"]
        if not (folder / entry["name"]).is_file() or _hash(folder / entry["name"]) != entry["sha256"]
    ]


def join(folder: Path, out: Path) -> bool:
    """Whether the file is there now. One that is there and whole is not written again."""
    listed = _listed(folder)
    if out.is_file() and out.stat().st_size == listed["bytes"] and _hash(out) == listed["sha256"]:
        return True
    if missing(folder):
        return False
    part = out.with_name(f"{out.name}.part")
    out.parent.mkdir(parents=True, exist_ok=True)
    with part.open("wb") as file:
        for entry in listed["pieces"]:
            file.write((folder / entry["name"]).read_bytes())
    if _hash(part) != listed["sha256"]:
        part.unlink()
        raise ValueError(f"the pieces in {folder} do not make {listed['file']}: split it again")
    part.replace(out)
    return True


def _listed(folder: Path) -> dict[str, Any]:
    return json.loads((folder / LIST).read_text())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("split", "join"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--megabytes", type=int, default=24)
    options = parser.parse_args()
    if options.what == "split":
        print(len(split(options.source, options.target, options.megabytes * 1_000_000)), "pieces")
    elif join(options.source, options.target):
        print(f"{options.target} is whole")
    else:
        print("still missing:", " ".join(missing(options.source)))


if __name__ == "__main__":
    main()
