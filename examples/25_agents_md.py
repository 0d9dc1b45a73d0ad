"""AGENTS.md at the terminal: what a folder wants agents to know is read once its user has trusted the folder."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def treadle(folder: Path, *arguments: str) -> str:
    env = {**os.environ, "HOME": str(folder), "TREADLE_STATE": str(folder / "state"), "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "treadle", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    print(f"$ treadle {' '.join(arguments)}\n{done.stderr}{done.stdout}")
    assert done.returncode == 0
    return done.stderr + done.stdout


with tempfile.TemporaryDirectory() as name:
    folder = Path(name).resolve()
    (folder / "AGENTS.md").write_text("Give lengths in metres.")
    (folder / "script.json").write_text(json.dumps({"script": ["324 metres"]}))
    question = ("run", "How high is the Eiffel Tower?", "--model", "scripted:script.json")

    assert "not read, because you have not trusted its folder" in treadle(folder, *question)
    treadle(folder, "trust", ".")
    assert "instructions: AGENTS.md" in treadle(folder, *question)
    assert "Give lengths in metres." in treadle(folder, "runs", "show", "last", "--json")
