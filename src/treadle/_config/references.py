"""Checks the references of a document, `{{sys.query}}`, `{{env.tone}}` and `{{Component:Id@content}}`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from treadle._config.components import FIELDS_OF, REFERRING, kind_of
from treadle._config.document import Component, Document, Path, Problem
from treadle._config.scope import bare, has_references, references_in
from treadle._types.errors import nearest

SYSTEM = (
    "sys.query", "sys.user", "sys.user_id", "sys.files", "sys.history", "sys.date", "sys.conversation_turns",
)  # fmt: skip
"""References that every run provides: the question, who asks, what came with it, and what was said before."""


def reference_problems(document: Document, order: Sequence[str]) -> Iterator[Problem]:
    """Yield the wrong references of each component: it may use components that run before it, by exact name."""
    for index, name in enumerate(order):
        for path, reference in _references(name, document.components[name]):
            if problem := _problem(reference, document, order, index):
                yield Problem(path, f"{{{{{reference}}}}} {problem}")


def _problem(reference: str, document: Document, order: Sequence[str], index: int) -> str:
    if reference.startswith("env."):
        return "" if reference in document.globals else f"refers to {reference!r}, which is not in `globals`"
    if reference in SYSTEM or reference in document.globals:
        return ""
    name, _, field = (part.strip() for part in reference.partition("@"))
    if name not in order:
        hint = nearest(name, [*order, *SYSTEM], [*SYSTEM, *order[:index]], 0.5)
        return f"refers to {name!r}, which does not exist; {hint}"
    if name not in order[:index]:
        return f"refers to {name!r}, which does not run before {order[index]!r}: link them, or use one that does"
    component = document.components[name]
    fields = FIELDS_OF[kind_of(component)](component.obj.params)
    head = field.partition(".")[0]
    if fields is not None and head and head not in fields:
        names = " or ".join(f"{{{{{name}@{one}}}}}" for one in fields)
        return f"refers to {head!r} of {name!r}, which is not one of its outputs: write {names}"
    return ""


def _references(name: str, component: Component) -> Iterator[tuple[Path, str]]:
    """Yield the references of a component, those in its texts and those that stand alone."""
    params = component.obj.params
    for field in REFERRING:
        for path, text in _texts(params.get(field), ("components", name, "obj", "params", field)):
            alone = path[-1] in ("query", "items_ref", "split_ref", "cpn_id") or (
                field == "groups" and path[-1] == "value"
            )
            if alone and not has_references(text):
                yield path, bare(text)
            for match in references_in(text):
                yield path, match.group(1)


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[Any], value)):
            yield from _texts(item, (*path, number))
