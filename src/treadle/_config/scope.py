"""The values that the references of a document have while it runs: those of the run, and outputs of components."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

_REFERENCE = re.compile(r"\{\{\s{0,100}([^{}]{1,500}?)\s{0,100}\}\}")
_MAIN = ("content", "formalized_content", "result", "output")
"""Names for what a component gives as a text."""


def has_references(text: str) -> bool:
    return _REFERENCE.search(text) is not None


def references_in(text: str) -> Iterator[re.Match[str]]:
    return _REFERENCE.finditer(text)


def bare(reference: str) -> str:
    """A reference without its braces."""
    return reference.strip().removeprefix("{{").removesuffix("}}").strip()


def component_of(reference: str) -> str:
    return bare(reference).split("@")[0].strip()


class Scope:
    """The values of references: those of the run, and the outputs of the components that are done."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = dict(values)
        """By name: `sys.query`, `env.tone`, and each component with its outputs."""

    def inside(self) -> Scope:
        """A scope of its own, for one item of an iteration."""
        return Scope(self.values)

    def value(self, reference: str) -> Any:
        """None when there is nothing."""
        name, _, field = (part.strip() for part in bare(reference).partition("@"))
        outputs: Any = self.values.get(name)
        if name.startswith(("sys.", "env.")) or not isinstance(outputs, dict):
            return outputs
        head, *path = (field or "content").split(".")
        value = _output(cast("dict[str, Any]", outputs), head)
        for part in path:
            value = _inner(value, part)
        return value

    def text(self, reference: str) -> str:
        return as_text(self.value(reference))

    def render(self, template: str) -> str:
        """Replace each reference of a text."""
        return _REFERENCE.sub(lambda match: self.text(match.group(1)), template)

    def render_all(self, value: Any) -> Any:
        """Replace the references in every text inside a JSON value."""
        if isinstance(value, str):
            return self.render(value)
        if isinstance(value, dict):
            return {key: self.render_all(item) for key, item in cast(dict[str, Any], value).items()}
        if isinstance(value, list):
            return [self.render_all(item) for item in cast(list[Any], value)]
        return value


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _output(outputs: dict[str, Any], name: str) -> Any:
    if name in outputs:
        return outputs[name]
    content = outputs.get("content")
    if name in _MAIN:
        return content
    return parsed(content) if name in ("structured", "structured_output", "json") else _inner(parsed(content), name)


def parsed(text: Any) -> Any:
    """The value of a text that is JSON; None for any other."""
    if not isinstance(text, str):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _inner(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name)
    if isinstance(value, list) and name.isdigit() and int(name) < len(cast("list[Any]", value)):
        return cast("list[Any]", value)[int(name)]
    return None
