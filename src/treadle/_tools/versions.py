"""The version of a tool: a hash of its name and schema, and one of the code of its function, which new comments do not
change. A run records them, so that it can be told what has changed when it goes on after a deployment.

Code that a function calls is not part of it. Code is compared only under the Python that recorded it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from hashlib import blake2b
from types import CodeType
from typing import Any, cast

import msgspec

from treadle._tools.base import Tool
from treadle._tools.other_engines import MADE_OF

_PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"


def version_of(tool: Tool) -> str:
    schema = blake2b(msgspec.json.encode(tool.schema), digest_size=6).hexdigest()
    code = code_of(tool.execute)
    return schema if code is None else f"{schema} {_PYTHON} {_digest(code)}"


def changed_versions(recorded: Mapping[str, str], tools: Iterable[Tool]) -> dict[str, str]:
    """Return the tools that are not the ones that were recorded, with the versions they have now."""
    now = {tool.name: version_of(tool) for tool in tools if tool.name in recorded}
    return {name: version for name, version in now.items() if _differs(recorded[name], version)}


def _differs(then: str, now: str) -> bool:
    (schema, *code), (schema_now, *code_now) = then.split(), now.split()
    return schema != schema_now or (code != code_now and code[:1] in ([], code_now[:1]))


def code_of(function: Any) -> CodeType | None:
    """Return the code of the function that a tool was made of."""
    function = getattr(function, MADE_OF, function)
    while isinstance(function, partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, partial) else function.__wrapped__
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        function = type(function).__call__
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


@lru_cache(maxsize=1024)
def _digest(code: CodeType) -> str:
    seen = blake2b(digest_size=6)

    def feed(value: Any) -> None:
        if isinstance(value, CodeType):
            seen.update(value.co_code)
            feed((value.co_names, value.co_varnames, value.co_consts))
        elif isinstance(value, tuple):
            for one in cast("tuple[Any, ...]", value):
                feed(one)
            seen.update(b")")
        elif isinstance(value, frozenset):  # it has another order in each process
            seen.update(repr(sorted(map(repr, cast("frozenset[Any]", value)))).encode())
        else:
            seen.update(repr(value).encode())

    feed(code)
    return seen.hexdigest()
