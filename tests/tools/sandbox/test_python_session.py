"""Code in a real Python: variables stay, tools are called, nothing runs after the end, limits hold."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import NO_ADVICE, add, go
from treadle import Agent, ScriptedModel
from treadle._plugins.code import CodeMode
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.bwrap import isolation_problem
from treadle._tools.sandbox.command import sandbox_command
from treadle._tools.sandbox.environments import checked_packages
from treadle._tools.sandbox.interpreters import Interpreter
from treadle._tools.sandbox.monty import EndProgram
from treadle._tools.sandbox.python_session import PythonSession, allow_access
from treadle._types.errors import ConfigError

isolated = pytest.mark.skipif(bool(asyncio.run(isolation_problem())), reason="code cannot be isolated on this machine")
SAVES = """```python
import json, sqlite3
rows = open('/work/data.csv').read().splitlines()
with open('/work/table.csv', 'w') as file:
    file.write('n\\n' + str(add(len(rows), 1)))
```"""
ENDS = "```python\nfinal_answer({'rows': len(rows)})\nprint('never')\n```"


@isolated
async def test_one_process_serves_the_steps_of_a_session(tmp_path: Path):
    from treadle._tools.sandbox.command import USER

    async def plus(args: tuple[Any, ...], named: dict[str, Any]) -> int:
        return args[0] + args[1]

    async def end(args: tuple[Any, ...], named: dict[str, Any]) -> None:
        raise EndProgram

    allow_access(str(tmp_path), USER)
    session = PythonSession(sys.executable, str(tmp_path), SandboxLimits(seconds=5.0, memory=2**30))
    functions = {"plus": plus, "end": end}
    steps = {
        "x = 1\nprint('a')\nx + 1": ("a\n", "2", ""),
        "plus(x, 5)": ("", "6", ""),
        "import asyncio\na, b = await asyncio.gather(plus(1, 2), plus(3, 4))\n(a, b)": ("", "(3, 7)", ""),
        "try:\n    end()\nexcept Exception:\n    pass\nprint('never')": ("", None, ""),
        "1 / 0": ("", None, "line 1\nZeroDivisionError: division by zero"),
        "import socket\nsocket.create_connection(('1.1.1.1', 53), 1)": ("", None, "Network is unreachable"),
    }
    for code, (printed, value, error) in steps.items():
        result = await session.run(code, functions)
        assert (result.stdout, result.value) == (printed, value)
        assert error in result.error
    await session.close()
    tight = PythonSession(sys.executable, str(tmp_path), SandboxLimits(seconds=0.5))
    assert "longer than 0.5 s" in (await tight.run("while True: pass")).error
    assert (await tight.run("1 + 1")).value == "2"  # in a new process
    await tight.close()


@isolated
def test_an_agent_works_in_a_real_python(tmp_path: Path):
    (tmp_path / "data.csv").write_text("a\nb\nc\n")
    model = ScriptedModel([SAVES, ENDS], abilities={"tool_call": False})
    agent = Agent(model, [add], preset="code", executor="python", plugins=NO_ADVICE)
    result = go(agent.run("q", files=(str(tmp_path / "data.csv"),)))
    assert (result.answer, result.success) == ('{"rows":3}', True)
    assert [(a.name, a.content) for a in result.artifacts] == [("table.csv", "n\n4")]
    assert "It is Python" in str(model.requests[0].messages[0])


def test_packages_are_named_and_need_a_real_python():
    assert checked_packages(["pandas", "numpy==2.1.0", "uvicorn[standard]>=0.30,<1"])
    for wrong in ("-r requirements.txt", "../here", "https://example.org/x.whl", "a b"):
        with pytest.raises(ConfigError, match="is not the name of a package"):
            checked_packages([wrong])
    with pytest.raises(ConfigError, match="write executor='python' beside it"):
        CodeMode(packages=["pandas"])
    with pytest.raises(ConfigError, match="a folder of its own"):
        CodeMode(executor="python", folder=".")


def test_the_folder_of_the_code_never_hides_its_interpreter(tmp_path: Path):
    below = Interpreter("/work/venv/bin/python", ("/work/venv", "/opt/lib"))
    command = sandbox_command("python", below, SandboxLimits(), str(tmp_path), None)
    mounts = {(command[index + 1], command[index + 2]) for index, part in enumerate(command) if part == "--ro-bind"}
    assert {("/work/venv", "/interpreter/work/venv"), ("/opt/lib", "/opt/lib")} <= mounts
    assert "/interpreter/work/venv/bin/python" in command
    assert command[command.index("--bind") : command.index("--bind") + 3] == ["--bind", str(tmp_path), "/work"]
