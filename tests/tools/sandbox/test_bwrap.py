"""The full-CPython sandbox: code is isolated or refused."""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import shutil
import threading
import venv
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import go
from node_programs import node_and_npm
from treadle._tools.sandbox import bwrap, command
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.bwrap import BwrapSandbox
from treadle._tools.sandbox.tree import TreeUse
from treadle._types.errors import ToolError

SMALL = SandboxLimits(seconds=60.0, memory=200 * 2**20, output_chars=5_000, processes=16)
"""The time limit is far away: on a busy machine the other limits must be what stops the code."""


SHORT = msgspec.structs.replace(SMALL, seconds=2.0)


def run(code: str, language: Any = "python", limits: SandboxLimits = SMALL, **options: Any) -> CodeResult:
    async def main() -> CodeResult:
        if why := await bwrap.isolation_problem():
            pytest.skip(f"this machine cannot isolate code: {why} (Debian: apt-get install bubblewrap)")
        return await BwrapSandbox(limits, **options).run(code, language)

    return go(main(), limit=100)


def test_output_last_value_and_errors_with_their_line():
    assert run("import statistics\nprint('hi')\nstatistics.mean([1, 2])").text(100) == "hi\n1.5"
    assert "line 2" in run("x = 1\nx / 0").error
    assert "ZeroDivisionError" in run("def f():\n    return 1 / 0\nf()").error
    assert "SyntaxError" in run("x = (").error


def outcomes(*attempts: str, **options: Any) -> list[str]:
    """What comes of each of these expressions, in one process: its value, or the error."""
    code = f"""
import ctypes, os, socket, subprocess
for attempt in {attempts}:
    try:
        print(eval(attempt))
    except (OSError, subprocess.CalledProcessError) as error:
        print(type(error).__name__, getattr(error, 'strerror', ''))
"""
    result = run(code, **options)
    assert (result.error, result.stdout.count("\n")) == ("", len(attempts)), result
    return result.stdout.splitlines()


def test_nothing_gets_out():
    tried = outcomes(
        "socket.create_connection(('1.1.1.1', 80), 1)",
        "socket.create_connection(('127.0.0.1', 22), 1)",
        "open('/etc/passwd').read()",
        "os.setuid(0)",
        "os.chroot('/')",
        "subprocess.run(['mount', '-t', 'tmpfs', 'x', '/work'], check=True, capture_output=True)",
        *(f"open({place!r}, 'w')" for place in ("/x", "/dev/x", "/usr/x", "/etc/x", "/proc/sys/kernel/hostname")),
        "os.kill(1, 9)",
    )
    assert all("Error" in one for one in tried[:6]), tried
    assert all("Read-only" in one or "Permission denied" in one for one in tried[6:-1]), tried
    # The last line is only there if the first process of the namespace is, too.


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 'a' * 10**10", "MemoryError"),
        ("while True: print('x' * 1000)", "more than 5000 characters"),
        ("import os\nwhile True:\n    os.fork()", ("stopped", "BlockingIOError", "ended with status")),
        (
            "import os\nfor _ in range(100):\n    if os.fork() == 0:\n        import time; time.sleep(60)",
            "BlockingIOError",
        ),
        ("open('/work/big', 'wb').truncate(10**12)", "File too large"),
        ("import ctypes\nctypes.string_at(0)", "status"),
    ],
)
def test_bombs_are_stopped(code: str, says: str | tuple[str, ...]):
    result = run(code)
    assert any(text in result.error for text in ([says] if isinstance(says, str) else says)), result.error[-500:]


@pytest.mark.parametrize("code", ["while True: pass", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"])
def test_code_that_never_ends_is_stopped(code: str):
    assert "longer than 2 s" in run(code, limits=SHORT).error


def test_code_that_is_too_long_is_not_run():
    assert "too long: more than 10 characters" in run("print('x' * 10)", limits=SandboxLimits(code_chars=10)).error


def test_javascript():
    node, _ = node_and_npm()
    assert run("console.log([1, 2].map(x => x * 2))", "javascript", node=node).stdout == "[ 2, 4 ]\n"
    assert "Error: x" in run("throw new Error('x')", "javascript", node=node).error
    assert "longer than" in run("while (true) {}", "javascript", limits=SHORT, node=node).error
    assert "ENOENT" in run("require('fs').readFileSync('/etc/passwd')", "javascript", node=node).error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder; as root the code runs as another user, so it must be open to all."""
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def test_a_given_work_folder(folder: Path):
    (folder / "data.txt").write_text("7")
    assert run("open('/work/data.txt').read()", folder=str(folder)).stdout.strip() == "7"
    run("open('new.txt', 'w').write('x')", folder=str(folder))
    assert (folder / "new.txt").read_text() == "x"


def test_a_relative_folder(folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "data.txt").write_text("7")
    monkeypatch.chdir(folder.parent)
    assert run("open('/work/data.txt').read()", folder="work").stdout.strip() == "7"
    with pytest.raises(ToolError, match="there is no folder"):
        run("1", folder="none")


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_folder_is_touched_by_the_code_alone(folder: Path, language: str):
    """Not even by a file of the program's own name; the program comes through a descriptor."""
    name = {"python": "code.py", "javascript": "code.js"}[language]
    code = {"python": "print(6 * 7)", "javascript": "console.log(6 * 7)"}[language]
    node, _ = node_and_npm()
    (folder / name).write_text("ours")
    assert run(code, language, folder=str(folder), node=node).stdout == "42\n"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: "ours"}


def test_a_link_that_the_code_planted_leads_nowhere(folder: Path, tmp_path: Path):
    outside = tmp_path / "profile"
    outside.write_text("ours")
    outside.chmod(0o666)
    plant = f"import os\nfor name in ('code.py', 'code.js'):\n    os.symlink({str(outside)!r}, name)"
    assert run(plant, folder=str(folder)).error == ""
    assert (folder / "code.py").is_symlink()
    assert run("print('text for the host')", folder=str(folder)).stdout == "text for the host\n"
    assert "No such file" in run("open('code.py', 'w')", folder=str(folder)).error
    assert outside.read_text() == "ours"


def test_a_pipe_that_the_code_planted_blocks_nobody(folder: Path):
    assert run("import os\nos.mkfifo('code.py')", folder=str(folder)).error == ""
    assert run("print('goes on')", folder=str(folder)).stdout == "goes on\n"


def test_nothing_of_the_environment_in_any_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_OURS", "xyz")
    read = """
import os
print(sorted(os.environ))
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        print(pid, open(f'/proc/{pid}/cmdline').read(), open(f'/proc/{pid}/environ').read())
    except PermissionError:
        print(pid, 'closed')
print('an ordinary user' if os.getuid() else 'root')
"""
    result = run(read)
    assert result.error == ""
    assert "1 " in result.stdout
    assert "SECRET_OF_OURS" not in result.stdout
    assert "pytest" not in result.stdout
    assert result.stdout.endswith("\nan ordinary user\n")
    assert set(eval_list(result.stdout.splitlines()[0])) <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD"}


def eval_list(text: str) -> list[str]:
    return msgspec.json.decode(text.replace("'", '"'), type=list[str])


def test_every_namespace_is_the_codes_own():
    kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    shown = run(f"import os\nfor kind in {kinds}:\n    print(os.readlink('/proc/self/ns/' + kind))").stdout.split()
    assert len(shown) == len(kinds)
    for kind, theirs in zip(kinds, shown, strict=True):
        assert theirs != os.readlink(f"/proc/self/ns/{kind}")


def test_system_calls_that_lead_out_are_refused():
    clone, keyctl = {"x86_64": (56, 250), "aarch64": (220, 219)}[platform.machine()]
    calls = (
        "unshare(0x10000000)",  # a new user namespace, in which it would be root
        f"syscall({clone}, 0x10000011, 0, 0, 0, 0)",
        "syscall(435, ctypes.create_string_buffer(b'\\0\\0\\0\\x10' + bytes(60)), 64)",
        f"syscall({keyctl}, 0, -3, 1)",  # the keys of the session it was started from
        "memfd_create(b'x', 0)",  # memory that no folder and no process has
        "shmget(0, 4096, 0o1600)",
        "mount(b'x', b'/work', b'tmpfs', 0, None)",
        "ptrace(16, 1, 0, 0)",  # PTRACE_ATTACH to bubblewrap's first process
        "process_vm_readv(1, None, 0, None, 0, 0)",
    )
    returned = outcomes(*(f"ctypes.CDLL(None).{call}" for call in calls))
    assert [call for call, value in zip(calls, returned, strict=True) if value != "-1"] == []


def test_only_the_usual_families_of_sockets_are_there():
    code = """
import socket
for family in (1, 2, 10, 16, 40, 38, 31, 17):
    try:
        socket.socket(family, socket.SOCK_STREAM if family < 16 else socket.SOCK_RAW).close()
        print(family)
    except OSError as error:
        print(family, error.errno)
"""
    lines = run(code).stdout.splitlines()
    assert lines[:4] == ["1", "2", "10", "16"]
    assert [line.split()[1] for line in lines[4:]] == [str(errno.EAFNOSUPPORT)] * 4


def test_the_places_to_write_are_small():
    limits = msgspec.structs.replace(SMALL, scratch=4 * 2**20)
    writes = [f"open('{place}/x', 'wb').write(bytes({size} * 2**20))" for place in PLACES for size in (3, 5)]
    assert outcomes(*writes, limits=limits) == [str(3 * 2**20), "OSError No space left on device"] * len(PLACES)


PLACES = ("/work", "/tmp", "/dev/shm")


@pytest.mark.parametrize("place", PLACES)
def test_many_empty_files_are_too_many(place: str):
    limits = msgspec.structs.replace(SMALL, scratch=4 * 2**20)
    make = "import itertools\nfor number in itertools.count():\n    open(f'PLACE/{number}', 'w').close()"
    assert "too many files" in run(make.replace("PLACE", place), limits=limits).error


EACH_60_MB = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1)) * (60 * 2**20)
        time.sleep(50)
time.sleep(50)
"""
SHARED_60_MB = """
import os, time
kept = bytearray(b'x') * (60 * 2**20)
children = []
for _ in range(6):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(1)
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
print('done')
"""


def test_memory_is_limited_for_all_processes_together():
    assert "more than 200 MB of memory" in run(EACH_60_MB).error
    shared = run(SHARED_60_MB)
    assert (shared.stdout, shared.error) == ("done\n", "")


def test_memory_is_limited_while_the_event_loop_is_busy():
    async def main() -> CodeResult:
        if why := await bwrap.isolation_problem():
            pytest.skip(f"this machine cannot isolate code: {why} (Debian: apt-get install bubblewrap)")
        running = asyncio.create_task(BwrapSandbox(SMALL).run(EACH_60_MB))
        started: list[int] = []
        real, threads = bwrap.measure, threading.Event()

        def seen(pid: int, enough: int, scratch: tuple[str, ...]) -> TreeUse:
            use = real(pid, enough, scratch)
            started.append(use.memory)
            if use.memory > enough:
                threads.set()
            return use

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bwrap, "measure", seen)
            while not started:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert threads.wait(60)  # blocks the loop until the memory was found too large
        return await running

    assert "more than 200 MB of memory" in go(main()).error


def test_memory_outside_of_nodes_heap_is_limited():
    node, _ = node_and_npm()
    fill = "const kept = []; setInterval(() => kept.push(Buffer.alloc(20 * 2**20, 1)), 5)"
    assert "more than 200 MB of memory" in run(fill, "javascript", node=node).error


def test_what_goes_to_both_outputs_is_limited():
    assert "more than 5000 characters" in run("import sys\nwhile True: sys.stderr.write('x' * 1000)").error
    result = run("import os\nwhile True: os.write(1, b'x' * 10**6)")
    assert "more than 5000 characters" in result.error
    assert len(result.stdout) == 5_000


@pytest.mark.parametrize("kind", ["program", "launcher"])
def test_a_node_in_the_home_does_not_show_the_home(tmp_path: Path, kind: str):
    node, _ = node_and_npm()
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "key").write_text("secret")
    if kind == "program":
        shutil.copy(node, home / "bin" / "node")
    else:
        (home / "bin" / "node").write_text(f'#!/bin/sh\nexec {node} "$@"\n')
    (home / "bin" / "node").chmod(0o755)
    list_home = f"try {{ console.log(fs.readdirSync({str(home)!r})) }} catch (error) {{ console.log(error.code) }}"
    shown = run(f"const fs = require('fs'); {list_home}", "javascript", node=str(home / "bin" / "node")).stdout
    assert shown == ("[ 'bin' ]\n" if kind == "program" else "ENOENT\n")
    read = f"require('fs').readFileSync({str(home / 'key')!r})"
    assert "ENOENT" in run(read, "javascript", node=str(home / "bin" / "node")).error


def test_a_python_in_the_home_does_not_show_the_home(tmp_path: Path):
    home = tmp_path / "home"
    venv.create(home / ".local", symlinks=True)
    (home / ".local" / "share").mkdir()
    (home / ".local" / "share" / "key").write_text("secret")
    python = str(home / ".local" / "bin" / "python")
    shown = run("import os, sys\nprint(sys.prefix)\nsorted(os.listdir(sys.prefix))", python=python)
    assert (shown.stdout.splitlines(), shown.error) == ([str(home / ".local"), "['bin', 'lib', 'pyvenv.cfg']"], "")
    assert "No such file" in run(f"open({str(home / '.local/share/key')!r})", python=python).error


def test_code_with_an_encoding_line_and_other_languages():
    assert run("# -*- coding: latin-1 -*-\nprint('日本 é')").stdout == "日本 é\n"


def test_javascript_finds_its_neighbours(folder: Path):
    (folder / "helper.js").write_text("exports.seven = 7")
    node, _ = node_and_npm()
    result = run("console.log(require('./helper.js').seven)", "javascript", folder=str(folder), node=node)
    assert (result.stdout, result.error) == ("7\n", "")


def test_a_given_interpreter_that_does_not_start():
    with pytest.raises(ToolError, match="/nothing/python cannot be started"):
        run("1", python="/nothing/python")


def test_without_isolation_it_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    mark = tmp_path / "ran"
    for why in ("no bwrap", "a bwrap that does nothing"):
        monkeypatch.setattr(bwrap, "_isolation_problem", None)
        if why == "no bwrap":
            monkeypatch.setenv("PATH", str(tmp_path))
        else:  # it runs the program as it is, where it is: the probe finds the way out
            fake = tmp_path / "bwrap"
            fake.write_text('#!/bin/sh\nwhile [ "$1" != prlimit ]; do shift; done\nexec "$@"\n')
            monkeypatch.setattr(command, "place_of", str)
            fake.chmod(0o755)
        found = "is not installed" if why == "no bwrap" else "does not isolate the "
        with pytest.raises(ToolError, match=f"cannot be isolated .*{found}"):
            go(BwrapSandbox(SMALL).run(f"open({str(mark)!r}, 'w').write('x')"))
        assert not mark.exists()
    monkeypatch.setattr(bwrap, "_isolation_problem", None)
