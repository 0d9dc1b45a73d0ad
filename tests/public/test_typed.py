"""`py.typed` from outside: a user's program in strict mode, in a project of its own, against the installed package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("user_program.py")


def check(folder: Path, code: str) -> dict[int, list[str]]:
    """What strict mode finds in a program, by line."""
    (folder / "program.py").write_text(code, "utf-8")
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    errors: dict[int, list[str]] = {}
    for item in json.loads(done.stdout)["generalDiagnostics"]:
        errors.setdefault(item["range"]["start"]["line"] + 1, []).append(item["message"])
    return errors


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_users_program_is_typed(tmp_path: Path):
    assert check(tmp_path, PROGRAM.read_text("utf-8")) == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mistakes_are_found(tmp_path: Path):
    """The same check fails for a program that is wrong: without `py.typed` everything would be unknown, or accepted."""
    code = (
        "from treadle import Agent, Budget, Nothing\n"
        "from treadle.testing import ScriptedModel\n"
        "result = Agent(ScriptedModel(['x']), tools=None).run_sync('q')\n"
        "answer: int = result.answer\n"
        "budget = Budget(requests='ten')\n"
        "result.stop_reason = 'answer'\n"
    )
    errors = check(tmp_path, code)
    assert errors.keys() == {1, 4, 5, 6}, errors
    assert '"Nothing" is unknown import symbol' in errors[1]


def test_the_program_runs(tmp_path: Path):
    done = subprocess.run([sys.executable, str(PROGRAM)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Offer(item='lamp', dollars=10)" in done.stdout
