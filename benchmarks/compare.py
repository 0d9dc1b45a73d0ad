"""Four other engines beside ours: what each installs, what its import costs, what the same small program costs.

    python benchmarks/compare.py PYTHON      # PYTHON has the other engines; `python3 tasks.py peers` makes it

The programs are those of `docs/migrate/`, as they stand, against a server on loopback. CPU time is that of the whole
process, from start to end; the smallest of three counts.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from openai_stub import address_of, make_stub

ROOT = Path(__file__).resolve().parent.parent
ENGINES = {
    "Treadle": (["treadle"], "from treadle import Agent, OpenAIModel, tool", "langgraph.md"),
    "LangGraph": (
        ["langgraph", "langchain", "langchain-openai"],
        "from langchain.agents import create_agent",
        "langgraph.md",
    ),
    "pydantic-ai": (["pydantic-ai-slim[openai]"], "from pydantic_ai import Agent", "pydantic_ai.md"),
    "OpenAI Agents SDK": (["openai-agents"], "from agents import Agent, Runner", "openai_agents.md"),
    "smolagents": (["smolagents[openai]"], "from smolagents import OpenAIModel, ToolCallingAgent", "smolagents.md"),
}
"""What to install, what to import, the page with the program."""
CLOSURE = """
import json, os, sys
from importlib.metadata import distribution
from packaging.requirements import Requirement
seen, sizes = set(), {}
def add(text):
    wanted = Requirement(text)
    for extra in {"", *wanted.extras}:
        key = (wanted.name.lower().replace("_", "-"), extra)
        if key in seen:
            continue
        seen.add(key)
        found = distribution(wanted.name)
        files = [found.locate_file(file) for file in found.files or () if not str(file).endswith(".pyc")]
        sizes[key[0]] = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
        for line in found.requires or ():
            inner = Requirement(line)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                add(line)
for text in sys.argv[1:]:
    add(text)
print(json.dumps([len(sizes), sum(sizes.values())]))
"""


def cpu_of(command: list[str], env: dict[str, str], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def program_of(name: str, page: str) -> str:
    blocks = re.findall(r'^```python title="([^"]+)"\n(.*?)^```', page, re.DOTALL | re.MULTILINE)
    return dict(blocks)[name]


def row(name: str, peers: str, folder: Path, env: dict[str, str]) -> str:
    wanted, statement, page = ENGINES[name]
    python = sys.executable if name == "Treadle" else peers
    count, size = json.loads(subprocess.run([python, "-c", CLOSURE, *wanted], check=True, capture_output=True).stdout)
    file = folder / "program.py"
    file.write_text(program_of(name, (ROOT / "docs" / "migrate" / page).read_text("utf-8")), "utf-8")
    bare = cpu_of([python, "-c", "pass"], env)
    imported = cpu_of([python, "-c", statement], env) - bare
    whole = cpu_of([python, str(file)], env) - bare
    return f"| {name} | {count} | {size / 1e6:.0f} | {imported:.2f} | {whole:.2f} |"


def main(peers: str) -> None:
    server = make_stub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("| engine | distributions | MB | import, CPU s | the program, CPU s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        env = {**os.environ, "OPENAI_BASE_URL": address_of(server), "OPENAI_API_KEY": "unused", "HOME": name}
        env["TREADLE_STATE"] = name
        for engine in ENGINES:
            print(row(engine, peers, Path(name), env), flush=True)
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
