"""`treadle completion`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.terminal import Inside, environment


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completion(home: Path, inside: Inside):
    (home / "c.bash").write_text(inside("completion", "bash").out)
    program = (
        "source c.bash; treadle() { echo 0123abcd; }\n"
        'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _treadle; echo "${COMPREPLY[*]}"; }\n'
        'try treadle ru; try treadle runs sh; try treadle runs show ""; try treadle run q --preset s\n'
        "try treadle run q --ma; try treadle run -t cal"
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=home)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "run runs",
        "show",
        "last 0123abcd",
        "streaming strict",
        "--max-cost --max-iterations",
        "calculator",
    ]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_completions_are_valid_scripts(home: Path, inside: Inside, shell: str):
    text = inside("completion", shell).out
    assert "--max-cost" in text or "max-cost" in text
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    (home / "script").write_text(text)
    assert subprocess.run([program, "-n", "script"], capture_output=True, cwd=home).returncode == 0
    if shell == "fish":
        asked = subprocess.run(
            [program, "-c", "source script; complete -C 'treadle runs sh'; complete -C 'treadle run --preset s'"],
            capture_output=True, text=True, cwd=home, env=environment(home),
        )  # fmt: skip
        assert [line.split("\t")[0] for line in asked.stdout.splitlines()] == ["show", "streaming", "strict"]
