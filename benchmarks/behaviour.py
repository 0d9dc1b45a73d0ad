"""Four other engines beside ours: what a call does that needs a person, and what a kill in the middle of one does.

    python benchmarks/behaviour.py PYTHON      # PYTHON has the other engines; `python3 tasks.py peers` makes it

Each program of `others/` uses what its engine documents for the purpose, against a server on loopback that asks for one
call and then answers; the effects of that call are counted in a file.

- A person decides: a first process has to stop before the call (0 effects), a second one to finish it (1 effect).
- Killed: `kill -9` right after the effect and before its result is kept; then the run goes on, or begins again where
  the engine kept nothing, in a new process. 2 effects: it was done twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from openai_stub import ANSWER, address_of, make_stub

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "Treadle": "treadle_program.py",
    "LangGraph": "langgraph_program.py",
    "pydantic-ai": "pydantic_ai_program.py",
    "OpenAI Agents SDK": "openai_agents_program.py",
    "smolagents": "smolagents_program.py",
}


def effects_of(python: str, program: str, modes: tuple[str, str], address: str) -> tuple[int, int, str]:
    """The effects after the first process and after the second, and the last words of the second."""
    env = {**os.environ, "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "unused"}
    counts: list[int] = []
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        for mode in modes:
            command = [python, str(HERE / "others" / program), mode]
            done = subprocess.run(
                command, cwd=folder, env={**env, "TREADLE_STATE": folder}, capture_output=True, text=True
            )
            if done.returncode not in (0, -9):
                raise SystemExit(f"{program} {mode}:\n{done.stdout}{done.stderr}")
            said = done.stdout.strip()
            effects = Path(folder, "effects.txt")
            counts.append(len(effects.read_text().split()) if effects.exists() else 0)
    return counts[0], counts[1], said


def row(name: str, peers: str, address: str) -> str:
    python = sys.executable if name == "Treadle" else peers
    before, after, said = effects_of(python, PROGRAMS[name], ("ask", "decide"), address)
    waits = "yes" if (before, after, said) == (0, 1, ANSWER) else "no: the call was made"
    _, killed, said = effects_of(python, PROGRAMS[name], ("killed", "again"), address)
    assert said == ANSWER, said
    return f"| {name} | {waits} | {killed} |"


def main(peers: str) -> None:
    server = make_stub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("| engine | a call waits for a person, another process goes on | effects after a kill |\n|---|---|---|")
    for name in PROGRAMS:
        print(row(name, peers, address_of(server)), flush=True)
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
