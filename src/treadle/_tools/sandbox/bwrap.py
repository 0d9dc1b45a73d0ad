"""The sandbox for full CPython and for JavaScript: a process in bubblewrap's namespaces (Linux).

No network, a read-only system, a work folder as the only place to write, an unprivileged user, and limits on time,
memory, processes, files and output. On a machine that cannot provide all of this, code is refused, not run.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._types.errors import ToolError

Language = Literal["python", "javascript"]

_USER = 64_321
"""A user id that nobody has. When we are root the code must not be: root has no limit on processes."""
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_CAPABILITIES_TO_DROP_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
_DROP_ROOT = (
    "setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"
)  # fmt: skip
_SYSTEM_FOLDERS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc/alternatives", "/etc/ld.so.cache"
)  # fmt: skip
_FILE_NAMES = {"python": "code.py", "javascript": "code.js"}
_RUN_CODE = """
import ast, sys
source = open('/work/code.py').read()
tree = ast.parse(source, 'code')
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
space = {'__name__': '__main__'}
exec(compile(tree, 'code', 'exec'), space)
if last is not None:
    value = eval(compile(ast.Expression(last.value), 'code', 'eval'), space)
    if value is not None:
        print(value if isinstance(value, str) else repr(value))
"""
"""Runs inside the sandbox; the value of the last expression is printed as at a Python prompt."""
_PROBE = """
import json, os, socket
def fails(action):
    try:
        action()
    except OSError:
        return True
    return False
print(json.dumps({
    'network': fails(lambda: socket.create_connection(('1.1.1.1', 53), 0.2))
        and [name for _, name in socket.if_nameindex()] in ([], ['lo']),
    'system folders': fails(lambda: open('/usr/probe', 'w')),
    'root user': os.getuid() != 0,
    'work folder': not fails(lambda: open('/work/probe', 'w')),
    'other processes': len([name for name in os.listdir('/proc') if name.isdigit()]) < 8,
}))
"""
_isolation_problem: str | None = None


class BwrapSandbox:
    """Runs each piece of code in a new process. /work is the given `folder`, or a temporary one."""

    def __init__(
        self, limits: SandboxLimits | None = None, *, folder: str = "", python: str = "", node: str = ""
    ) -> None:
        self.limits = limits or SandboxLimits()
        self._folder = folder
        self._programs = {"python": python or sys.executable, "javascript": node or shutil.which("node") or ""}

    async def run(self, code: str, language: Language = "python") -> CodeResult:
        """`ToolError` when this machine cannot isolate the code."""
        if problem := await isolation_problem():
            raise ToolError(f"the code was not run: it cannot be isolated on this machine ({problem})")
        if not self._programs[language]:
            raise ToolError(f"the code was not run: no interpreter for {language} is installed on this machine")
        if len(code) > self.limits.code_chars:
            return CodeResult(error=f"the code is too long: more than {self.limits.code_chars} characters")
        return await self._run(code, language)

    async def _run(self, code: str, language: Language) -> CodeResult:
        with tempfile.TemporaryDirectory(prefix="treadle-code-", ignore_cleanup_errors=True) as temporary:
            work = Path(self._folder or temporary)
            (work / _FILE_NAMES[language]).write_text(code, "utf-8")
            if _is_root() and not self._folder:
                os.chown(work, _USER, _USER)
            return await self._process(self._command(work, language))

    def _command(self, work: Path, language: Language) -> list[str]:
        program = Path(self._programs[language])
        if str(program) != sys.executable:
            program = program.resolve()
        limits = self.limits
        resource_limits = {
            "cpu": max(1, round(limits.seconds)),
            "nproc": limits.processes,
            "fsize": limits.memory,
            "nofile": 64,
            "core": 0,
        }
        if language == "python":
            resource_limits["as"] = limits.memory
            command = [str(program), "-I", "-c", _RUN_CODE]
        else:  # node reserves gigabytes of address space, so it is limited by its own option
            command = [str(program), f"--max-old-space-size={limits.memory // 2**20}", "/work/code.js"]
        root = _is_root()
        return [
            "bwrap", *_NAMESPACES, *(() if root else ("--unshare-user",)), "--die-with-parent", "--new-session",
            "--cap-drop", "ALL", *(_CAPABILITIES_TO_DROP_ROOT if root else ()),
            "--clearenv", "--size", str(limits.memory), "--tmpfs", "/tmp",
            "--perms", "0755", "--dir", "/etc", *_read_only_folders(program),
            "--proc", "/proc", "--dev", "/dev", "--bind", str(work), "/work", "--chdir", "/",
            "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/work", "--setenv", "LANG", "C.UTF-8",
            *(_DROP_ROOT if root else ()),
            "prlimit", *(f"--{name}={value}" for name, value in resource_limits.items()),
            "env", "-C", "/work", *command,
        ]  # fmt: skip

    async def _process(self, command: list[str]) -> CodeResult:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd="/",
        )
        assert process.stdout is not None
        assert process.stderr is not None
        stopped = ""

        def stop_printing() -> None:
            nonlocal stopped
            stopped = f"the code was stopped: it printed more than {self.limits.output_chars} characters"
            _kill(process)

        limit = self.limits.output_chars
        reading = asyncio.gather(
            _read(process.stdout, limit, stop_printing), _read(process.stderr, limit, stop_printing)
        )
        try:
            async with asyncio.timeout(self.limits.seconds):
                await asyncio.shield(reading)
                await process.wait()
        except TimeoutError:
            stopped = f"the code was stopped: it took longer than {self.limits.seconds:g} s"
        finally:
            _kill(process)  # ends its child processes too: they share a process namespace
            out, err = await reading
            await process.wait()
        if stopped or process.returncode:
            error = stopped or _user_traceback(err) or f"the code ended with status {process.returncode}"
            return CodeResult(out, error=error)
        return CodeResult(out + err)


async def isolation_problem() -> str:
    """Why this machine cannot isolate code; empty when it can. Tested once, with a program that tries to break out."""
    global _isolation_problem
    if _isolation_problem is None:
        _isolation_problem = await _test_isolation()
    return _isolation_problem


async def _test_isolation() -> str:
    if not sys.platform.startswith("linux"):
        return "bubblewrap exists for Linux only"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    sandbox = BwrapSandbox(SandboxLimits(seconds=60.0))  # a busy machine may take long to start a process
    try:
        # `run` would ask for the answer that is worked out here.
        result = await sandbox._run(_PROBE, "python")  # pyright: ignore[reportPrivateUsage]
    except OSError as error:
        return f"bubblewrap cannot be started: {error.strerror}"
    try:
        isolated = msgspec.json.decode(result.stdout, type=dict[str, bool])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return f"bubblewrap failed: {result.error.strip().rpartition(chr(10))[2][:200] or 'no output'}"
    missing = [name for name, kept in isolated.items() if not kept]
    return f"bubblewrap does not isolate the {' and the '.join(missing)}" if missing else ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _read_only_folders(program: Path) -> list[str]:
    """bwrap's options that show the system and the interpreter to the code."""
    options = [part for path in _SYSTEM_FOLDERS if os.path.exists(path) for part in ("--ro-bind", path, path)]
    for folder in _interpreter_folders(program):
        for parent in reversed(folder.parents):
            if parent.name:  # bwrap itself would create it readable by its owner only
                options += ["--perms", "0755", "--dir", str(parent)]
        options += ["--ro-bind", str(folder), str(folder)]
    return options


def _interpreter_folders(program: Path) -> list[Path]:
    """The folders outside /usr with the interpreter's files; for our own also those of its virtual environment."""
    folders = {program.parent.parent}
    if str(program) == sys.executable:
        folders = {Path(sys.prefix), Path(sys.base_prefix)}
    return sorted(folder for folder in folders if folder.parts[:2] not in (("/",), ("/", "usr")))


async def _read(stream: asyncio.StreamReader, limit: int, on_limit: Callable[[], None]) -> str:
    """The text of the stream up to the limit; the rest is read and dropped."""
    data = b""
    while piece := await stream.read(65_536):
        if len(data) <= limit:
            data += piece
            if len(data) > limit:
                on_limit()
    return data[:limit].decode("utf-8", "replace")


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


def _user_traceback(stderr: str) -> str:
    """The last traceback that says something, without the lines of our own launcher."""
    for traceback in reversed(stderr.strip().split("Traceback (most recent call last):\n")):
        lines = [line for line in traceback.splitlines() if '"<string>"' not in line]
        if any(line.strip() for line in lines):  # of several processes, one may be killed while it writes
            return re.sub(r'File "code", line (\d+)(, in <module>)?', r"line \1", "\n".join(lines))
    return ""
