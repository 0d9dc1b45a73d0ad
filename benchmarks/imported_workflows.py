"""Import exported workflows of another system, and run each to its end with a model that a script plays.

python3 tasks.py measure imported_workflows FOLDER        # a folder of exported workflows, JSON

Each is imported by `treadle config import`. The model answers a choice with its first option and a question about a
database with a query; forms are filled with the first or a plain value. Prints a table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treadle import RunResult, ScriptedModel, load_agent
from treadle._types.messages import SystemMessage
from treadle._types.request import Request

QUESTION = "Where is my order?"
PLAIN: dict[str, Any] = {"integer": 1, "number": 1.5, "boolean": True}
MOST_FORMS = 6
SECONDS = 60


def reply(request: Request) -> str:
    """The first option of a choice, a query for a database, else some text."""
    system = next((one.text for one in request.messages if isinstance(one, SystemMessage)), "")
    options = re.search(r"^- ([^:\n]+)", system, re.MULTILINE)
    if options and "categor" in system.lower():
        return options[1]
    return "SELECT 1" if "SQL" in str(request.messages) else "text of the model"


async def play(document: Path) -> tuple[RunResult, int, int]:
    model = ScriptedModel(reply)
    agent = load_agent(document, model=model)
    result = await agent.run(QUESTION)
    forms = 0
    while result.stop_reason == "paused" and forms < MOST_FORMS:
        filled = {call.call_id: answers(call.args["form"]["properties"]) for call in result.pending}
        result = await agent.resume(result, results=filled)
        forms += 1
    return result, len(model.requests), forms


def answers(fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: (field.get("enum") or [PLAIN.get(field["type"], "yes")])[0] for name, field in fields.items()}


def row(workflow: Path, folder: Path) -> list[object]:
    document = folder / f"{workflow.stem}.agent.json"
    command = [sys.executable, "-m", "treadle", "config", "import", str(workflow), "-o", str(document)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        return [workflow.stem, "", "", "", "", done.stderr.strip().removeprefix("treadle: ")]
    report = Counter(line.partition(":")[0] for line in done.stdout.splitlines())
    components = json.loads(document.read_text("utf-8"))["components"].values()
    kinds = sorted({one["obj"]["component_name"] for one in components})
    result, requests, forms = asyncio.run(asyncio.wait_for(play(document), SECONDS))
    end = f"{result.stop_reason}{'' if result.success else ', without success'}"
    sums = f"{report['translated']}, {report['dropped']}"
    return [workflow.stem, len(components), ", ".join(kinds), sums, f"{requests}, {forms}", end]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    print("| workflow | components | kinds | translated, dropped | requests, forms | end |")
    print("|---|---|---|---|---|---|")
    workflows = sorted(options.parse_args().folder.absolute().glob("*.json"))
    with TemporaryDirectory() as folder:
        for workflow in workflows:
            print(f"| {' | '.join(map(str, row(workflow, Path(folder))))} |", flush=True)


if __name__ == "__main__":
    main()
