"""Run one program beside the shell: to its end, or as long as it may."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from treadle._tools.sandbox.tree import descendants
from treadle._types.errors import ToolError
from treadle._workspace.machine import Machine
from treadle._workspace.tools.shell import Ended, Output, environment, exit_status


def _nothing(text: str) -> None:
    pass


async def run_program(
    machine: Machine,
    line: Sequence[str],
    seconds: float,
    *,
    read_only: bool,
    extra: Mapping[str, str] | None = None,
    show: Callable[[str], None] = _nothing,
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
    return Ended(output.text(), exit_status(status), "", timed_out)
