"""A real Python for code that needs packages: one process in bubblewrap for a run, its variables stay between steps.

Code and calls go through the standard streams as lines of JSON. What the code prints is collected inside; plots that
are open at the end of a step are saved as pictures.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from subprocess import DEVNULL, PIPE
from typing import Any

import msgspec

from treadle._tools.results import cut
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.bwrap import isolation_problem, start_isolated, watch_use
from treadle._tools.sandbox.command import SCRATCH_FOLDERS, sandbox_command
from treadle._tools.sandbox.interpreters import python_interpreter
from treadle._tools.sandbox.monty import EndProgram, Function
from treadle._types.errors import ToolError

LIMITS = SandboxLimits(seconds=60.0, memory=2 * 1024**3, scratch=256 * 1024**2)
_MAX_LINE = 64 * 1024**2
_MAX_TRACE = 2_000
_START_SECONDS = 60
_DRIVER = r"""
import ast, asyncio, functools, inspect, io, json, os, sys, traceback
source, sink = os.fdopen(os.dup(0), 'r'), os.fdopen(os.dup(1), 'w')
os.dup2(os.open(os.devnull, os.O_RDWR), 0)
space = {'__name__': '__main__'}
class End(BaseException):
    pass
def send(message):
    sink.write(json.dumps(message, default=str) + '\n')
    sink.flush()
def receive():
    line = source.readline()
    if not line:
        os._exit(0)
    return json.loads(line)
ended = False
def call(name, *args, **named):
    global ended
    if ended:
        raise End
    send({'call': name, 'args': args, 'named': named})
    reply = receive()
    if reply.get('end'):
        ended = True
        raise End
    if 'error' in reply:
        raise RuntimeError(reply['error'])
    return reply['value']
gather = asyncio.gather
async def value_of(value):
    return await value if inspect.isawaitable(value) else value
asyncio.gather = lambda *values, **options: gather(*map(value_of, values), **options)
def run(tree, mode):
    code = compile(tree, 'code', mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, space)
    return asyncio.run(value) if inspect.iscoroutine(value) and code.co_flags & inspect.CO_COROUTINE else value
def pictures():
    plots = sys.modules.get('matplotlib.pyplot')
    for number in plots.get_fignums() if plots else ():
        name, count = f'figure-{number}.png', 1
        while os.path.exists(name):
            count += 1
            name = f'figure-{number}-{count}.png'
        plots.figure(number).savefig(name)
    if plots:
        plots.close('all')
send({'ready': True})
while True:
    step = receive()
    ended, value, error = False, None, ''
    for name in step['functions']:
        space[name] = functools.partial(call, name)
    sys.stdout = sys.stderr = printed = io.StringIO()
    try:
        tree = ast.parse(step['code'], 'code')
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        run(tree, 'exec')
        if last is not None:
            value = run(ast.Expression(last.value), 'eval')
            value = value if value is None or isinstance(value, str) else repr(value)
        pictures()
    except End:
        pictures()
    except BaseException as problem:
        lines = traceback.format_exception(problem)
        error = ''.join(line for line in lines if '<string>' not in line and 'Traceback (most' not in line)
        error = error.replace('File "code", ', '').replace(', in <module>', '')
    text = printed.getvalue()
    more = len(text) > step['chars']
    send({'done': True, 'stdout': text[:step['chars']], 'value': value, 'error': error, 'more': more})
"""


class PythonSession:
    """The interpreter of one run. `folder` is a folder of our own: the code works in it, and nowhere else."""

    def __init__(self, python: str, folder: str, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or LIMITS
        self._python, self._folder = python, folder
        self._process: asyncio.subprocess.Process | None = None
        self._ended = threading.Event()
        self._overuse: list[str] = []
        self.lost = False
        """Whether its variables are gone, because the process was stopped."""

    async def run(self, code: str, functions: Mapping[str, Function] | None = None) -> CodeResult:
        """Run the code with the variables of earlier code. Raises what a function raises, except `ToolError`."""
        if len(code) > self.limits.code_chars:
            return CodeResult(error=f"the code is too long: more than {self.limits.code_chars} characters")
        step = {"code": code, "functions": list(functions or {}), "chars": self.limits.output_chars}
        try:
            process = self._process or await self._start()
            self._send(process, step)
            return await self._answer(process, functions or {})
        except (ConnectionError, EOFError, ValueError):
            await self.close()
            why = "".join(self._overuse) or "the code was stopped: its process ended"
            return CodeResult(error=f"{why}. Its variables are gone.")
        except TimeoutError:
            await self.close()
            limit = f"it took longer than {self.limits.seconds:g} s"
            return CodeResult(error=f"the code was stopped: {limit}. Its variables are gone.")
        except BaseException:
            await self.close()  # in the middle of a step: what is there now is not what the log says
            raise

    async def _answer(self, process: asyncio.subprocess.Process, functions: Mapping[str, Function]) -> CodeResult:
        while True:
            message = await self._message(process, self.limits.seconds)
            if "done" in message:
                more = "\n(more was printed than is shown)" if message["more"] else ""
                return CodeResult(message["stdout"] + more, message["value"], cut(message["error"], _MAX_TRACE).strip())
            try:
                reply = {"value": await functions[message["call"]](tuple(message["args"]), message["named"])}
            except ToolError as error:
                reply = {"error": str(error)}
            except EndProgram:
                reply = {"end": True}
            self._send(process, reply)

    async def _message(self, process: asyncio.subprocess.Process, seconds: float) -> dict[str, Any]:
        """The next line. Of a step only the time that the code itself takes counts: neither the start nor its calls."""
        assert process.stdout is not None
        async with asyncio.timeout(seconds):
            line = await process.stdout.readline()
        if not line:
            raise EOFError
        return msgspec.json.decode(line, type=dict[str, Any])

    def _send(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(message, enc_hook=str) + b"\n")

    async def _start(self) -> asyncio.subprocess.Process:
        if problem := await isolation_problem():
            raise ToolError(f"the code was not run: it cannot be isolated on this machine ({problem})")
        interpreter = await asyncio.to_thread(python_interpreter, self._python)
        command = partial(sandbox_command, "python", interpreter, self.limits, self._folder, session=_DRIVER)
        self._process = await start_isolated(command, stdin=PIPE, stderr=DEVNULL, limit=_MAX_LINE)
        self._ended = threading.Event()
        self._overuse = watch_use(self._process.pid, self.limits, SCRATCH_FOLDERS, self._ended)
        try:
            await self._message(self._process, _START_SECONDS)
        except TimeoutError:
            raise ToolError(f"the code was not run: its process did not start within {_START_SECONDS} s") from None
        return self._process

    async def close(self) -> None:
        """End the process; a later step starts another one, without the variables."""
        process, self._process = self._process, None
        self._ended.set()
        self.lost = True
        if process is not None:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            await process.wait()


def allow_access(folder: str, user: int) -> None:
    """Let the user of the sandbox work in a folder of ours."""
    if hasattr(os, "chown") and os.geteuid() == 0:
        for path, names, files in os.walk(folder):
            for name in (path, *(os.path.join(path, one) for one in (*names, *files))):
                os.chown(name, user, user)
