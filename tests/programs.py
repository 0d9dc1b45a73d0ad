"""Python programs in processes that are forked from one which has imported Treadle already: most of the time of a short
program goes into importing.

`[*python(), "-m", "treadle._cli.main", "tools"]` is a command as `[sys.executable, ...]` would be. What it starts gives
its files, folder and environment to the server, passes signals on and ends as the program does. `-m`, `-c` and paths
are understood; warnings are errors.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, NoReturn

SECONDS = 120
"""Ends a program of `run_programs` that hangs."""
SIZE = 4
ALSO = (
    "mcp.client.auth", "mcp.server.mcpserver", "treadle._tools.mcp.auth.flow", "treadle._tools.mcp.auth.provider",
    "anyio._backends._asyncio", "httpcore2", "truststore", "encodings.idna",
    "asyncpg", "temporalio.client", "temporalio.worker", "uvicorn", "pytest", "hypothesis",
)  # fmt: skip
"""Imported besides Treadle where they are installed."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run_programs(programs: dict[str, str], folder: Any, **environ: str) -> dict[str, Ran]:
    """Run each source text, or each path of a file, in a folder of its own below `folder`."""
    import subprocess

    ran: dict[str, Ran] = {}
    for number, (name, program) in enumerate(programs.items()):
        home = folder / str(number)
        home.mkdir()
        env = {"PATH": "", "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environ}
        env |= {"HOME": str(home), "TREADLE_STATE": str(home)}
        command = [*python(), *(["-c"] if "\n" in program else []), program]
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=SECONDS)
        ran[name] = Ran(done.returncode, done.stdout, done.stderr)
    return ran


@cache
def python() -> list[str]:
    """The command that stands for the interpreter."""
    place, server = start_server()
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return [sys.executable, "-I", "-S", __file__, "start", place]


@cache
def start_server() -> tuple[str, Any]:
    """Do not wait until it has imported everything. It ends with this process and all that are forked from this one."""
    import subprocess
    import tempfile

    place = os.path.join(tempfile.mkdtemp(), "socket")
    command = [sys.executable, "-W", "error", "-X", "utf8", __file__, "serve", place]
    return place, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def start(place: str, arguments: Sequence[str]) -> NoReturn:
    """Have the server run a program, and be it for whoever started this process."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        deaf = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        asked = json.dumps([arguments, os.getcwd(), dict(os.environ), deaf]).encode()
        socket.send_fds(server, [len(asked).to_bytes(SIZE, "big")], [0, 1, 2])
        server.sendall(asked)
        child = int.from_bytes(server.recv(SIZE), "big")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            signal.signal(number, lambda number, _: os.kill(child, number))
        code = int.from_bytes(server.recv(SIZE), "big", signed=True)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def serve(place: str) -> NoReturn:
    import gc
    import importlib
    import pkgutil
    import select

    import treadle
    from treadle import _cli, testing

    for module in (treadle, testing):  # what is imported at its first use
        for name in module.__all__:
            getattr(module, name)
    commands = [module.name for module in pkgutil.walk_packages(_cli.__path__, "treadle._cli.")]
    for name in (*commands, *ALSO):
        with suppress(ModuleNotFoundError):  # an extra
            importlib.import_module(name)
    gc.freeze()  # what is shared with the programs stays so: a collection would touch, and so copy, all of it
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(128)
    running: dict[Any, tuple[int, int, socket.socket]] = {}
    with suppress(BrokenPipeError):
        print("ready", flush=True)
    while True:
        for ready in select.select([0, listener, *running], [], [])[0]:
            if ready == 0:  # who started the server is gone
                for child, _, _ in running.values():
                    os.kill(child, signal.SIGKILL)
                os._exit(0)
            if ready is listener:
                connection, _ = listener.accept()
                size, files, _, _ = socket.recv_fds(connection, SIZE, 3)
                asked = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
                if not (child := os.fork()):
                    listener.close()
                    connection.close()
                    become(files, *json.loads(asked))
                for file in files:
                    os.close(file)
                connection.sendall(child.to_bytes(SIZE, "big"))
                ended = os.pidfd_open(child)
                running[ended] = running[connection] = (child, ended, connection)
            elif ready in running:
                child, ended, connection = running[ready]
                if ready is connection:  # the process that stands for the program was killed
                    os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                del running[ended], running[connection]
                os.close(ended)
                with connection, suppress(BrokenPipeError):
                    code = os.waitstatus_to_exitcode(status)
                    connection.send(code.to_bytes(SIZE, "big", signed=True), socket.MSG_NOSIGNAL)


def become(
    files: Sequence[int], arguments: Sequence[str], folder: str, environ: dict[str, str], deaf: bool
) -> NoReturn:
    """Do in this process what a new interpreter would do, but for taking itself apart at the end."""
    import atexit
    import faulthandler
    import fcntl
    import gc
    import runpy
    import termios
    import threading
    import traceback
    import types

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", errors="backslashreplace", buffering=1, closefd=False)
    if os.isatty(0):  # of which the program has the keys and signals, not who stands for it
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if "PYTHONFAULTHANDLER" in environ:
        faulthandler.enable()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    code = 0
    try:
        if arguments[0] == "-m":
            sys.argv, sys.path[0] = [*arguments[1:]], folder
            sys.modules.pop(arguments[1], None)
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            if arguments[0] == "-c":
                sys.argv, sys.path[0], program = ["-c", *arguments[2:]], "", arguments[1]
            else:
                sys.argv, sys.path[0], main.__file__ = [*arguments], os.path.dirname(arguments[0]), arguments[0]
                with open(arguments[0], encoding="utf-8") as file:
                    program = file.read()
            exec(compile(program, main.__dict__.get("__file__", "<string>"), "exec"), main.__dict__)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # pyright: ignore
    atexit._run_exitfuncs()
    main.__dict__.clear()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or 120
    os._exit(code)


if __name__ == "__main__":
    start(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "start" else serve(sys.argv[2])
