"""Analyses code without running it: what it imports, and which calls are awaited later.

A model writes `search("x")` where it wants the result at once and `await asyncio.gather(search("x"), search("y"))`
where it wants several at the same time. A tool is neither a plain nor an async function: its use in the code decides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from treadle._tools.results import cut

ALLOWED = (
    "asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools",
    "hashlib", "itertools", "json", "math", "pathlib", "random", "re", "time", "typing", "unicodedata",
)  # fmt: skip
"""The modules that the default sandbox has and that are safe."""
_AWAITING_FUNCTIONS = ("gather", "wait_for", "run")
"""Functions that take calls as arguments and await them."""


def parse(code: str) -> ast.Module | None:
    """The syntax tree; None when the code is invalid (the sandbox then reports why)."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def refused_import(tree: ast.Module, allowed: tuple[str, ...]) -> str:
    """The error for the first import that is not allowed; empty when all are."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "."]
        for name in names:
            if name.partition(".")[0] not in allowed:
                return import_refusal(name, getattr(node, "lineno", 0), allowed)
    return ""


def import_refusal(name: str, line: int, allowed: tuple[str, ...]) -> str:
    where = f"line {line}: ImportError: " if line else ""
    return f"{where}importing {cut(name, 80)!r} is not allowed here. Allowed modules: {', '.join(allowed)}."


def deferred_calls(tree: ast.Module, code: str) -> frozenset[int]:
    """The byte offsets of the calls whose results are awaited later instead of used at once."""
    starts = _line_starts(code)
    awaited = [node.value for node in ast.walk(tree) if isinstance(node, ast.Await)]
    deferred: set[ast.Call] = set()
    gathered: set[str] = set()
    for value in awaited:
        deferred.update(_calls_in(value))
        gathered.update(node.id for node in ast.walk(value) if isinstance(node, ast.Name))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            if _name_of(node.func.value) in gathered:
                deferred.update(_calls_in(*node.args))
        elif isinstance(node, ast.Assign) and any(_name_of(target) in gathered for target in node.targets):
            deferred.update(_collected(node.value))
    return frozenset(starts[call.lineno - 1] + call.col_offset for call in deferred)


def _collected(value: ast.expr) -> Iterator[ast.Call]:
    """The calls whose results are the items of a list, or the value itself."""
    if isinstance(value, ast.Call):
        yield value
    elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        yield from _calls_in(*value.elts)
    elif isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        yield from _calls_in(value.elt)
    elif isinstance(value, ast.DictComp):
        yield from _calls_in(value.value)


def _calls_in(*roots: ast.expr) -> Iterator[ast.Call]:
    """The calls in an expression, without those that are arguments of another call and so needed at once."""
    pending = list(roots)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
            if _name_of(node.func) in _AWAITING_FUNCTIONS:
                pending += node.args
        else:
            pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _line_starts(code: str) -> list[int]:
    """The byte offset of each line, split like Python's own parser does."""
    starts = [0]
    for line in code.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts
