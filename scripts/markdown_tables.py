"""Tables and lists of Markdown for the generated pages; no table has an empty heading."""

from __future__ import annotations

import ast
import html
import inspect
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from field_words import words_for


class Field(NamedTuple):
    name: str
    kind: str
    default: str
    description: str


def fields_of(kind: type[Any], module: ModuleType) -> list[Field]:
    """The fields of a value in its source, each with the docstring under it."""
    tree = ast.parse(inspect.getsource(module))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    fields: list[Field] = []
    for index, node in enumerate(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        after = body[index + 1] if index + 1 < len(body) else None
        description = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            description = " ".join(after.value.value.split())
        default = ast.unparse(node.value) if node.value is not None else ""
        fields.append(Field(node.target.id, ast.unparse(node.annotation), default, description))
    return fields


_BOXES = ("Literal", "Annotated", "type", "tuple")
_SIMPLE = {"str", "int", "float", "bool", "Count", "Amount", "Whole", "Seconds", "Share", "NotNegative", "Text"}
_ANY = {"Any", "str", "DepsT", "DepsT_co", "OutputT_co", "OutputT"}


class _Plain(ast.NodeTransformer):
    """Types as people read them: without the bounds of a number, and without parameters that say nothing."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name = ast.unparse(node.value)
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Annotated":
            return self.visit(inside[0])
        if name == "PathLike" or (name not in _BOXES and {"str"} != set(map(ast.unparse, inside)) <= _ANY):
            return node.value
        return node if name == "Literal" else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A path may always be a `Path`, too: the page says so once."""
        plain = self.generic_visit(node)
        assert isinstance(plain, ast.BinOp)
        return plain.left if ast.unparse(plain.right) in ("Path", "PathLike", "PathLike[str]") else plain

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr)


def plain_type(kind: str) -> str:
    return ast.unparse(_Plain().visit(ast.parse(kind, mode="eval").body)) if kind else ""


def argument(name: str, kind: str, default: str) -> str:
    """A parameter or a field: of a plain value, the default says the type."""
    kind = plain_type(kind)
    if default in ("None", "()", "{}", "[]") and kind:
        return f"{name}: {kind.removesuffix(' | None')} = {default}"
    if re.fullmatch(r"True|False|-?[\d.]+|'.*'", default) and kind in _SIMPLE:
        return f"{name}={default}"
    return f"{name}{': ' if kind else ''}{kind}{' = ' if kind and default else '=' if default else ''}{default}"


def code(text: str) -> str:
    if "|" in text:  # the two readers of these tables disagree about an escaped bar inside a code span
        return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""


def items_of(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {text}\n" for name, text in rows)


def list_of(fields: Iterable[Field]) -> str:
    """A line for each: the name with its type and default, and what it means; those without words in one line."""
    rows = [(argument(row.name, row.kind, row.default), " ".join(row.description.split())) for row in fields]
    told = "".join(f"- `{shown}`: {words}\n" for shown, words in rows if words)
    plain = ", ".join(f"`{shown}`" for shown, words in rows if not words)
    return told + (f"- {plain}\n" if plain else "")


def described(kind: type[Any]) -> list[Field]:
    """The fields of a value, all with words."""
    fields = fields_of(kind, sys.modules[kind.__module__])
    return [row._replace(description=row.description or words_for(kind.__name__, row.name)) for row in fields]


def own_list(kind: type[Any], said: Collection[tuple[str, str]] = ()) -> str:
    """The fields of a value; names with words in `said` stand without these."""
    rows = described(kind)
    return list_of(row._replace(description="") if (row.name, row.description) in said else row for row in rows)


def said_often(kinds: Iterable[type[Any]], times: int = 2) -> list[tuple[str, str]]:
    """Names that mean the same in so many values, with their words."""
    counts = Counter((row.name, row.description) for kind in kinds for row in described(kind))
    return sorted(pair for pair, count in counts.items() if count >= times)


def properties_of(kind: type[Any]) -> str:
    """What can be read from a value beside its fields; empty if there is nothing."""
    found = {name: value for name, value in inspect.getmembers(kind) if isinstance(value, property) and name[0] != "_"}
    return "".join(
        f"- `{name}`: computed: {' '.join(inspect.cleandoc(value.__doc__ or '').split())}\n"
        for name, value in found.items()
    )


def doc(kind: type[Any]) -> str:
    text = (kind.__dict__.get("__doc__") or "").strip()
    return "" if not text or text.startswith(f"{kind.__name__}(") else inspect.cleandoc(text) + "\n\n"
