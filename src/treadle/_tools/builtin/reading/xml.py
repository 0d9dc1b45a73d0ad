"""Parses untrusted XML: no entity declarations, no external files, limited depth; names without their namespaces."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from treadle._types.errors import ToolError

MAX_DEPTH = 500


class XmlTarget(Protocol):
    """Receives each part of a document, as from the parsers of the standard library."""

    def start(self, tag: str, attrs: dict[str, str], /) -> Any: ...
    def end(self, tag: str, /) -> Any: ...
    def data(self, data: str, /) -> Any: ...


def feed_xml(document: bytes, target: XmlTarget, what: str) -> None:
    """Call `target` for each part of the document; `ToolError` names `what` when it is refused or not XML."""
    depth = 0

    def refuse(*_: object) -> NoReturn:
        raise ToolError(f"refused: {what} declares XML entities")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ToolError(f"{what} is XML nested more than {MAX_DEPTH} levels deep")
        target.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        target.end(_local(name))

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = target.data
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise ToolError(f"{what} is damaged, or not XML: {error}") from None


def parse_xml(document: bytes) -> Element:
    """The root element of a service's response."""
    builder = TreeBuilder()
    feed_xml(document, builder, "the response")
    return builder.close()


def text_of(element: Element | None, path: str = "") -> str:
    """All the text in an element, or in the first one at `path` below it, on one line."""
    target = element.find(path) if element is not None and path else element
    return " ".join("".join(target.itertext()).split()) if target is not None else ""


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
