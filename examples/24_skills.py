"""Agent Skills: a folder with a SKILL.md. The model sees its name and description, and reads the rest when it fits."""

import tempfile
from pathlib import Path

from treadle import Agent, ScriptedModel

SKILL = """---
name: rain-report
description: How this office writes about rain. Use it for every question about rain.
license: MIT
---
Look up the figures in references/table.md. Write "N of M days", never a percentage.
"""

with tempfile.TemporaryDirectory() as folder:
    skill = Path(folder) / "rain-report"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "references" / "table.md").write_text("May: 12 of 31\nJune: 0 of 30\n")

    model = ScriptedModel(
        [
            {"name": "use_skill", "args": {"name": "rain-report"}},
            {"name": "read_skill_file", "args": {"skill": "rain-report", "path": "references/table.md"}},
            "It rained on 12 of 31 days.",
        ]
    )
    agent = Agent(model, tools=None, skills=[folder])
    result = agent.run_sync("How often did it rain in May?")

    for step in result.steps:
        print(f"{step.tool}: {step.observation[:100]!r}")
    print(result.answer)
    assert "never a percentage" in result.steps[0].observation
    assert "12 of 31" in result.steps[1].observation
    assert "rain-report: How this office" in str(model.requests[0].messages[0])
    assert "never a percentage" not in str(model.requests[0].messages[0])
