"""Run commands in the workspace's shell, and programs beside it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from treadle._tools.base import ToolResponse
from treadle._types.errors import ToolError
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.shell import Ended, run_program

CommandText = Annotated[str, Meta(min_length=1, max_length=100_000, description="The command for bash")]
Timeout = Annotated[int, Meta(ge=1, le=3_600, description="Seconds after which it is stopped")]
Background = Annotated[
    bool, Meta(description="Go on at once and let it work, like a server; bash_output shows what it prints")
]
JobName = Annotated[str, Meta(max_length=20, description="The name that bash gave the background job")]
Wait = Annotated[int, Meta(ge=0, le=600, description="Seconds to wait until it has ended")]
Stop = Annotated[bool, Meta(description="End the job")]

_NEEDS_TERMINAL = {
    **dict.fromkeys(("vi", "vim", "nvim", "nano", "emacs", "pico", "ed"), "change files with edit or write"),
    **dict.fromkeys(("top", "htop", "watch"), "use ps, or run the command itself again"),
    **dict.fromkeys(("less", "more", "man"), "use read, or cat with head and tail"),
    **dict.fromkeys(("tmux", "screen"), "start it with background=true"),
    **dict.fromkeys(("ftp", "telnet", "passwd", "visudo"), "it asks a person at a terminal, and there is none here"),
}
_FIRST_WORDS = re.compile(
    r"(?:^|[;&|\n(])[^\S\n]*+(?:(?:sudo|exec)[^\S\n]++)?([\w./-]++)(?=\s|$|[;&|)])(?![^\S\n]*+--(?:help|version|batch))"
)
FAILED = r"\[exit code \d+\]\Z"
"""In the result of a command that was to act and did not succeed."""
_JOB_BYTES = 10_000_000
_START = r"""
[ -n "$__jobs" ] || {{ __jobs=$(mktemp -d) && trap 'rm -rf "$__jobs"' EXIT; }}
set -m
{{ {{ eval {command}; builtin printf '%s' $? >"$__jobs/{name}.status"; }} </dev/null 2>&1 |
  {{ head -c {limit} >"$__jobs/{name}"; cat >/dev/null; }}; }} &
builtin printf '%s' $! >"$__jobs/{name}.pid"
set +m
"""
_LOOK = r"""
{stop}
for __i in $(seq {wait}0); do [ -e "$__jobs/{name}.status" ] && break; sleep 0.1; done
tail -c +{start} "$__jobs/{name}" 2>/dev/null
builtin printf '\n%s' "$(cat "$__jobs/{name}.status" 2>/dev/null)"
"""


async def run_command(bench: Bench, command: str, seconds: int, show: Callable[[str], None]) -> ToolResponse:
    """Run a command in the shell, and say how it ended."""
    refuse_terminal(command)
    ended = await bench.shell.run(command, seconds, show)
    return ToolResponse(described(ended, seconds), error=ended.timed_out)


async def run_reading(bench: Bench, command: str, seconds: int, show: Callable[[str], None]) -> ToolResponse:
    """Run a command that only reads: in a new shell without the functions of the other, where nothing can be
    written."""
    line = ["bash", "--noprofile", "--norc", "-c", 'cd -- "$0" && eval "$1"', bench.shell.folder or ".", command]
    quiet = {"GIT_OPTIONAL_LOCKS": "0"}
    ended = await run_program(bench.machine, line, seconds, read_only=True, extra=quiet, show=show)
    return ToolResponse(described(ended, seconds), error=ended.timed_out)


def described(ended: Ended, seconds: int) -> str:
    """Return the output of a command with what a person would have seen besides."""
    notes: list[str] = []
    if ended.timed_out:
        notes.append(
            f"[stopped after {seconds} s; give a longer timeout, or start it with background=true"
            + ("; the shell was busy itself and had to be ended with it]" if ended.shell_ended else "]")
        )
    elif ended.status:
        notes.append(f"[exit code {ended.status}]")
    if ended.shell_ended:
        where = f" in {ended.folder}" if ended.folder else ""
        notes.append(f"[the shell has ended; the next command starts a new one{where}: unexported variables are gone]")
    text = ended.output.rstrip("\n")
    return "\n".join(filter(None, (text, *notes))) or "(no output)"


def refuse_terminal(command: str) -> None:
    """Refuse programs that fill a screen or wait for keys: there is no terminal."""
    for match in _FIRST_WORDS.finditer(command):
        name = match[1].rpartition("/")[2]
        if advice := _NEEDS_TERMINAL.get(name):
            raise ToolError(f"{name} needs a terminal, and there is none here: {advice}")


async def start_job(bench: Bench, command: str) -> str:
    """Start a background job in the shell, so that what it opens on this machine can be reached from there."""
    refuse_terminal(command)
    name = f"job{len(bench.jobs) + 1}"
    bench.jobs[name] = 0
    ended = await bench.shell.run(_START.format(command=shlex.quote(command), name=name, limit=_JOB_BYTES), 30)
    if ended.status or ended.shell_ended:
        raise ToolError(f"the job could not be started: {ended.output[:500]}")
    return f'{name} has started; bash_output(job="{name}") shows what it prints, with stop=true it ends'


async def job_output(bench: Bench, name: str, wait: int, stop: bool) -> str:
    """Return what a job has printed since it was last asked, and whether it is still working."""
    if name not in bench.jobs:
        raise ToolError(f"there is no job {name[:20]!r}; there are: {', '.join(bench.jobs) or 'none'}")
    ending = f'kill -TERM -- -"$(cat "$__jobs/{name}.pid")" 2>/dev/null; sleep 0.2' if stop else ""
    text = _LOOK.format(name=name, stop=ending, wait=wait, start=bench.jobs[name] + 1)
    ended = await bench.shell.run(text, wait + 30)
    if ended.shell_ended or ended.status:
        raise ToolError("the shell has ended, and its jobs with it")
    output, _, status = ended.output.rpartition("\n")
    bench.jobs[name] += len(output.encode("utf-8", "surrogateescape"))
    state = f"it has ended with exit code {status}" if status else "it was stopped" if stop else "it is working"
    return "\n".join(filter(None, (output.rstrip("\n"), f"[{name}: {state}]")))
