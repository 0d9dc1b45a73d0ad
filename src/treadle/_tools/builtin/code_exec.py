"""Code in Python or JavaScript, in a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import object_schema
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.bwrap import BwrapSandbox, Language
from treadle._tools.sandbox.monty import MontySession
from treadle._types.errors import ConfigError

_ABOUT = {
    "monty": "Python runs in a small interpreter: no files, no network, no classes that inherit, few modules.",
    "bwrap": "Python is whole CPython with the packages of this installation, without a network; /work is the only folder to write to.",
}
_MAX_CHARS = 100_000


def code_exec(
    *,
    languages: Sequence[Language] = ("python", "javascript"),
    sandbox: Literal["monty", "bwrap"] = "monty",
    folder: str = "",
    write: bool = False,
    seconds: float = 10.0,
    memory: int = 256 * 1024 * 1024,
) -> Tool:
    """`folder` is what the code sees as /work, with `monty` to read unless it may `write`. JavaScript needs bubblewrap and node."""
    known = [str(language) for language in languages]
    if not known or set(known) - {"python", "javascript"} or sandbox not in _ABOUT:
        raise ConfigError("code_exec runs python and javascript, Python in the sandbox monty or bwrap")
    limits = SandboxLimits(seconds=seconds, memory=memory)

    async def execute(code: str, language: str = known[0]) -> ToolResponse:
        if language == "python" and sandbox == "monty":
            result = await MontySession(limits, folder=folder, write=write).run(code)
        else:
            result = await BwrapSandbox(limits, folder=folder).run(code, cast("Language", language))
        return _response(result)

    about: dict[str, Any] = {
        "code": {"type": "string", "minLength": 1, "maxLength": _MAX_CHARS, "description": "The whole program."}
    }
    if len(known) > 1:
        about["language"] = {
            "type": "string",
            "enum": known,
            "default": known[0],
            "description": "What it is written in.",
        }
    python = f" {_ABOUT[sandbox]}" if "python" in known else ""
    return Tool(
        name="code_exec",
        description=f"Run {' or '.join(known)} code in a sandbox and see what it prints.{python} Each call starts afresh.",
        parameters=object_schema(about, ("code",)),
        execute=execute,
        timeout=seconds + 20,
        effect="pure" if not write and not folder else "unsafe",
    )


def _response(result: CodeResult) -> ToolResponse:
    return ToolResponse(result.text(_MAX_CHARS), error=bool(result.error))
