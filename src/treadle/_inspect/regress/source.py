"""Finds the tools whose code a change can have touched, by `git diff` and the names that this code uses."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from treadle._tools.base import Tool
from treadle._tools.versions import code_of
from treadle._types.errors import ConfigError


class Diff(Struct, frozen=True):
    """The places that have changed since a revision, in files of all kinds."""

    root: Path
    places: dict[Path, list[tuple[int, int]]]
    """By file the first and last line of each place that has changed."""

    @classmethod
    def since(cls, revision: str, folder: Path) -> Diff:
        """Compare the working tree of the repository that `folder` is in with a revision. Raises `ConfigError`."""
        if revision.startswith("-"):
            raise ConfigError(f"{revision!r} is no revision")
        root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
        text = _git(root, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "-U0", revision, "--")
        changed: dict[Path, list[tuple[int, int]]] = {}
        places: list[tuple[int, int]] = []
        for line in text.splitlines():
            if line.startswith("diff --git "):
                places = changed.setdefault(root / line.rpartition(" b/")[2].rstrip('"'), [])
            elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
                first, count = int(hunk[1]), int(hunk[2] or 1)
                places.append((first, first + count - 1 if count else first + 1))  # what is gone: both neighbours
        return cls(root, changed)

    def touches(self, tool: Tool) -> bool:
        """Return whether the function of a tool, or anything that it uses by name, is among what has changed."""
        code = code_of(tool.execute)
        if code is None or not self.places:
            return False
        path = Path(code.co_filename).resolve()
        others = {path.name for path in self.places if path.suffix != ".py"}
        seen: set[tuple[Path, str]] = set()
        own = (one for one in _statements(path) if one[0] <= code.co_firstlineno <= one[1])
        todo = [(path, name) for _, _, binds, _ in own for name in binds]
        while todo:
            path, name = key = todo.pop()
            if key in seen or not self._follows(path):
                continue
            seen.add(key)
            for first, last, binds, node in _statements(path):
                if name and name not in binds:
                    continue
                changed = any(first <= end and begin <= last for begin, end in self.places.get(path, ()))
                if changed or any(other in text for text in _texts(node) for other in others):
                    return True
                todo += _used(path, node)
        return False

    def _follows(self, path: Path) -> bool:
        return path.is_relative_to(self.root) and not {"site-packages", "dist-packages"} & {*path.parts}


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ConfigError(f"git cannot be run: {error}") from None
    if done.returncode:
        raise ConfigError(f"git: {done.stderr.strip()[:200]}")
    return done.stdout


Statement = tuple[int, int, frozenset[str], ast.stmt]


@lru_cache(maxsize=512)
def _statements(path: Path) -> tuple[Statement, ...]:
    """Return the statements of a file with their lines and the names that they give a value."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple((_first(node), node.end_lineno or node.lineno, frozenset(_bound(node)), node) for node in body)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case _:
                pass


def _texts(node: ast.stmt) -> Iterator[str]:
    return (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _used(path: Path, node: ast.stmt) -> Iterator[tuple[Path, str]]:
    """Yield what a statement uses, as a file and a name in it; no name stands for all of the file."""
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Load()):
                yield path, name
            case ast.Import(names=names):
                for alias in names:
                    yield from ((file, "") for file in _files(path, alias.name, 0))
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    inside = ".".join(filter(None, (module, alias.name)))
                    if files := list(_files(path, inside, level)):
                        yield from ((file, "") for file in files)
                    else:
                        name = "" if alias.name == "*" else alias.name
                        yield from ((file, name) for file in _files(path, module or "", level))
            case _:
                pass


def _files(path: Path, module: str, level: int) -> Iterator[Path]:
    """The file of a module that is loaded, or that lies where it would be looked for: nothing is imported."""
    if level == 0 and (file := getattr(sys.modules.get(module), "__file__", None)):
        yield Path(file).resolve()
        return
    parts = module.split(".") if module else []
    bases = [path.parents[level - 1]] if level else [Path(base) for base in sys.path]
    for base in bases:
        for file in (base.joinpath(*parts).with_suffix(".py"), base.joinpath(*parts, "__init__.py")):
            if parts and file.is_file():
                yield file.resolve()
                return
