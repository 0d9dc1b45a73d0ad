"""A YAML loader that knows only plain data and counts while it reads.

PyYAML reads an alias as the same object again: ten lines of aliases are a billion values for whoever walks through
them. So each alias counts as all that it repeats, and one that contains itself is refused.
"""

from __future__ import annotations

from typing import Any, cast

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError


class _BoundedLoader(yaml.SafeLoader):
    def __init__(self, text: str, depth: int, nodes: int, number: int) -> None:
        super().__init__(text)
        self._max_depth = depth
        self._max_nodes = nodes
        self._max_number = number
        self._depth = 0
        self._count = 0
        self._sizes: dict[int, int] = {}
        """How many values a finished node stands for, by the node's identity; the composer keeps anchored nodes."""

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        scanner = cast(Any, self)  # it reads ahead, and looks at all open lists for each that begins
        if scanner.flow_level >= self._max_depth:
            raise self._too_deep(scanner.get_mark())
        cast(Any, super()).fetch_flow_collection_start(TokenClass)

    def compose_node(self, parent: Any, index: Any) -> Any:
        parser = cast(Any, self)  # PyYAML's parser has no types
        event: Any = parser.peek_event()
        before = self._count
        if parser.check_event(yaml.AliasEvent):
            return self._alias(super().compose_node(parent, index), event)
        self._depth += 1
        self._add(1, event)
        if self._depth > self._max_depth:
            raise self._too_deep(event.start_mark)
        node: Any = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None:
            self._sizes[id(node)] = self._count - before
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        names: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            name = (key.tag, str(key.value))
            if name in names:
                raise ComposerError(
                    None, None, f"the name {name[1][:80]!r} stands twice in one mapping", key.start_mark
                )
            names.add(name)
        return node

    def construct_number(self, node: Any) -> Any:
        if len(node.value) > self._max_number:
            raise ConstructorError(None, None, f"a number of more than {self._max_number} characters", node.start_mark)
        kind = node.tag.rpartition(":")[2]
        return self.construct_yaml_int(node) if kind == "int" else self.construct_yaml_float(node)

    def _alias(self, node: Any, event: Any) -> Any:
        size = self._sizes.get(id(node))
        if size is None:
            raise ComposerError(None, None, f"the alias {event.anchor!r} contains itself", event.start_mark)
        self._add(size, event)
        return node

    def _too_deep(self, mark: Any) -> ComposerError:
        return ComposerError(None, None, f"more than {self._max_depth} lists and mappings inside each other", mark)

    def _add(self, count: int, event: Any) -> None:
        self._count += count
        if self._count > self._max_nodes:
            raise ComposerError(
                None, None, f"more than {self._max_nodes} values, with what its aliases repeat", event.start_mark
            )


for _kind in ("int", "float"):
    _BoundedLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _BoundedLoader.construct_number)


def nodes(text: str) -> Any:
    """The parsed text with the line of each part; for a text that `loader` has read before."""
    return cast(Any, yaml.compose)(text)


def loader(text: str, depth: int, nodes: int, number: int) -> yaml.SafeLoader:
    return _BoundedLoader(text, depth, nodes, number)
