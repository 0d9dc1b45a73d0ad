"""Evaluation: a file of tasks with deterministic tools and checks, two variants, one report."""

import asyncio
import json
import tempfile
from pathlib import Path

from treadle import ScriptedModel, Variant, evaluation_report, load_tasks, run_tasks

TASKS = [
    {"id": "day", "kind": "single", "question": "Which day of the week is 2026-03-05?", "tools": ["weekday"],
     "check": {"answer_contains": "Thursday", "tools_called": {"at_least": {"weekday": 1}}}},
    {"id": "days", "kind": "single", "question": "How many days are there from 2026-01-15 to 2026-03-01?",
     "tools": ["days_between"], "check": {"answer_contains": 45}},
]  # fmt: skip


def careful(request):  # looks before it answers
    text = str(request.messages)
    if "ToolMessage" in text:
        return "It is a Thursday." if "weekday" in text else "There are 45 days."
    if "weekday" in str(request.tools):
        return {"name": "weekday", "args": {"day": "2026-03-05"}}
    return {"name": "days_between", "args": {"start": "2026-01-15", "end": "2026-03-01"}}


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "tasks.jsonl"
    file.write_text("\n".join(map(json.dumps, TASKS)))
    guess = ScriptedModel(lambda request: "It is a Thursday.", name="guesses")
    variants = [Variant("careful", ScriptedModel(careful)), Variant("guesses", guess)]
    trials = asyncio.run(run_tasks(load_tasks(file), variants))

print(evaluation_report("dates", trials))
assert [trial.passed for trial in trials] == [True, True, False, False]
