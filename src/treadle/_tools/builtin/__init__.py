"""The built-in tools, by name. A tool's module is imported when the tool is requested."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from treadle._tools.base import Tool
from treadle._types.errors import ConfigError, nearest

BUILTINS = {
    "a2a": "Ask an agent elsewhere, by A2A (url=...)",
    "arxiv": "Search arXiv for papers",
    "baidu": "Search the web with Baidu (BAIDU_API_KEY)",
    "calculator": "Work out arithmetic exactly",
    "code_exec": "Run Python or JavaScript code in a sandbox",
    "datetime": "Tell the date and the time, here or in a time zone, and the weekday of any date",
    "duckduckgo": "Search the web with DuckDuckGo, without a key",
    "files": "List, read, write and search files in one folder (folder=...)",
    "google": "Search the web with Google (GOOGLE_API_KEY, GOOGLE_CSE_ID)",
    "http_fetch": "Fetch a web page as readable text",
    "openapi": "The operations of an OpenAPI document as tools (document=...)",
    "pubmed": "Search PubMed for biomedical articles",
    "qweather": "Weather now and forecast (QWEATHER_API_KEY, QWEATHER_API_HOST)",
    "retrieval": "Search a local knowledge base (path=...)",
    "sql": "Query SQLite, DuckDB or Postgres, read-only unless told (url=...)",
    "tavily": "Search the web with Tavily (TAVILY_API_KEY)",
    "wikipedia": "Search and read Wikipedia",
    "yahoo_finance": "Prices of shares, funds, indices and currencies",
}
"""A one-line description of each built-in, by name."""

_MODULES = {
    **dict.fromkeys(("baidu", "google", "tavily"), "web.search"),
    "calculator": "calculator",
    "code_exec": "code_exec",
    "a2a": "services.a2a",
    "datetime": "clock",
    "files": "files",
    "openapi": "services.openapi",
    "retrieval": "knowledge.retrieval",
    "sql": "sql.tool",
}
"""The module, below this package, with the factory of a built-in; that of any other is in `web`, under its name."""


_OF_WORKSPACES = ("bash", "shell", "terminal", "edit", "edit_file", "write_file", "read_file", "glob", "grep")
"""What is looked for here, and belongs to the folder of a run: its changes can be taken back."""


DEFAULT_PARAMETERS: dict[str, dict[str, Any]] = {"files": {"folder": ".", "write": False, "hidden": False}}
"""Parameters of built-in tools that are only named: files are those of the current folder, read-only, none hidden."""


def builtin_factory(name: str) -> Callable[..., Tool | list[Tool]]:
    """The function that makes the built-in tool `name`."""
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, f'web.{name}')}"), name)


def builtin(name: str, **params: Any) -> Tool | list[Tool]:
    """The built-in tool `name`, or the list of tools that it stands for; `params` go to its factory."""
    if name not in BUILTINS:
        if name in _OF_WORKSPACES:
            raise ConfigError(
                f"{name!r} is no built-in tool: a shell and tools that change files work in a workspace, which can be "
                "set back: treadle code, or plugins=[Workspace(...)]; builtin('files', folder=...) has plain files"
            )
        raise ConfigError(f"there is no built-in tool {name!r}; {nearest(name, BUILTINS)}")
    factory = builtin_factory(name)
    try:
        inspect.signature(factory).bind(**params)
    except TypeError as error:
        expected = ", ".join(inspect.signature(factory).parameters)
        first = expected.partition(",")[0]
        raise ConfigError(
            f"built-in tool {name!r}: {error}; it takes: {expected}. In Python: builtin({name!r}, {first}=...)"
        ) from None
    return factory(**params)
