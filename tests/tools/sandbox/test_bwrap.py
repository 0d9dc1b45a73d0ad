"""The full-CPython sandbox: code is isolated or refused."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import go
from node_programs import node_and_npm
from treadle._tools.sandbox import bwrap
from treadle._tools.sandbox.base import CodeResult, SandboxLimits
from treadle._tools.sandbox.bwrap import BwrapSandbox
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


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.create_connection(('1.1.1.1', 80), 1)",
        "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)",
        "open('/usr/x', 'w')",
        "open('/etc/passwd').read()",
        "import os\nos.kill(1, 9)",
        "import os\nos.setuid(0)",
        "import os\nos.chroot('/')",
        "import subprocess\nsubprocess.run(['mount', '-t', 'tmpfs', 'x', '/work'], check=True)",
    ],
)
def test_nothing_gets_out(code: str):
    result = run(code)
    assert "Error" in result.error, result
    assert "root:" not in result.stdout


def test_the_environment_and_other_processes_are_not_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_OURS", "xyz")
    show = "for p in os.listdir('/proc'):\n    if p.isdigit():\n        print(open(f'/proc/{p}/cmdline').read())"
    result = run(f"import os\nprint(dict(os.environ))\n{show}")
    assert "SECRET_OF_OURS" not in result.stdout
    assert "pytest" not in result.stdout
    assert run("import os\nos.getuid()").stdout.strip() != "0"


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


def test_a_given_work_folder():
    # Not `tmp_path`: pytest keeps that in a folder for its owner only, and as root the code runs as another user.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        (Path(folder) / "data.txt").write_text("7")
        assert run("open('/work/data.txt').read()", folder=folder).stdout.strip() == "7"


def test_without_isolation_it_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    mark = tmp_path / "ran"
    for why in ("no bwrap", "a bwrap that does nothing"):
        monkeypatch.setattr(bwrap, "_isolation_problem", None)
        if why == "no bwrap":
            monkeypatch.setenv("PATH", str(tmp_path))
        else:  # it runs the program as it is: the probe finds the way out
            fake = tmp_path / "bwrap"
            fake.write_text('#!/bin/sh\nwhile [ "$1" != env ]; do shift; done\nshift 3\nexec "$@"\n')
            fake.chmod(0o755)
        with pytest.raises(ToolError, match="cannot be isolated"):
            go(BwrapSandbox(SMALL).run(f"open({str(mark)!r}, 'w').write('x')"))
        assert not mark.exists()
    monkeypatch.setattr(bwrap, "_isolation_problem", None)
