"""Evaluation: a file of tasks, tools of your own, deterministic checks, two variants, one report."""

import asyncio
import json
import tempfile
from datetime import date
from pathlib import Path

from treadle import ScriptedModel, Variant, evaluation_report, load_tasks, run_tasks, tool


@tool(effect="pure")
def weekday(day: str) -> str:
    """Tell which day of the week a date (YYYY-MM-DD) is."""
    return f"{date.fromisoformat(day):%A}"


@tool(effect="pure")
def days_between(start: str, end: str) -> int:
    """Count the days from one date (YYYY-MM-DD) to another."""
    return (date.fromisoformat(end) - date.fromisoformat(start)).days


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
    trials = asyncio.run(run_tasks(load_tasks(file, [weekday, days_between]), variants))

print(evaluation_report("dates", trials))
assert [trial.passed for trial in trials] == [True, True, False, False]
