"""The fix for the user's own file: where the text of a change stands in exactly one place, a patch to apply."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from treadle._evals.why.lab.changes import Change
from treadle._flows.agent import Agent

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


def patch_for(change: Change, files: Sequence[Path]) -> str:
    """A unified diff; empty when the text is in no file, or in more than one place."""
    if change.kind not in ("prompt", "description", "setting") or not files:
        return ""
    patches: list[str] = []
    for path in dict.fromkeys(files):
        text = _read(path)
        new = _setting(text, change) if change.kind == "setting" else _edit(text, change)
        if new is not None and new != text:
            one, other = text.splitlines(keepends=True), new.splitlines(keepends=True)
            patches.append("".join(unified_diff(one, other, f"a/{path.name}", f"b/{path.name}")))
    return patches[0] if len(patches) == 1 else ""


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
