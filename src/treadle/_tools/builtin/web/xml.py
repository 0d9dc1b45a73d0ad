"""Parses untrusted XML: no entity declarations, no external files, limited depth; names without their namespaces."""

from __future__ import annotations

from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from treadle._types.errors import ToolError

MAX_DEPTH = 200


def parse_xml(data: bytes) -> Element:
    builder = TreeBuilder()
    depth = 0

    def refuse(*_: object) -> NoReturn:
        raise ToolError("refused: the response declares XML entities")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ToolError(f"the response is XML nested more than {MAX_DEPTH} levels deep")
        builder.start(name.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name.rpartition(" ")[2])

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise ToolError(f"the response is not XML: {error}") from None


def text_of(element: Element | None, path: str = "") -> str:
    """All the text in an element, or in the first one at `path` below it, on one line."""
    target = element.find(path) if element is not None and path else element
    return " ".join("".join(target.itertext()).split()) if target is not None else ""
