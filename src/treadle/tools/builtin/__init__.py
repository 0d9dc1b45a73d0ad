"""The tools that come with Treadle, by name. A tool's module is imported when the tool is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from treadle.tools.base import Tool
from treadle.types.errors import ConfigError

BUILTINS = {
    "arxiv": "Search arXiv for papers",
    "baidu": "Search the web with Baidu (BAIDU_API_KEY)",
    "calculator": "Work out arithmetic exactly",
    "code_exec": "Run Python or JavaScript code in a sandbox",
    "duckduckgo": "Search the web with DuckDuckGo, without a key",
    "files": "List, read, write and search files in one folder (folder=...)",
    "google": "Search the web with Google (GOOGLE_API_KEY, GOOGLE_CSE_ID)",
    "http_fetch": "Fetch a web page as readable text",
    "pubmed": "Search PubMed for biomedical articles",
    "qweather": "Weather now and forecast (QWEATHER_API_KEY, QWEATHER_API_HOST)",
    "retrieval": "Search a local knowledge base (path=...)",
    "sql": "Query SQLite, DuckDB or Postgres, read-only unless told (url=...)",
    "tavily": "Search the web with Tavily (TAVILY_API_KEY)",
    "wikipedia": "Search and read Wikipedia",
    "yahoo_finance": "Prices of shares, funds, indices and currencies",
}
"""Name to one line about it. The module of the same name has the factory of the same name."""


def builtin(name: str, **params: Any) -> Tool | list[Tool]:
    """The built-in tool `name`, or the tools of that family; `params` are the factory's own."""
    if name not in BUILTINS:
        near = get_close_matches(name, BUILTINS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(BUILTINS)}"
        raise ConfigError(f"no built-in tool is called {name!r}; {hint}")
    factory: Callable[..., Tool | list[Tool]] = getattr(import_module(f"{__name__}.{name}"), name)
    try:
        inspect.signature(factory).bind(**params)
    except TypeError as error:
        takes = ", ".join(inspect.signature(factory).parameters)
        raise ConfigError(f"built-in tool {name!r}: {error}; it takes: {takes}") from None
    return factory(**params)
