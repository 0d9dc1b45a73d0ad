"""Names of artifacts. A tool, an MCP server or a model chooses them, and programs write files under them."""

from __future__ import annotations

import re

MAX_PART = 120
"""Bytes in UTF-8 of one part of a name: every file system takes that, also with a suffix for a draft."""
MAX_NAME = 400
NAMELESS = "unnamed"

_HARMLESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,60}\.[A-Za-z0-9]{1,10}")
_FORBIDDEN = re.compile(r'[<>:"|?*]')
_DRIVE = re.compile(r"^[\s/]*[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])(\.|\s*$)", re.IGNORECASE)


def safe_artifact_name(name: str) -> str:
    """The name as a relative path that stays below the folder it is written to, on every system.

    Folders in it stay (`charts/a.svg`). What leads elsewhere is dropped: `..`, a root, a drive, a home, hidden files,
    names of devices, characters that cannot be seen. A name that is safe already is returned as it is.
    """
    if _HARMLESS.fullmatch(name) and not _DEVICE.match(name):
        return name
    visible = "".join(
        " " if character.isspace() else character
        for character in name
        if character.isprintable() or character.isspace()
    )
    path = _DRIVE.sub("", visible.replace("\\", "/"), count=1)
    parts = [part for part in map(_safe_part, path.split("/")) if part]
    while len(parts) > 1 and sum(map(len, parts)) + len(parts) > MAX_NAME:
        parts.pop(0)
    return "/".join(parts) or NAMELESS


def _safe_part(part: str) -> str:
    part = " ".join(_FORBIDDEN.sub("_", part).split()).lstrip(" .~-").rstrip(" .")
    if _DEVICE.match(part):
        part = f"_{part}"
    if len(part.encode()) > MAX_PART:
        stem, dot, suffix = part.rpartition(".")
        if not stem or len(suffix.encode()) > 20:
            stem, dot, suffix = part, "", ""
        kept = stem.encode()[: MAX_PART - len((dot + suffix).encode())].decode(errors="ignore")
        part = (kept + dot + suffix).rstrip(" .")
    return part
