"""Files that a message names as `@path`, and completion of paths."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from treadle._cli.setup.attachments import part_of_file
from treadle._types.messages import Part

_MENTION = re.compile(r'(?<![\w@/.])@(?!@)(?:"([^"\n]+)"|([^\s"]+))')
_OF_A_SERVER = re.compile(r"[\w.-]{2,}:")
"""A resource of an MCP server (`@server:uri`), which the run reads itself."""
_AFTER = ".,;:!?)]}'\""
"""What may follow the name of a file in a sentence."""
_MOST = 200


class Mentions(Struct, frozen=True):
    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    """Names that look like files but do not exist here: they stay text."""


def mentions_in(text: str, *, as_files: bool = False) -> Mentions:
    """Read the files that a message names, each once. The names stay in the message."""
    parts: dict[str, Part] = {}
    missing: list[str] = []
    for match in _MENTION.finditer(text):
        name, quoted = match[1] or match[2], bool(match[1])
        path = _existing(name, quoted)
        if path is None:
            if quoted or (re.search(r"[/\\]|\.\w", name) and not _OF_A_SERVER.match(name)):
                missing.append(name)
        elif path not in parts:
            parts[path] = part_of_file(path, as_files=as_files)
    return Mentions(tuple(parts.values()), tuple(missing))


def _existing(name: str, quoted: bool) -> str | None:
    while name:
        if Path(name).expanduser().is_file():
            return name
        if quoted or name[-1] not in _AFTER:
            return None
        name = name[:-1]
    return None


def paths(begun: str) -> list[str]:
    """List the files and folders whose path begins so; names with spaces need quotes and are left out."""
    folder, _, start = begun.rpartition("/")
    root = Path(folder or ("/" if begun.startswith("/") else ".")).expanduser()
    before = f"{folder}/" if "/" in begun else ""
    names: list[str] = []
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not start.startswith(".")
                if entry.name.startswith(start) and not hidden and " " not in entry.name:
                    names.append(f"{before}{entry.name}{'/' if entry.is_dir() else ''}")
                if len(names) == _MOST:
                    break
    except OSError:
        return []
    return sorted(names)
