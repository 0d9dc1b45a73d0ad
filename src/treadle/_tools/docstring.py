"""Reads what a docstring says: the first paragraph, and a text per parameter (Google, NumPy and reST styles)."""

from __future__ import annotations

import inspect
import re

_HEADING = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|other parameters)\s*:?\s*$", re.I
)
_OTHER_HEADING = re.compile(r"^[A-Z][A-Za-z ]{2,24}:\s*$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_REST_FIELD = re.compile(r"^:(\w+)(?:\s+([^:]*))?:\s*(.*)$")


def parse_docstring(doc: str | None) -> tuple[str, dict[str, str]]:
    """The description and the text of each parameter.

    >>> parse_docstring("Adds up.\\n\\nArgs:\\n    a: the first number")
    ('Adds up.', {'a': 'the first number'})
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    return _description(lines), {**_rest(lines), **_sections(lines)}


def _description(lines: list[str]) -> str:
    taken: list[str] = []
    for index, line in enumerate(lines):
        if not line.strip() or _REST_FIELD.match(line) or _starts_section(lines, index):
            break
        taken.append(line.strip())
    return " ".join(taken)


def _starts_section(lines: list[str], index: int) -> bool:
    underlined = index + 1 < len(lines) and _UNDERLINE.match(lines[index + 1]) is not None
    return underlined or (lines[index].rstrip().endswith(":") and _HEADING.match(lines[index]) is not None)


def _sections(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, line in enumerate(lines):
        if not _HEADING.match(line) or not _starts_section(lines, index):
            continue
        numpy = not line.rstrip().endswith(":")
        body = lines[index + 2 :] if numpy else lines[index + 1 :]
        found.update(_items(_until_next_section(body, numpy=numpy), _NUMPY_ITEM if numpy else _GOOGLE_ITEM))
    return found


def _until_next_section(lines: list[str], *, numpy: bool) -> list[str]:
    taken: list[str] = []
    for index, line in enumerate(lines):
        if numpy and _starts_section(lines, index):
            break
        if not numpy and line.strip() and not line[0].isspace():
            break
        if not numpy and _OTHER_HEADING.match(line):
            break
        taken.append(line)
    return taken


def _items(lines: list[str], item: re.Pattern[str]) -> dict[str, str]:
    """Entries begin at the indent of the first line; what is indented deeper goes on with the entry before."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    indent = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    for line in lines:
        depth = len(line) - len(line.lstrip())
        match = item.match(line.strip()) if line.strip() and depth <= indent else None
        if match:
            names = [name.strip() for name in match[1].split(",")]
            first = match[2] if item is _GOOGLE_ITEM else ""
            found.update({name: [first] for name in names})
        elif line.strip():
            for name in names:
                found[name].append(line.strip())
    return {name: " ".join(filter(None, texts)) for name, texts in found.items()}


def _rest(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        field = _REST_FIELD.match(line.strip())
        if field:
            words = (field[2] or "").split()
            is_param = field[1] in ("param", "parameter", "arg", "argument", "key", "keyword") and words
            name = words[-1].lstrip("*\\") if is_param else ""
            if name:
                found[name] = field[3].strip()
        elif not line.strip():
            name = ""
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
