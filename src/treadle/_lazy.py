"""Imports on first use: the names of public modules, so that `import treadle` stays cheap, and entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy_getattr(
    module: str, locations: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a public module. `locations` maps each public name to the private module that defines it.

    A location that ends in a colon names a module that is itself the public value. `renamed` maps names of earlier
    versions, which still work, to those of today.
    """

    def get(name: str) -> Any:
        public = (renamed or {}).get(name, name)
        location = locations.get(public)
        if location is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        loaded = import_module(f"treadle.{location.rstrip(':')}")
        value = loaded if location.endswith(":") else getattr(loaded, public)
        setattr(sys.modules[module], name, value)
        return value

    return get


def load(entry: str) -> Any:
    """The value at an entry point of this package, "module:attribute": how a lower layer reaches what is plugged in
    above it, and only when it is needed."""
    module, _, attribute = entry.partition(":")
    return getattr(import_module(f"treadle.{module}"), attribute)


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def lazy_module(name: str) -> ModuleType:
    """A module that is imported when it is first used: asyncio is a third of the import of an agent."""
    return _Lazy(name)
