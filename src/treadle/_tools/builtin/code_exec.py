"""Runs Python or JavaScript code in a sandbox."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, cast

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import object_schema
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.bwrap import BwrapSandbox, Language
from treadle._tools.sandbox.monty import MontySession
from treadle._types.errors import ConfigError

_DESCRIPTIONS = {
    "monty": "Python runs in a small interpreter: no files, no network, no classes that inherit, few modules.",
    "bwrap": (
        "Python is whole CPython with the packages of this installation, without a network; "
        "the current folder is the only one to write to."
    ),
}
_MAX_CHARS = 100_000


@bounded
def code_exec(
    *,
    languages: Sequence[Language] = ("python", "javascript"),
    sandbox: Literal["monty", "bwrap"] = "monty",
    folder: str = "",
    write: bool = False,
    seconds: Seconds = 10.0,
    memory: Count = 256 * 1024 * 1024,
) -> Tool:
    """The code sees `folder` as /work, in the sandbox `monty` read-only unless `write` is true.

    JavaScript always runs in bubblewrap, and needs node.
    """
    names = [str(language) for language in languages]
    if not names or set(names) - {"python", "javascript"}:
        raise ConfigError(f"code_exec: languages must be python, javascript or both, not {names}")
    if sandbox not in _DESCRIPTIONS:
        raise ConfigError(f"code_exec: unknown sandbox {sandbox!r}; expected one of: {', '.join(_DESCRIPTIONS)}")
    limits = SandboxLimits(seconds=seconds, memory=memory)
    folder = os.path.abspath(folder) if folder else ""  # where it is now, wherever the process is when it is called

    async def execute(code: str, language: str = names[0]) -> ToolResponse:
        if language == "python" and sandbox == "monty":
            result = await MontySession(limits, folder=folder, write=write).run(code)
        else:
            result = await BwrapSandbox(limits, folder=folder).run(code, cast("Language", language))
        return ToolResponse(result.text(_MAX_CHARS), error=bool(result.error))

    properties: dict[str, Any] = {
        "code": {"type": "string", "minLength": 1, "maxLength": _MAX_CHARS, "description": "The whole program."}
    }
    if len(names) > 1:
        properties["language"] = {
            "type": "string",
            "enum": names,
            "default": names[0],
            "description": "What it is written in.",
        }
    python = f" {_DESCRIPTIONS[sandbox]}" if "python" in names else ""
    return Tool(
        name="code_exec",
        description=(
            f"Run {' or '.join(names)} code in a sandbox and see what it prints.{python} Each call starts afresh."
        ),
        parameters=object_schema(properties, ("code",)),
        execute=execute,
        timeout=seconds + 20,
        effect="pure" if not write and not folder else "unsafe",
        untrusted=f"files in {folder}" if folder else False,
    )
