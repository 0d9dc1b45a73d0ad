"""The fix for the user's own file: where the text of a change stands in exactly one place, a patch to apply."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

from treadle._agent.agent import Agent
from treadle._inspect.why.changes import Change
from treadle._inspect.why.findings import Cause
from treadle._safety.data import decode_yaml
from treadle._types.errors import ConfigError, TreadleError

_LARGEST = 1_000_000
"""Bytes. A prompt or a tool does not stand in a larger file."""


def source_files(agent: Agent[Any, Any]) -> list[Path]:
    """Return the source files of the agent's tools."""
    files: dict[Path, None] = {}
    for tool in agent.toolkit:
        try:
            name = inspect.getsourcefile(inspect.unwrap(tool.execute))
        except TypeError:
            continue
        if name and "treadle" not in Path(name).parts:
            files[Path(name)] = None
    return list(files)


def patch_for(change: Change, files: Sequence[Path]) -> tuple[str, str]:
    """A unified diff and the file it is for; both empty when the text is in no file, or in more than one place."""
    edits = [
        (path, text, new)
        for path in dict.fromkeys(files)
        if (text := _read(path)) and (new := _new(text, change, path)) is not None
    ]
    if len(edits) != 1:
        return "", ""
    path, text, new = edits[0]
    one, other = text.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(unified_diff(one, other, f"a/{path.name}", f"b/{path.name}")), str(path)


def apply_patch(cause: Cause) -> Path:
    """Make the change in the user's file. Refused when the file is not as it was when the patch was made."""
    path = Path(cause.file)
    new = _new(_read(path), cause.change, path)
    if new is None or patch_for(cause.change, [path])[0] != cause.patch:
        raise ConfigError(f"{path} has changed since the patch was made: nothing was written; search again")
    path.write_bytes(new.encode())
    return path


def _new(text: str, change: Change, path: Path) -> str | None:
    """The file with the change; None where it cannot be made there in exactly one place, or where the file could not be
    read any more after it."""
    if change.kind not in ("prompt", "description", "setting") or (change.kind == "prompt" and change.name):
        return None
    new = _setting(text, change, path.suffix) if change.kind == "setting" else _edit(text, change)
    if new is None or new == text or (_reads(text, path.suffix) and not _reads(new, path.suffix)):
        return None
    return new


def _reads(text: str, suffix: str) -> bool:
    """Return whether the text is valid in the format of its file name."""
    try:
        match suffix:
            case ".py":
                ast.parse(text)
            case ".json":
                json.loads(text)
            case ".yaml" | ".yml":
                decode_yaml(text)
            case _:
                pass
    except (SyntaxError, ValueError, TreadleError):  # also where nothing can read YAML here
        return False
    return True


def _read(path: Path) -> str:
    """Read a file with its line ends unchanged; empty if it is too large or not text."""
    try:
        return path.read_bytes().decode() if path.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _edit(text: str, change: Change) -> str | None:
    """The whole lines go where the lines are only that text; indented in the file, they need not be in the prompt. A
    part of a word is another word, and a value of a list is not made empty."""
    if not change.before.strip():
        return None
    wanted = [line.strip() for line in change.before.strip().splitlines()]
    pattern = r"\r?\n[ \t]*".join(re.escape(line) for line in wanted)
    pattern = r"(?<!\w)" * bool(re.match(r"\w", wanted[0])) + pattern + r"(?!\w)" * bool(re.search(r"\w$", wanted[-1]))
    matches = list(re.finditer(pattern, text))
    if len(matches) != 1:
        return None
    start, end = matches[0].span()
    if change.after:
        return text[:start] + change.after + text[end:]
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    if change.kind == "description" and around in ("''", '""') and text[start - 3 : start] != 3 * around[0]:
        return None
    whole = re.search(rf"^[ \t]*{pattern}[ \t]*(?:\r?\n|\Z)", text, re.MULTILINE)
    match = whole or re.search(rf" ?{pattern}", text)
    return text if match is None else text[: match.start()] + text[match.end() :]


def _setting(text: str, change: Change, suffix: str) -> str | None:
    """In Python an argument of a call (a parameter or a comment of the same name is something else); elsewhere a line
    with one plain value."""
    name = re.escape(change.name)
    if suffix == ".py":
        return _argument(text, change)
    lines = re.findall(rf"^[ \t]*{name}[ \t]*[=:]", text, re.MULTILINE)
    if len(lines) != 1 or (change.value is None and suffix == ".toml"):
        return None
    value = json.dumps(change.value)
    pattern = rf"^([ \t]*{name}[ \t]*[=:][ \t]*)([^\s,#\[\]{{}}|>&*]+)(?=[ \t]*(?:#.*)?\r?$)"
    return re.sub(pattern, lambda match: f"{match[1]}{value}", text, flags=re.MULTILINE)


def _argument(text: str, change: Change) -> str | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    values = [word.value for call in calls for word in call.keywords if word.arg == change.name]
    if len(values) != 1 or values[0].lineno != values[0].end_lineno:
        return None
    lines = text.encode().splitlines(keepends=True)  # columns are counted in bytes
    line = lines[values[0].lineno - 1]
    new = repr(change.value).encode()
    lines[values[0].lineno - 1] = line[: values[0].col_offset] + new + line[values[0].end_col_offset :]
    return b"".join(lines).decode()
