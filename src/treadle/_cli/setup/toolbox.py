"""Tools by the names a user types: built-ins, `module:name`, `file.py:name`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from treadle._tools.base import Tool
from treadle._tools.builtin import builtin
from treadle._tools.function import tool
from treadle._tools.toolkit import Toolkit, makes_tools
from treadle._types.errors import ConfigError, ToolError

DEFAULT = ("calculator", "datetime")
"""What an agent at the terminal has when no tools are named: useful, quick, harmless, no network."""
HERE = {"datetime": "Tell the date and the time, here or in a time zone"}
"""Tools of the terminal itself, beside the built-in ones."""
PARAMS: dict[str, dict[str, Any]] = {"files": {"folder": ".", "write": False}}
"""Without being told otherwise, files are those of the current folder, and they are only read."""


def find_tools(specs: Iterable[str], folder: str = "", *, call_factories: bool = True) -> list[Any]:
    """The tools that `specs` name. `name,key=value` gives a built-in its parameters; commas separate several tools.

    A function that makes tools is called, unless the caller wants to do that itself, once for each run.
    """
    found: list[Any] = []
    for name, params in _parse(specs):
        if name == "none":
            continue
        if ":" in name:
            if params:
                raise ConfigError(f"{name} takes no parameters: only built-in tools do")
            loaded = _loaded(name, folder)
            found += [*loaded[0]()] if call_factories and len(loaded) == 1 and makes_tools(loaded[0]) else loaded
        elif name in HERE:
            found.append(now.replace(name=name))
        else:
            made = builtin(name, **{**PARAMS.get(name, {}), **params})
            found += made if isinstance(made, list) else [made]
    return found


def _parse(specs: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    parsed: list[tuple[str, dict[str, Any]]] = []
    for spec in specs:
        for part in filter(None, (piece.strip() for piece in spec.split(","))):
            key, equals, value = part.partition("=")
            if equals and ":" not in key:
                if not parsed:
                    raise ConfigError(
                        f"{part!r} stands before any tool: write the tool first, such as files,folder=docs"
                    )
                parsed[-1][1][key.strip()] = value_of(value)
            else:
                parsed.append((part, {}))
    return parsed


def value_of(text: str) -> Any:
    """JSON where it is JSON (`3`, `true`, `[1, 2]`), else the text itself."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _loaded(spec: str, folder: str) -> list[Any]:
    where, _, name = spec.rpartition(":")
    module = _module(where, folder)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = ", ".join(sorted(n for n, v in vars(module).items() if isinstance(v, (Tool, Toolkit))))
            raise ConfigError(f"{where} has no {name!r}" + (f"; it has the tools: {known}" if known else ""))
        value = getattr(value, part)
    if isinstance(value, (list, tuple, Toolkit)):
        return [*cast(Sequence[Any], value)]
    return [value]


def _module(where: str, folder: str) -> ModuleType:
    root = Path(folder or ".").resolve()
    if where.endswith(".py"):
        path = root / Path(where).expanduser()
        spec = spec_from_file_location(f"treadle_tools_{path.stem}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ConfigError(f"there is no file {path}: tools are named module:name or file.py:name")
        module = module_from_spec(spec)
        sys.modules[spec.name] = module  # annotations of the tools are looked up there
        if str(path.parent) not in sys.path:  # like a script, it may import what lies beside it
            sys.path.append(str(path.parent))
        spec.loader.exec_module(module)
        return module
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        return import_module(where)
    except ModuleNotFoundError as error:
        raise ConfigError(f"cannot import {where!r} ({error}): tools are named module:name or file.py:name") from None


@tool(name="datetime", effect="idempotent")
def now(timezone: str = "") -> str:
    """Tell the current date and time.

    Args:
        timezone: A time zone such as Europe/Paris; empty for the one of this machine.
    """
    from datetime import datetime
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        moment = datetime.now(ZoneInfo(timezone)) if timezone.strip() else datetime.now().astimezone()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {timezone!r}: use a name such as Europe/Paris or UTC") from None
    # No seconds: a model that asks again gets the same answer, and the loop guard can tell it so.
    return f"{moment:%A, %Y-%m-%d %H:%M} ({moment.tzname()}, UTC{moment:%z})"
