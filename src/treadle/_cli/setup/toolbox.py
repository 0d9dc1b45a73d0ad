"""Tools by the names a user types: built-ins, `module:name`, `file.py:name`."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, cast

from treadle._safety.data import DataError, decode_json
from treadle._tools.base import Tool
from treadle._tools.builtin import DEFAULT_PARAMETERS, builtin
from treadle._tools.toolkit import Toolkit, makes_tools
from treadle._types.errors import ConfigError, TreadleError

DEFAULT_TOOLS = ("calculator", "datetime", "files")
"""The tools of an agent at the terminal when none are named: they are quick, need no network and change nothing."""

STUBS = "stubs"
"""Names the tools that a run was recorded with, where they are not here: a person gives their results."""


def find_tools(specs: Iterable[str], folder: str = "", *, call_factories: bool = True) -> list[Any]:
    """Find the tools that `specs` name. `name,key=value` gives a built-in its parameters; commas separate tools.

    A function that makes tools is called, unless the caller wants to do that itself, once for each run.
    """
    tools: list[Any] = []
    for name, params in _parse(specs):
        if name in ("none", STUBS):
            continue
        if ":" in name:
            if params:
                raise ConfigError(f"{name} takes no parameters: only built-in tools do")
            loaded = _load(name, folder)
            tools += [*loaded[0]()] if call_factories and len(loaded) == 1 and makes_tools(loaded[0]) else loaded
        elif name.endswith(".py"):
            names = _names(_import(name, folder))
            which = f"{name}:{names[0]}; its tools are: {', '.join(names)}" if names else f"{name}:NAME; it has no tool"
            raise ConfigError(f"{name} is a file: say which tool of it, as in {which}")
        else:
            tool_or_tools = builtin(name, **{**DEFAULT_PARAMETERS.get(name, {}), **params})
            tools += tool_or_tools if isinstance(tool_or_tools, list) else [tool_or_tools]
    return tools


def source_files(specs: Iterable[str]) -> list[str]:
    """Return the files that `specs` name tools of."""
    paths = (name.rpartition(":")[0] for name, _ in _parse(specs))
    return [path for path in paths if path.endswith(".py")]


def _parse(specs: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    parsed: list[tuple[str, dict[str, Any]]] = []
    for spec in specs:
        for part in filter(None, (piece.strip() for piece in spec.split(","))):
            key, equals, value = part.partition("=")
            if equals and ":" not in key:
                if not parsed:
                    raise ConfigError(
                        f"the parameter {part!r} comes before any tool: write the tool first, as in files,folder=docs"
                    )
                parsed[-1][1][key.strip()] = value_of(value)
            else:
                parsed.append((part, {}))
    return parsed


def value_of(text: str) -> Any:
    """Decode JSON where it is JSON (`3`, `true`, `[1, 2]`), else the text itself."""
    try:
        return decode_json(text)
    except DataError:
        return text


def _load(spec: str, folder: str) -> list[Any]:
    location, _, name = spec.rpartition(":")
    module = _import(location, folder)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            names = ", ".join(_names(module))
            raise ConfigError(f"{location} has no {name!r}" + (f"; its tools are: {names}" if names else ""))
        value = getattr(value, part)
    if isinstance(value, (list, tuple, Toolkit)):
        return [*cast(Sequence[Any], value)]
    return [value]


def _names(module: ModuleType) -> list[str]:
    return sorted(name for name, value in vars(module).items() if isinstance(value, (Tool, Toolkit)))


def _import(location: str, folder: str) -> ModuleType:
    root = Path(folder or ".").resolve()
    if location.endswith(".py"):
        path = root / Path(location).expanduser()
        spec = spec_from_file_location(f"treadle_tools_{path.stem}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ConfigError(f"there is no file {path}: write tools as module:name or file.py:name")
        module = module_from_spec(spec)
        sys.modules[spec.name] = module  # annotations of the tools are looked up there
        if str(path.parent) not in sys.path:  # like a script, it may import what lies beside it
            sys.path.append(str(path.parent))
        with _own_failures(location):
            spec.loader.exec_module(module)
        return module
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    with _own_failures(location):
        return import_module(location)


@contextmanager
def _own_failures(location: str) -> Generator[None]:
    """Report an error of the user's own file while it is imported: what, and in which line of which file."""
    try:
        yield
    except TreadleError:
        raise
    except SyntaxError as error:
        place = f"{error.filename or location}, line {error.lineno}"
        code = f": {error.text.strip()}" if error.text else ""
        raise ConfigError(f"syntax error in {place}: {error.msg}{code}") from None
    except ModuleNotFoundError as error:
        if error.name and (location == error.name or location.startswith(f"{error.name}.")):
            raise ConfigError(
                f"cannot import {location!r} ({error}): write tools as module:name or file.py:name"
            ) from None
        raise ConfigError(f"{_place(error, location)}: {error}: install it, or correct the import") from None
    except Exception as error:
        raise ConfigError(f"{_place(error, location)}: {type(error).__name__}: {error}") from None


def _place(error: BaseException, location: str) -> str:
    """Return the line that failed: the last one that is not of the import system itself."""
    frames = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    if not frames or frames[-1].filename == __file__:
        return location
    return f"{frames[-1].filename}, line {frames[-1].lineno}"
