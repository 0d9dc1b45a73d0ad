"""Parses docstrings: the description, and a text for each parameter (Google, NumPy and reST styles)."""

from __future__ import annotations

import inspect
import re

_HEADING = r"(?i)^(args|arguments|parameters|params|keyword args|keyword arguments|other parameters)\s*:?\s*$"
_OTHER_HEADING = r"^[A-Z][A-Za-z ]{2,24}:\s*$"
_UNDERLINE = r"^-{3,}\s*$"
_GOOGLE_ITEM = r"^\*{0,2}(\w+)\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*:\s*(.*)$"
_NUMPY_ITEM = r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$"
_REST_FIELD = r"^:(\w+)(?:\s+([^:]*))?:\s*(.*)$"


def parse_docstring(doc: str | None) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the text of each parameter.

    >>> parse_docstring("Adds up.\\n\\nArgs:\\n    a: the first number")
    ('Adds up.', {'a': 'the first number'})
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    return _description(lines), {**_rest(lines), **_sections(lines)}


def _description(lines: list[str]) -> str:
    paragraph: list[str] = []
    for index, line in enumerate(lines):
        if not line.strip() or re.match(_REST_FIELD, line) or _starts_section(lines, index):
            break
        paragraph.append(line.strip())
    return " ".join(paragraph)


def _starts_section(lines: list[str], index: int) -> bool:
    underlined = index + 1 < len(lines) and re.match(_UNDERLINE, lines[index + 1]) is not None
    return underlined or (lines[index].rstrip().endswith(":") and re.match(_HEADING, lines[index]) is not None)


def _sections(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for index, line in enumerate(lines):
        if not re.match(_HEADING, line) or not _starts_section(lines, index):
            continue
        numpy = not line.rstrip().endswith(":")
        body = lines[index + 2 :] if numpy else lines[index + 1 :]
        texts.update(_items(_until_next_section(body, numpy=numpy), numpy=numpy))
    return texts


def _until_next_section(lines: list[str], *, numpy: bool) -> list[str]:
    section: list[str] = []
    for index, line in enumerate(lines):
        if numpy and _starts_section(lines, index):
            break
        if not numpy and line.strip() and not line[0].isspace():
            break
        if not numpy and re.match(_OTHER_HEADING, line):
            break
        section.append(line)
    return section


def _items(lines: list[str], *, numpy: bool) -> dict[str, str]:
    """Entries start at the indent of the first line; deeper lines continue the entry above."""
    lines_of: dict[str, list[str]] = {}
    names: list[str] = []
    indent = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    for line in lines:
        depth = len(line) - len(line.lstrip())
        entry = line.strip() if depth <= indent else ""
        if match := re.match(_NUMPY_ITEM, entry) if numpy else re.match(_GOOGLE_ITEM, entry):
            names = [name.strip() for name in match[1].split(",")]
            first = "" if numpy else match[2]
            lines_of.update({name: [first] for name in names})
        elif line.strip():
            for name in names:
                lines_of[name].append(line.strip())
    return {name: " ".join(filter(None, texts)) for name, texts in lines_of.items()}


def _rest(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    name = ""
    for line in lines:
        field = re.match(_REST_FIELD, line.strip())
        if field:
            type_and_name = (field[2] or "").split()
            is_param = field[1] in ("param", "parameter", "arg", "argument", "key", "keyword") and type_and_name
            name = type_and_name[-1].lstrip("*\\") if is_param else ""
            if name:
                texts[name] = field[3].strip()
        elif not line.strip():
            name = ""
        elif name:
            texts[name] = f"{texts[name]} {line.strip()}".strip()
    return texts
