"""The full-CPython sandbox, and the one for JavaScript: a process in bubblewrap's namespaces (Linux).

No network, a read-only system, a work folder of its own as the only place to write, an unprivileged user, and limits on time,
memory, processes, files and output. A machine that cannot give all of this gets no sandbox: the code is refused, not run.
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
"""Nobody's. Whoever starts the sandbox as root must leave root behind: it has no limit on processes."""
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_AS_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
_LEAVE_ROOT = (
    "setpriv",
    f"--reuid={_USER}",
    f"--regid={_USER}",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
)
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc/alternatives",
    "/etc/ld.so.cache",
)
_FILES = {"python": "code.py", "javascript": "code.js"}
_RUN = """
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
"""Runs inside the sandbox, on our side of nothing: the last expression's value is printed like at a prompt."""
_PROBE = """
import json, os, socket
def fails(action):
    try:
        action()
    except OSError:
        return True
    return False
print(json.dumps({
    'network': fails(lambda: socket.create_connection(('1.1.1.1', 53), 0.2)) and [n for _, n in socket.if_nameindex()] in ([], ['lo']),
    'system': fails(lambda: open('/usr/probe', 'w')),
    'user': os.getuid() != 0,
    'work': not fails(lambda: open('/work/probe', 'w')),
    'alone': len([name for name in os.listdir('/proc') if name.isdigit()]) < 8,
}))
"""
_verdict: str | None = None


class BwrapSandbox:
    """Each piece of code is a process of its own. With a `folder`, that folder is /work; otherwise a new one, thrown away after."""

    def __init__(
        self, limits: SandboxLimits | None = None, *, folder: str = "", python: str = "", node: str = ""
    ) -> None:
        self.limits = limits or SandboxLimits()
        self._folder = folder
        self._programs = {"python": python or sys.executable, "javascript": node or shutil.which("node") or ""}

    async def run(self, code: str, language: Language = "python") -> CodeResult:
        """`ToolError` when this machine cannot isolate the code."""
        if why := await unfit():
            raise ToolError(f"code cannot be isolated on this machine ({why}), so it is not run")
        if not self._programs[language]:
            raise ToolError(f"there is no interpreter for {language} on this machine")
        return await self._run(code, language)

    async def _run(self, code: str, language: Language) -> CodeResult:
        with tempfile.TemporaryDirectory(prefix="treadle-code-", ignore_cleanup_errors=True) as made:
            work = Path(self._folder or made)
            (work / _FILES[language]).write_text(code, "utf-8")
            if _is_root() and not self._folder:
                os.chown(work, _USER, _USER)
            return await self._process(self._command(work, language))

    def _command(self, work: Path, language: Language) -> list[str]:
        program = Path(self._programs[language])
        if str(program) != sys.executable:
            program = program.resolve()
        limits = self.limits
        bounds = {
            "cpu": max(1, round(limits.seconds)),
            "nproc": limits.processes,
            "fsize": limits.memory,
            "nofile": 64,
            "core": 0,
        }
        if language == "python":
            bounds["as"] = limits.memory
            command = [str(program), "-I", "-c", _RUN]
        else:  # it reserves address space by the gigabyte: its own limit holds instead
            command = [str(program), f"--max-old-space-size={limits.memory // 2**20}", "/work/code.js"]
        binds = [part for path in _SYSTEM if os.path.exists(path) for part in ("--ro-bind", path, path)]
        for home in _homes(program):
            # Folders on the way to it would be made for their owner only.
            binds += [
                part
                for parent in reversed(home.parents)
                if parent.name
                for part in ("--perms", "0755", "--dir", str(parent))
            ]
            binds += ["--ro-bind", str(home), str(home)]
        root = _is_root()
        return [
            "bwrap", *_NAMESPACES, *(() if root else ("--unshare-user",)), "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            *(_AS_ROOT if root else ()), "--clearenv", "--size", str(limits.memory), "--tmpfs", "/tmp",
            "--perms", "0755", "--dir", "/etc", *binds,
            "--proc", "/proc", "--dev", "/dev", "--bind", str(work), "/work",
            "--chdir", "/", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/work", "--setenv", "LANG", "C.UTF-8",
            *(_LEAVE_ROOT if root else ()),
            "prlimit", *(f"--{name}={value}" for name, value in bounds.items()), "env", "-C", "/work", *command,
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
        why = ""

        def too_much() -> None:
            nonlocal why
            why = f"the code was stopped: it printed more than {self.limits.output_chars} characters"
            _kill(process)

        limit = self.limits.output_chars
        reading = asyncio.gather(_read(process.stdout, limit, too_much), _read(process.stderr, limit, too_much))
        try:
            async with asyncio.timeout(self.limits.seconds):
                await asyncio.shield(reading)
                await process.wait()
        except TimeoutError:
            why = f"the code was stopped: it took longer than {self.limits.seconds:g} s"
        finally:
            _kill(process)  # with it goes whatever it started: they share a process namespace
            out, err = await reading
            await process.wait()
        if why or process.returncode:
            return CodeResult(out, error=why or _trace(err) or f"the code ended with status {process.returncode}")
        return CodeResult(out + err)


async def unfit() -> str:
    """Why this machine cannot isolate code; empty when it can. Tried once, with a program that looks for a way out."""
    global _verdict
    if _verdict is None:
        _verdict = await _try_out()
    return _verdict


async def _try_out() -> str:
    if not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux"
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    sandbox = BwrapSandbox(SandboxLimits(seconds=10.0))
    try:
        result = await sandbox._run(_PROBE, "python")  # pyright: ignore[reportPrivateUsage] - ours, without the question we answer here
        found = msgspec.json.decode(result.stdout, type=dict[str, bool])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return "bubblewrap cannot make its namespaces here"
    missing = [name for name, kept in found.items() if not kept]
    return f"its {' and '.join(missing)} cannot be shut off" if missing else ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _homes(program: Path) -> list[Path]:
    """Where an interpreter outside /usr has its own files; for ours, those of its environment and of what that is made from."""
    homes = {program.parent.parent}
    if str(program) == sys.executable:
        homes = {Path(sys.prefix), Path(sys.base_prefix)}
    return sorted(home for home in homes if home.parts[:2] not in (("/",), ("/", "usr")))


async def _read(stream: asyncio.StreamReader, limit: int, too_much: Callable[[], None]) -> str:
    """What comes, up to the limit."""
    data = b""
    while piece := await stream.read(65_536):
        if len(data) <= limit:
            data += piece
            if len(data) > limit:
                too_much()
    return data[:limit].decode("utf-8", "replace")


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


def _trace(said: str) -> str:
    """A traceback without the lines of our own launcher."""
    last = said.strip().rsplit("Traceback (most recent call last):\n", 1)[-1]
    lines = [line for line in last.splitlines() if '"<string>"' not in line]
    return re.sub(r'File "code", line (\d+)(, in <module>)?', r"line \1", "\n".join(lines))
