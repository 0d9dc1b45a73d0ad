"""References in the texts of a document, `{{sys.query}}` and `{{Component:Id@content}}`: read, checked, replaced."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from treadle._config.document import Component, Document, Path, Problem

_REFERENCE = re.compile(r"\{\{\s{0,100}([^{}]{1,500}?)\s{0,100}\}\}")
SYSTEM = ("sys.query", "sys.user")
"""References that every run provides: the question, and who asks."""
_OUTPUT = "content"


def has_references(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def render(template: str, outputs: Mapping[str, str]) -> str:
    """Replace each reference of a text; `outputs` has those of components, by id, and those in `SYSTEM`."""
    return _REFERENCE.sub(lambda match: outputs.get(match.group(1).split("@")[0].strip(), ""), template)


def render_all(value: Any, outputs: Mapping[str, str]) -> Any:
    """Replace the references in every text inside a JSON value."""
    if isinstance(value, str):
        return render(value, outputs)
    if isinstance(value, dict):
        return {key: render_all(item, outputs) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [render_all(item, outputs) for item in cast(list[Any], value)]
    return value


def reference_problems(document: Document, order: Sequence[str]) -> Iterator[Problem]:
    """Yield the wrong references of each component: it may use components that run before it, by exact name."""
    for index, name in enumerate(order):
        for path, text in _texts(name, document.components[name]):
            for match in _REFERENCE.finditer(text):
                if problem := _problem(match.group(1), order, index):
                    yield Problem(path, f"{match.group(0)} {problem}")


def _problem(reference: str, order: Sequence[str], index: int) -> str:
    if reference in SYSTEM:
        return ""
    name, _, field = (part.strip() for part in reference.partition("@"))
    if name not in order:
        near = difflib.get_close_matches(name, [*order, *SYSTEM], 1, 0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of: {', '.join([*SYSTEM, *order[:index]])}"
        return f"refers to {name!r}, which does not exist; {hint}"
    if name not in order[:index]:
        return f"refers to {name!r}, which does not run before {order[index]!r}: link them, or use one that does"
    if field not in ("", _OUTPUT):
        return f"refers to {field!r} of {name!r}; a component has only one output: write {{{{{name}@{_OUTPUT}}}}}"
    return ""


def _texts(name: str, component: Component) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a component in which references are replaced."""
    params = component.obj.params
    for field in ("sys_prompt", "prompts", "content", "arguments"):
        yield from _inside(params.get(field), ("components", name, "obj", "params", field))


def _inside(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            yield from _inside(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[Any], value)):
            yield from _inside(item, (*path, number))
