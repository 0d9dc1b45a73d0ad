"""A bash that stays open between commands: directory, variables and functions are kept as a person's would be; and
programs beside it.

Commands go in through its standard input, what they print comes out of its standard output, and after each command the
shell reports on its standard error how it ended and what its state is. There is no terminal and no prompt: each command
has a number that nobody can guess, and its end is marked with it. A shell that a command has ended (`exit`, `exec`,
`kill -9 $$`) is started again where it was.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from treadle._tools.sandbox.tree import descendants
from treadle._types.errors import ToolError
from treadle._workspace.machine import Machine

MOST_OUTPUT = 1_800_000
"""Characters of a command's output that are kept: half of them from its beginning, half from its end."""
_MOST_STATE = 1_000_000
_GRACE_SECONDS = 1.5
"""Between asking the processes of a command to end and ending them, and for the shell to say that they have."""
_LOOP = r"""
exec 3<&0 4>&2 5>&1 0</dev/null 2>&1
shopt -s expand_aliases
trap '__stop=1; shopt -s extdebug; trap "[[ -z \$__stop || \$BASH_COMMAND == __st* ]]" DEBUG' USR1
while IFS= builtin read -r -d '' -u 3 __id && IFS= builtin read -r -d '' -u 3 __command; do
  eval "$__command" </dev/null >&5 2>&1 3<&- 4>&- 5>&-
  __status=$?
  __stop=
  trap - DEBUG; shopt -u extdebug
  set +eux; unset __command
  builtin printf '\0%s\0' "$__id" >&5
  { builtin printf '\0%s\0%s\0%s\0' "$__id" "$__status" "$PWD"; export -p; declare -f; alias -p
    builtin printf '\0%s\0' "$__id"; } >&4
done
"""
_KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX",
    "JAVA_HOME", "GOPATH", "CARGO_HOME", "RUSTUP_HOME",
)  # fmt: skip
"""What a shell gets of this process's environment. Keys of providers are not among it."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class Ended(Struct, frozen=True):
    """How a command ended, and what it printed."""

    output: str
    status: int
    folder: str
    """Where the shell is after it, as the shell sees it."""
    timed_out: bool = False
    shell_ended: bool = False
    """It has ended the shell itself: what was not exported is gone."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program in a workspace: nothing waits for a person at a terminal."""
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    quiet = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "EDITOR": "false", "GIT_TERMINAL_PROMPT": "0"}
    return {"LANG": "C.UTF-8", **own, **quiet, **(extra or {})}


class Shell:
    """One shell of one machine. Commands are run one after the other."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._process: asyncio.subprocess.Process | None = None
        self._state = ""
        self.folder = ""
        """Where the shell is, as it was said after the last command; empty at the beginning."""

    async def run(self, command: str, seconds: float, show: Callable[[str], None] = lambda text: None) -> Ended:
        """Run a command; `show` gets what it prints as it comes. What takes longer is ended, and the shell is not."""
        if "\0" in command:
            raise ToolError("the command contains a NUL character")
        process = await self._open()
        spared = descendants(process.pid)
        number = secrets.token_hex(16)
        output = Output(show)
        try:
            ending = asyncio.ensure_future(self._converse(process, number, command, output))
            try:
                timed_out = not (await asyncio.wait({ending}, timeout=seconds))[0]
                if timed_out:
                    await self._end_command(process, ending, spared)
                report = await ending
            finally:
                ending.cancel()
        except BaseException:
            await self.close()
            raise
        if report is None:
            status = await process.wait()
            self._process = None
            return Ended(output.text(), _status(status), self.folder, timed_out, True)
        status, self.folder, self._state = report
        return Ended(output.text(), status, self.folder, timed_out)

    async def close(self) -> None:
        """End the shell and whatever it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        left = descendants(process.pid) if process.returncode is None else []
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in left:  # what waits for another one first: it must not go on when that ends
            _kill(pid, signal.SIGKILL)
        await process.wait()  # its own `kill` would take its status from whoever waits for it

    async def _open(self) -> asyncio.subprocess.Process:
        """Return the running shell; one that has ended meanwhile is started again, as it was."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        line = self._machine.command(["bash", "--noprofile", "--norc", "-c", _LOOP], env=environment())
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *line, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._machine.root, env=environment(),
                start_new_session=True, limit=1 << 16,
            )  # fmt: skip
        except OSError as error:
            raise ToolError(f"the shell cannot be started: {error.strerror or type(error).__name__}") from None
        self._process = process
        restored = f"{self._state}\ncd -- {shlex.quote(self.folder)}" if self.folder else "true"
        number = secrets.token_hex(16)
        report = await self._converse(process, number, f"{{ {restored}\n}} >/dev/null 2>&1", Output(lambda text: None))
        if report is None:
            await self.close()
            raise ToolError("the shell of this workspace does not start")
        return process

    async def _converse(
        self, process: asyncio.subprocess.Process, number: str, command: str, output: Output
    ) -> tuple[int, str, str] | None:
        """Send a command; return its status, the folder and the state after it, or None where the shell has ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        with suppress(ConnectionError):
            process.stdin.write(f"{number}\0{command}\0".encode("utf-8", "surrogateescape"))
            await process.stdin.drain()
        _, report = await asyncio.gather(
            _copy(process.stdout, f"\0{number}\0".encode(), output), _report(process.stderr, number.encode())
        )
        return report

    async def _end_command(
        self, process: asyncio.subprocess.Process, ending: asyncio.Future[Any], spared: Sequence[int]
    ) -> None:
        """End what the command has started, and leave out the rest of it; the shell too where it is busy itself."""
        shell = _shell_in(spared)
        for how in (signal.SIGTERM, signal.SIGKILL):
            if shell:  # it must not go on with the next program when this one ends
                _kill(shell, signal.SIGSTOP)
                _kill(shell, signal.SIGUSR1)
            for pid in descendants(process.pid):  # what waits for another one, first: for the same reason
                if pid not in spared:
                    _kill(pid, how)
            if shell:
                _kill(shell, signal.SIGCONT)
            if (await asyncio.wait({ending}, timeout=_GRACE_SECONDS))[0]:
                return
        await self.close()


async def run_program(
    machine: Machine,
    line: Sequence[str],
    seconds: float,
    *,
    read_only: bool,
    extra: Mapping[str, str] | None = None,
    show: Callable[[str], None] = lambda text: None,
) -> Ended:
    """Return how it ended; nothing that it has started lives on."""
    env = environment(extra)
    output, timed_out = Output(show), False
    try:
        process = await asyncio.create_subprocess_exec(
            *machine.command(line, read_only=read_only, env=env), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=machine.root, env=env,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ToolError(f"{line[0]} cannot be started: {error.strerror or type(error).__name__}") from None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(seconds):
            while piece := await process.stdout.read(1 << 16):
                output.add(piece)
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        for pid in reversed(descendants(process.pid)):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        status = await process.wait()
    return Ended(output.text(), _status(status), "", timed_out)


class Output:
    """The text that a command prints: its beginning and its end are kept, and it is shown as it comes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        from codecs import getincrementaldecoder

        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._show = show
        self._shown = 0
        self._head: list[str] = []
        self._tail: list[str] = []
        self._sizes = [0, 0]
        self._left_out = 0

    def add(self, data: bytes) -> None:
        text = self._decode(data)
        if self._shown < MOST_OUTPUT:
            self._shown += len(text)
            self._show(text)
        room = MOST_OUTPUT // 2 - self._sizes[0]
        if room > 0:
            self._head.append(text[:room])
            self._sizes[0] += len(text[:room])
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._sizes[1] += len(text)
        while self._sizes[1] - len(self._tail[0]) > MOST_OUTPUT // 2:
            dropped = self._tail.pop(0)
            self._sizes[1] -= len(dropped)
            self._left_out += len(dropped)

    def text(self) -> str:
        """Return it as a terminal would show it in the end."""
        gap = f"\n[... {self._left_out} characters left out ...]\n" if self._left_out else ""
        text = "".join((*self._head, gap, *self._tail)).replace("\0", "")
        return _as_shown(_ESCAPES.sub("", text)) if "\x1b" in text or "\r" in text else text


def _as_shown(text: str) -> str:
    """Return what a screen shows in the end: what a carriage return has overwritten is gone, line ends stay."""
    *lines, last = text.split("\n")
    bodies = [line.removesuffix("\r") for line in lines]
    ends = [line[len(body) :] for line, body in zip(lines, bodies, strict=True)]
    shown = [body.rpartition("\r")[2] + end for body, end in zip(bodies, ends, strict=True)]
    return "\n".join([*shown, last.rpartition("\r")[2]])


async def _copy(source: asyncio.StreamReader, mark: bytes, output: Output) -> None:
    """Copy what comes until the mark, or until the end."""
    held = b""
    while piece := await source.read(1 << 16):
        held += piece
        before, ended, _ = held.partition(mark)
        if ended:
            output.add(before)
            return
        begun = next((at for at in _zeros(held) if mark.startswith(held[at:])), len(held))
        output.add(held[:begun])
        held = held[begun:]
    output.add(held)


def _zeros(data: bytes) -> Iterator[int]:
    at = data.find(b"\0")
    while at >= 0:
        yield at
        at = data.find(b"\0", at + 1)


async def _report(source: asyncio.StreamReader, number: bytes) -> tuple[int, str, str] | None:
    """Read `number status folder state number`; None where it ends before."""
    begin, end = b"\0" + number + b"\0", b"\0" + number + b"\0"
    held = b""
    while True:
        start = held.find(begin)
        if start >= 0 and (stop := held.find(end, start + len(begin))) >= 0:
            status, folder, state = held[start + len(begin) : stop].split(b"\0", 2)
            text = state[:_MOST_STATE].decode("utf-8", "surrogateescape") if len(state) <= _MOST_STATE else ""
            return int(status), folder.decode("utf-8", "surrogateescape"), text
        piece = await source.read(1 << 16)
        if not piece:
            return None
        held += piece
        if start < 0 and begin not in held:  # what something else has written there
            held = held[-len(begin) * 2 :]


def _shell_in(pids: Sequence[int]) -> int:
    """Return the process that runs the loop, within whatever isolates it; 0 where it cannot be seen from here."""
    for pid in pids:
        with suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"bash\0"):
                return pid
    return 0


def _status(code: int) -> int:
    """Return an exit status as a shell would say it."""
    return code if code >= 0 else 128 - code


def _kill(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, how)
