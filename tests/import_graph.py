"""Who imports whom in the package. Every import counts, also under TYPE_CHECKING, inside functions, in lazy tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "treadle"


@dataclass(frozen=True, slots=True)
class Import:
    """One arrow of the graph, and the line that draws it."""

    source: str
    target: str
    line: int


def module_names(root: Path) -> dict[str, Path]:
    """Every module below `root` (the folder of the package) by its dotted name."""
    names: dict[str, Path] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        names[".".join((PACKAGE, *parts)).removesuffix(".__init__")] = path
    return names


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a file: to walk through them takes as long as to parse it."""
    return list(ast.walk(parsed(path)))


def imports_of(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[Import]:
    """The arrows that start at one module.

    `from package import module` is an arrow to the module, not to the package that holds it. Where a file calls
    `import_module`, a string that names a module counts as an import of it, in full or behind the prefix given to that
    call: that is what a lazy table holds.
    """
    tree = parsed(path)
    prefixes = set(dynamic_prefixes(tree, name)) if "import_module" in path.read_text("utf-8") else ()
    for node in nodes(path):
        targets: list[str] = []
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path}:{node.lineno}: relative import; write the full module name")
            base = node.module or ""
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                targets.append(inner if inner in known else base)
        elif isinstance(node, ast.Import):
            targets += [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            targets += [prefix + node.value for prefix in prefixes if "." in prefix + node.value]
        for target in targets:
            if target in known and target != name:
                yield Import(name, target, getattr(node, "lineno", 0))


def dynamic_prefixes(tree: ast.Module, name: str) -> Iterator[str]:
    """What stands before the variable part in each call of `import_module`; "" where the argument is no f-string."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("import_module"):
            continue
        for argument in node.args:
            if isinstance(argument, ast.JoinedStr):
                yield ast.unparse(argument)[2:-1].replace("{__name__}", name).split("{")[0]
            else:
                yield ""


def import_graph(root: Path) -> list[Import]:
    known = module_names(root)
    return [arrow for name, path in known.items() for arrow in imports_of(name, path, known)]


def circles(arrows: list[Import]) -> list[frozenset[str]]:
    """Each largest group of modules that all reach each other (Tarjan's strongly connected components)."""
    graph: dict[str, list[str]] = {}
    for arrow in arrows:
        graph.setdefault(arrow.source, []).append(arrow.target)
        graph.setdefault(arrow.target, [])
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[frozenset[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            position = stack.index(name)
            group = frozenset(stack[position:])
            del stack[position:]
            if len(group) > 1:
                groups.append(group)

    for name in graph:
        if name not in index:
            visit(name)
    return groups


def shortest_circle(group: frozenset[str], arrows: list[Import]) -> list[Import]:
    """One shortest way around within a group: what to show to whoever has to cut it."""
    inside = [arrow for arrow in arrows if arrow.source in group and arrow.target in group]
    best: list[Import] = []
    for start in sorted(group):
        ways: list[list[Import]] = [[]]
        reached = {start}
        while ways:
            way = ways.pop(0)
            here = way[-1].target if way else start
            for arrow in inside:
                if arrow.source != here:
                    continue
                if arrow.target == start:
                    if not best or len(way) + 1 < len(best):
                        best = [*way, arrow]
                    ways = []
                    break
                if arrow.target not in reached:
                    reached.add(arrow.target)
                    ways.append([*way, arrow])
    return best
