"""The links of a document, normalized once: given on either side, or as a way that a component chooses."""

from __future__ import annotations

from collections.abc import Mapping

from treadle._config.components import kind_of, next_of
from treadle._config.document import Document
from treadle._types.errors import ConfigError


class Links:
    """The components before and after each one."""

    def __init__(self, document: Document) -> None:
        self._kinds = {name: kind_of(component) for name, component in document.components.items()}
        self._before: dict[str, list[str]] = {name: [] for name in document.components}
        self._after: dict[str, list[str]] = {name: [] for name in document.components}
        for name, component in document.components.items():
            for other in (*component.downstream, *next_of(component)):
                self._add(name, other)
            for other in component.upstream:
                self._add(other, name)

    def _add(self, name: str, other: str) -> None:
        if other in self._before and name not in self._before[other]:
            self._before[other].append(name)
            self._after[name].append(other)

    def before(self, name: str) -> list[str]:
        return self._before[name]

    def after(self, name: str) -> list[str]:
        return self._after[name]

    def behind(self, name: str) -> set[str]:
        """Collect the components that come after this one, however many lie between."""
        behind, waiting = set[str](), [name]
        while waiting:
            new = {*self._after[waiting.pop()]} - behind
            behind |= new
            waiting += new
        return behind

    def sole_message(self, name: str, done: Mapping[str, bool]) -> str | None:
        """The message that follows when this component is done, whatever else happens."""
        for other in self._after[name]:
            if self._kinds[other] == "message" and all(one == name or one in done for one in self._before[other]):
                return other
        return None


def sorted_components(document: Document, where: str) -> list[str]:
    """Return the components in topological order; an error names those that form a cycle."""
    names, links = document.components, Links(document)
    before = {name: {*links.before(name), *filter(None, [names[name].parent_id])} for name in names}
    order: list[str] = []
    while len(order) < len(names):
        ready = [name for name in names if name not in order and before[name] <= set(order)]
        if not ready:
            cycle = ", ".join(name for name in names if name not in order)
            raise ConfigError(f"{where}: the components {cycle} follow each other in a cycle: remove one of the links")
        order.extend(ready)
    return order
