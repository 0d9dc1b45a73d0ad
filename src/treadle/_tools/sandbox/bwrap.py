"""The sandbox for full CPython and for JavaScript: a process in bubblewrap's namespaces (Linux).

No network, a read-only system, an empty environment, a work folder and temporary folders of a limited size as the only
places to write, an unprivileged user, and limits on time, memory, processes and output that hold for all processes of
the code together. On a machine that cannot provide all of this, code is refused, not run.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from subprocess import PIPE
from typing import Any

import msgspec

from treadle._python_process import SAFE_FOLDER
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.command import SCRATCH_FOLDERS, WORK, Language, Script, sandbox_command
from treadle._tools.sandbox.interpreters import node_interpreter, python_interpreter, shell_interpreter
from treadle._tools.sandbox.seccomp import system_call_filter
from treadle._tools.sandbox.tree import measure
from treadle._types.errors import ToolError

__all__ = ["BwrapSandbox", "Language", "isolation_problem"]

_MEASURE_SECONDS = 0.03
_FILE_BYTES = 4096
"""What a file is taken for, even if it is empty."""
_OWN_PROCESSES = 5
"""bubblewrap's own in both layers, at most."""
_PROBE = """
import ctypes, json, os, socket
from contextlib import suppress
def fails(action):
    try:
        action()
    except OSError:
        return True
    return False
def write(path):
    open(path, 'x').close()
    os.remove(path)
def user_namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
        raise OSError
def environment_of_first():
    with suppress(OSError):
        return open('/proc/1/environ').read()
    return ''
print(json.dumps({
    'network': fails(lambda: socket.create_connection(('1.1.1.1', 53), 0.2))
        and [name for _, name in socket.if_nameindex()] in ([], ['lo']),
    'system folders': all(fails(lambda: write(path)) for path in ('/usr/probe', '/probe', '/dev/probe')),
    'root user': os.getuid() != 0,
    'work folder': not fails(lambda: write('/work/probe')),
    'other processes': len([name for name in os.listdir('/proc') if name.isdigit()]) < 8,
    'environment': not environment_of_first(),
    'user namespaces': fails(user_namespace),
}))
"""
_isolation_problem: str | None = None


class BwrapSandbox:
    """Runs each piece of code in a new process. /work is the given `folder`, or a temporary one in memory."""

    def __init__(
        self, limits: SandboxLimits | None = None, *, folder: str = "", python: str = "", node: str = ""
    ) -> None:
        self.limits = limits or SandboxLimits()
        self._folder = os.path.abspath(folder) if folder else ""
        self._programs = {"python": python or sys.executable, "javascript": node or shutil.which("node") or ""}

    async def run(self, code: str, language: Language = "python") -> CodeResult:
        """`ToolError` when this machine cannot isolate the code."""
        await self._require(language)
        if len(code) > self.limits.code_chars:
            return CodeResult(error=f"the code is too long: more than {self.limits.code_chars} characters")
        return await self._run(code, language)

    async def run_script(self, script: Script, language: str, text: str = "") -> CodeResult:
        """A program in a folder, with arguments and with `text` as its standard input. Refused like `run`."""
        await self._require(language)
        return await self._run(text, language, script)

    async def _require(self, language: str) -> None:
        if problem := await isolation_problem():
            raise ToolError(f"the code was not run: it cannot be isolated on this machine ({problem})")
        if not self._programs.get(language, "shell"):
            raise ToolError(f"the code was not run: no interpreter for {language} is installed on this machine")

    async def _run(self, text: str, language: str, script: Script | None = None) -> CodeResult:
        with memory_file(text.encode("utf-8", "replace")) as program:
            process = await start_isolated(partial(self._command, language, script), stdin=program, stderr=PIPE)
        return await self._supervise(process)

    def _command(self, language: str, script: Script | None, filter_fd: int | None) -> list[str]:
        if self._folder and not os.path.isdir(self._folder):
            raise ToolError(f"the code was not run: there is no folder {self._folder}")
        if language == "shell":
            interpreter = shell_interpreter()
        else:
            find = python_interpreter if language == "python" else node_interpreter
            interpreter = find(self._programs[language])
        return sandbox_command(language, interpreter, self.limits, self._folder, filter_fd, script)

    async def _supervise(self, process: asyncio.subprocess.Process) -> CodeResult:
        assert process.stdout is not None
        assert process.stderr is not None
        stopped = ""

        def stop(reason: str) -> None:
            nonlocal stopped
            stopped = stopped or f"the code was stopped: {reason}"
            _kill(process)

        limit = self.limits.output_chars
        too_much = f"it printed more than {limit} characters"
        reading = asyncio.gather(
            _read(process.stdout, limit, lambda: stop(too_much)), _read(process.stderr, limit, lambda: stop(too_much))
        )
        ended = threading.Event()
        scratch = SCRATCH_FOLDERS if self._folder else (*SCRATCH_FOLDERS, WORK)
        overuse = watch_use(process.pid, self.limits, scratch, ended)
        try:
            async with asyncio.timeout(self.limits.seconds):
                await asyncio.shield(reading)
                await process.wait()
        except TimeoutError:
            stop(f"it took longer than {self.limits.seconds:g} s")
        finally:
            ended.set()
            _kill(process)  # ends its child processes too: they share a process namespace
            out, err = await reading
            await process.wait()
        stopped = stopped or "".join(overuse)
        if not stopped and process.returncode and err.startswith("bwrap: "):
            raise ToolError(f"the code was not run: {err.strip()[:500]}")
        if stopped or process.returncode:
            error = stopped or _user_traceback(err) or f"the code ended with status {process.returncode}"
            return CodeResult(out, error=error)
        return CodeResult(out + err)


async def start_isolated(command: Callable[[int | None], list[str]], **options: Any) -> asyncio.subprocess.Process:
    """Start a sandbox; `command` gives its command line for the descriptor of the system call filter, if there is one.

    In a thread: programs are started that say what they can do and where their files are, once for each.
    """
    compiled = system_call_filter()
    with memory_file(compiled) as filter_fd:
        line = await asyncio.to_thread(command, filter_fd if compiled else None)
        return await asyncio.create_subprocess_exec(
            *line,
            stdout=PIPE,
            pass_fds=[filter_fd],
            env={},  # bubblewrap's own process, which the code can look at, has none of ours
            cwd=SAFE_FOLDER,
            **options,
        )


def watch_use(pid: int, limits: SandboxLimits, scratch: tuple[str, ...], ended: threading.Event) -> list[str]:
    """Kills the code when all its processes together use too much: the kernel's limits hold for each alone.

    The list then says why. In a thread of its own: an event loop may be busy with something else.
    """
    overuse: list[str] = []
    try:
        handle = os.pidfd_open(pid)  # a number could be given to another process meanwhile
    except ProcessLookupError:  # it has ended already
        return overuse

    def watch() -> None:
        try:
            while not ended.wait(_MEASURE_SECONDS):
                use = measure(pid, limits.memory, scratch)
                if use.memory > limits.memory:
                    overuse.append(f"the code was stopped: it used more than {limits.memory // 2**20} MB of memory")
                elif use.processes > limits.processes + _OWN_PROCESSES:
                    overuse.append(f"the code was stopped: it started more than {limits.processes} processes")
                elif use.files > limits.scratch // _FILE_BYTES:
                    overuse.append("the code was stopped: it made too many files in its temporary folders")
                if overuse:
                    with suppress(ProcessLookupError):
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                    return
        finally:
            os.close(handle)

    threading.Thread(target=watch, name="treadle-sandbox", daemon=True).start()
    return overuse


@contextmanager
def memory_file(content: bytes) -> Generator[int]:
    """A descriptor of a file that has no name, can be read and never changed."""
    import fcntl  # not on every system that this module is imported on

    descriptor = os.memfd_create("treadle", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        yield descriptor
    finally:
        os.close(descriptor)


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
    except ToolError as error:
        return str(error).removeprefix("the code was not run: ")
    try:
        isolated = msgspec.json.decode(result.stdout, type=dict[str, bool])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return f"bubblewrap failed: {result.error.strip().rpartition(chr(10))[2][:200] or 'no output'}"
    missing = [name for name, holds in isolated.items() if not holds]
    return f"bubblewrap does not isolate the {' and the '.join(missing)}" if missing else ""


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
