"""The default sandbox: variables, functions, limits, errors, and nothing that gets out."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import go, until
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.monty import MontySession
from treadle._tools.sandbox.static_analysis import deferred_calls, parse
from treadle._types.errors import ToolError

pytest.importorskip("pydantic_monty")


SMALL = SandboxLimits(seconds=30, memory=64_000_000, output_chars=5_000, code_chars=2_000)
"""The time limit is far away: on a busy machine the other limits must be what stops the code."""
SHORT = msgspec.structs.replace(SMALL, seconds=0.5)


async def slow(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    await asyncio.sleep(0.01)
    return {"got": [*args, *named.values()]}


async def bad(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    raise ToolError("no such city")


FUNCTIONS = {"slow": slow, "bad": bad}


def run(*codes: str, limits: SandboxLimits = SMALL, **options: Any) -> list[str]:
    async def main() -> list[str]:
        session = MontySession(limits, **options)
        return [(await session.run(code, FUNCTIONS)).text(3_000) for code in codes]

    return go(main())


def test_variables_and_functions_stay():
    assert run("x = 2\ndef double(n):\n    return n * x", "print('hi')\ndouble(21)", "x") == [
        "(no output)",
        "hi\n42",
        "2",
    ]


def test_errors_have_their_line_and_keep_what_was_done():
    error, kept = run("y = 5\n\nbad(1)", "y")
    assert "line 3" in error
    assert "RuntimeError: no such city" in error
    assert kept == "5"
    assert "line 2" in run("x = 1\nx = (")[0]
    assert run("try:\n    bad()\nexcept RuntimeError as e:\n    print('caught', e)") == ["caught no such city"]
    assert "not defined (available functions: slow, bad)" in run("nope(1)")[0]


@pytest.mark.parametrize(
    "code",
    [
        "r = await asyncio.gather(meet(1), meet(2), meet(3))\nlen(r)",
        "tasks = [meet(n) for n in range(3)]\nr = await asyncio.gather(*tasks)\nlen(r)",
        "tasks = []\nfor n in range(3):\n    tasks.append(meet(n))\nlen(await asyncio.gather(*tasks))",
        "async def f(n):\n    r = await meet(n)\n    return r\nlen(await asyncio.gather(*[f(n) for n in range(3)]))",
    ],
)
async def test_three_calls_run_at_the_same_time(code: str):
    arrived: list[Any] = []

    async def meet(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        arrived.append(args)
        await until(lambda: len(arrived) == 3)  # no call ends before all have started
        return args

    result = await MontySession(SMALL).run(f"import asyncio\n{code}", {"meet": meet})
    assert result.value == 3, result


def test_a_call_without_await_gives_its_result():
    assert run("slow('a', b=2)['got']") == ["['a', 2]"]
    assert run("r = await slow(1)\nr['got']", "f = slow\nf(3)['got'][0]", "[slow(n)['got'][0] for n in (1, 2)]") == [
        "[1]",
        "3",
        "[1, 2]",
    ]
    assert run("def two():\n    return slow(2)\n", "two()['got']") == ["(no output)", "[2]"]


def test_imports_outside_the_list_are_refused_with_words():
    codes = (
        "import os",
        "import subprocess",
        "from socket import socket",
        "import numpy as np",
        "exec('import ctypes')",
    )
    for code, error in zip(codes, run(*codes), strict=True):
        assert "is not allowed here. Allowed modules: asyncio," in error, code


ESCAPES = [
    "().__class__.__bases__[0].__subclasses__()",
    "getattr((), '__cl' + 'ass__')",
    "'{0.__class__.__init__.__globals__}'.format(print)",
    "type(1).__mro__",
    "(lambda: 0).__globals__",
    "print.__self__",
    "__import__('os').system('id')",
    "globals()['__builtins__']",
    "slow.__globals__",
    "open('/etc/passwd').read()",
    "open('out.txt', 'w').write('x')",
    "import pathlib\npathlib.Path('/').iterdir()",
    "import pathlib\npathlib.Path('/etc/hostname').read_text()",
    "compile('1', 'x', 'eval')",
    "breakpoint()",
    "input()",
]


def test_nothing_gets_out():
    *errors, after = run(*ESCAPES, "1 + 1")
    for code, error in zip(ESCAPES, errors, strict=True):
        assert "Error" in error, code
        assert "root:" not in error
    assert after == "2"


BOMBS = [
    ("while True: pass", SHORT, "time limit"),
    ("x = 'a' * 10**9", SMALL, "MemoryError"),
    ("l = []\nwhile True: l.append('x' * 100000)", SMALL, "MemoryError"),
    ("10 ** 10 ** 8", SMALL, "MemoryError"),
    ("def f(n): return f(n + 1)\nf(0)", SMALL, "RecursionError"),
    ("while True: print('x' * 1000)", SHORT, "printed more than 5000"),
    ("print('x' * 10**7)", SMALL, "printed more than 5000"),
    ("import time\ntime.sleep(60)", SHORT, "sleep"),
    ("import asyncio\nawait asyncio.sleep(60)", SHORT, "sleep"),
    ("x = 1" + " + 1" * 1000, SMALL, "too long"),
    ("[[[0] * 1000 for _ in range(1000)] for _ in range(1000)]", SMALL, "Error"),
]


async def test_bombs_are_stopped_and_the_variables_stay():
    session = MontySession(SMALL)
    await session.run("kept = 7")
    for code, limits, says in BOMBS:
        session.limits = limits
        stopped = (await session.run(code)).text(3_000)
        assert says in stopped, (code, stopped)
        assert len(stopped) < 8_000
        session.limits = SMALL
        assert (await session.run("kept")).value == 7


def test_a_catastrophic_regex_ends():
    run("import re\nre.match('(a+)+$', 'a' * 40 + 'b')", limits=SHORT)
    run("import re\nre.match('(a|aa)+$', 'a' * 5000 + 'b')", limits=SHORT)


def test_a_work_folder_is_all_there_is(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("outside")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "data.csv").write_text("a,b\n1,2\n")
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    reads = run(
        "open('/work/data.csv').read()",
        "open('/work/../secret.txt').read()",
        "open('/work/link').read()",
        folder=str(folder),
    )
    assert reads[0] == "a,b\n1,2\n"
    assert "outside" not in reads[1] + reads[2]
    assert "Error" in run("open('/work/new.txt', 'w').write('x')", folder=str(folder))[0]
    run("open('/work/new.txt', 'w').write('x')", folder=str(folder), write=True)
    assert (folder / "new.txt").read_text() == "x"


async def test_what_a_function_raises_gets_out_and_cancelling_stops_it():
    started: list[str] = []

    async def broken(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        raise KeyError("ours")

    async def endless(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        started.append("endless")
        await asyncio.sleep(3600)

    session = MontySession(SMALL)
    with pytest.raises(KeyError):
        await session.run("broken()", {"broken": broken})
    task = asyncio.ensure_future(session.run("endless()", {"endless": endless}))
    await until(lambda: started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await session.run("1 + 1")).value == 2


def child_processes() -> set[str]:
    files = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {pid for file in files for pid in file.read_text().split()}


def test_a_run_does_not_start_a_process_of_its_own():
    async def main() -> set[str]:
        await MontySession().run("1")
        seen = child_processes()
        for number in range(20):
            assert (await MontySession().run(f"sum(range({number}))")).error == ""
            seen |= child_processes()
        return seen

    before = child_processes()
    assert len(go(main()) - before) <= 4, "the workers are kept and shared"


ENDING = """
import atexit, os
from treadle import Agent, ScriptedModel, tool

def check():  # registered first, so called last
    try:
        print("still there:", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("no worker is left")

atexit.register(check)

@tool
def price(item: str) -> float:
    "The price."
    return 1.0

code = "```python\\nfinal_answer(str(1 + 1))\\n```"
print(Agent(ScriptedModel([code], repeat_last=True), [price], preset="code").run_sync("q").answer)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the check asks for child processes as POSIX does")
def test_the_workers_of_a_loop_that_never_ends_are_closed_before_the_interpreter_is():
    """Otherwise their native threads now and then abort a process that has done its work."""
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2\nno worker is left\n"), done.stderr


HASTY = """
import asyncio, os, sys
import pydantic_monty  # which takes longer than the rest: once for all
from treadle._tools.sandbox.monty import MontySession

async def main():
    runs = [asyncio.create_task(MontySession().run("1 + 1")) for _ in range(8)]
    await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)

begun, ends = 0, []
while len(ends) < 24:
    if begun < 24 and begun - len(ends) < 4:
        begun += 1
        if not os.fork():
            asyncio.run(main())
            sys.exit()
    else:
        ends.append(os.waitstatus_to_exitcode(os.wait()[1]))
print(*filter(None, ends))
"""


def test_a_program_that_ends_while_workers_answer_is_not_aborted():
    """Monty's asynchronous interface answers from threads that need the interpreter afterwards: 1 in 20 died."""
    done = subprocess.run([sys.executable, "-c", HASTY], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")


def test_which_calls_are_waited_for():
    code = "a = f(1)\nb = await g(f(2))\nc = await asyncio.gather(f(3), f(4))\nd = [f(5)]\n'é'; await f(6)"
    tree = parse(code)
    assert tree is not None
    data = code.encode()
    assert sorted(data[at : at + 4].decode() for at in deferred_calls(tree, code)) == [
        "asyn",
        "f(3)",
        "f(4)",
        "f(6)",
        "g(f(",
    ]
