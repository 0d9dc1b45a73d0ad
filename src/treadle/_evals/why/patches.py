"""The fix for the user's own file: where the text of a change stands in exactly one place, a patch to apply."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from treadle._evals.why.findings import Cause
from treadle._evals.why.lab.changes import Change
from treadle._flows.agent import Agent
from treadle._types.errors import ConfigError

_LARGEST = 1_000_000
"""Bytes. A prompt or a tool does not stand in a larger file."""


def source_files(agent: Agent[Any, Any]) -> list[Path]:
    """The files in which the agent's tools are written."""
    found: dict[Path, None] = {}
    for tool in agent.toolkit:
        try:
            name = inspect.getsourcefile(inspect.unwrap(tool.execute))
        except TypeError:
            continue
        if name and "treadle" not in Path(name).parts:
            found[Path(name)] = None
    return list(found)


def patch_for(change: Change, files: Sequence[Path]) -> tuple[str, str]:
    """A unified diff and the file it is for; both empty when the text is in no file, or in more than one place."""
    found = [
        (path, text, new)
        for path in dict.fromkeys(files)
        if (text := _read(path)) and (new := _new(text, change)) is not None
    ]
    if len(found) != 1:
        return "", ""
    path, text, new = found[0]
    one, other = text.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(unified_diff(one, other, f"a/{path.name}", f"b/{path.name}")), str(path)


def apply_patch(cause: Cause) -> Path:
    """Make the change in the user's file. Refused when the file is not as it was when the patch was made."""
    path = Path(cause.file)
    new = _new(_read(path), cause.change)
    if new is None or patch_for(cause.change, [path])[0] != cause.patch:
        raise ConfigError(f"{path} has changed since the patch was made: nothing was written; search again")
    path.write_text(new, "utf-8")
    return path


def _new(text: str, change: Change) -> str | None:
    """The file with the change; None where it cannot be made there in exactly one place."""
    if change.kind not in ("prompt", "description", "setting") or (change.kind == "prompt" and change.name):
        return None
    new = _setting(text, change) if change.kind == "setting" else _edit(text, change)
    return None if new == text else new


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _edit(text: str, change: Change) -> str | None:
    """The whole lines go where the lines are only that text; indented in the file, they need not be in the prompt."""
    if not change.before:
        return None
    wanted = [line.strip() for line in change.before.splitlines()]
    pattern = r"\n[ \t]*".join(re.escape(line) for line in wanted)
    matches = list(re.finditer(pattern, text))
    if len(matches) != 1:
        return None
    if change.after:
        return text[: matches[0].start()] + change.after + text[matches[0].end() :]
    whole = re.search(rf"^[ \t]*{pattern}[ \t]*(?:\n|\Z)", text, re.MULTILINE)
    found = whole or re.search(rf" ?{pattern}", text)
    return text if found is None else text[: found.start()] + text[found.end() :]


def _setting(text: str, change: Change) -> str | None:
    pattern = rf"(\b{re.escape(change.name)}\s*[=:]\s*)([^\s,)#]+)"
    if len(re.findall(pattern, text)) != 1:
        return None
    return re.sub(pattern, lambda match: f"{match[1]}{change.value!r}", text)
