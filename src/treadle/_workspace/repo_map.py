"""A map of a folder for the prompt: its files with what they define, within a bound, and how its tests are run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treadle._tools.builtin.workfolder import Parts, WorkFolder
from treadle._types.errors import ToolError
from treadle._workspace.tools.search import SKIPPED

MAP_CHARS = 6_000
_MOST_FILES = 3_000
_MOST_READ = 200
_FILE_BYTES = 200_000
_DEFINES = re.compile(
    r"^(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:async\s+)?"
    r"(?:def|class|function|func|fn|struct|enum|trait|interface|type|module)\s+(\w+)",
    re.MULTILINE,
)
_CODE = (".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".rb", ".java", ".kt", ".php", ".swift", ".scala")
_NAMES = 12
"""Definitions that are named of one file."""
_SIGNS = (
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("tox.ini", "", "tox"),
    ("package.json", '"test"', "npm test"),
    ("Makefile", "\ntest:", "make test"),
    ("pom.xml", "", "mvn test"),
    ("build.gradle", "", "gradle test"),
    ("pyproject.toml", "pytest", "python -m pytest"),
    ("setup.cfg", "pytest", "python -m pytest"),
    ("pytest.ini", "", "python -m pytest"),
)


def command_for_tests(folder: WorkFolder) -> str:
    """Return the command that seems to run the tests of a folder; empty where there is no sign of one."""
    for name, sign, command in _SIGNS:
        try:
            text = "\n" + folder.read((name,), _FILE_BYTES).decode("utf-8", "replace")
        except ToolError:
            continue
        if sign in text:
            return command
    if any(entry.name in ("tests", "test") and entry.kind == "folder" for entry in folder.entries(())):
        return "python -m pytest" if any(re.fullmatch(r"test_\w+\.py", name) for _, name in _files(folder)) else ""
    return ""


def _files(folder: WorkFolder) -> Iterator[tuple[Parts, str]]:
    for number, (parts, entry) in enumerate(folder.walk((), lambda name: name in SKIPPED or name.startswith("."))):
        if number >= _MOST_FILES:
            return
        yield parts, entry.name


def repository_map(folder: WorkFolder, most: int = MAP_CHARS) -> str:
    """Return the files of a folder, code with the names it defines; what does not fit is counted by folder."""
    lines: list[str] = []
    left_out: dict[str, int] = {}
    size = read = 0
    for parts, name in sorted(_files(folder), key=lambda one: (len(one[0]), one[0])):
        path = "/".join(parts).encode("utf-8", "backslashreplace").decode()
        line = path
        if name.endswith(_CODE) and read < _MOST_READ:
            read += 1
            line = f"{path}: {_defined(folder, parts)}".removesuffix(": ")
        if size + len(line) > most:
            line = path
        if size + len(line) > most:
            left_out[parts[0] if len(parts) > 1 else "."] = left_out.get(parts[0] if len(parts) > 1 else ".", 0) + 1
            continue
        lines.append(line)
        size += len(line) + 1
    lines += [f"[{count} more files in {top}]" for top, count in sorted(left_out.items())[:20]]
    return "\n".join(lines)


def _defined(folder: WorkFolder, parts: Parts) -> str:
    try:
        text = folder.read(parts, _FILE_BYTES).decode("utf-8", "replace")
    except ToolError:
        return ""
    names = list(dict.fromkeys(_DEFINES.findall(text)))
    return ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
