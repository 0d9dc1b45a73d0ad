"""Agent Skills in whole runs: the choice is a call, scripts run in the sandbox, nothing else is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import add, call, echo, go
from plugins.aids import run_of
from plugins.scenes import need_isolation
from treadle import Agent, DagAgent, ScriptedModel
from treadle._flows.dag.plan import DagStep, Plan
from treadle._plugins.skills import Skills
from treadle._types.errors import ConfigError
from treadle._types.events import RunStarted, ToolDone
from treadle._types.messages import text_of
from treadle.testing import assert_prefix_stable

SKILL = """---
name: rain-report
description: Sums up rain. Use it for questions about rain.
allowed-tools: echo
---
Run scripts/days.py with the days.
"""
SCRIPT = """
import sys, helper
print(helper.total(sys.argv[1:]), sys.stdin.read().strip())
try:
    open('/skill/SKILL.md', 'a')
except OSError:
    print('read-only')
open('/work/note.txt', 'w').write('x')
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rain-report"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "table.md").write_text("May: 12\nJune: 0\n")
    (folder / "scripts" / "days.py").write_text(SCRIPT)
    (folder / "scripts" / "helper.py").write_text("def total(days): return sum(map(int, days))")
    return folder


def results(result: Any) -> list[str]:
    return [text_of(record.event.content) for record in result.records if isinstance(record.event, ToolDone)]


def run(agent: Agent) -> Any:
    return run_of(agent, "How much rain?")[1]


def test_the_choice_is_a_call_and_the_prefix_stays(folder: Path):
    replies = [call("use_skill", name="rain-report"), call("read_skill_file", skill="rain-report", path="table.md")]
    model = ScriptedModel([*replies, "twelve"])
    done = run(Agent(model, [echo], system="You know rain.", skills=[folder]))
    started = done.records[0].event
    assert isinstance(started, RunStarted)
    assert "- rain-report: Sums up rain." in started.system
    assert started.system.startswith("You know rain.")
    assert "scripts/days.py" not in started.system
    body, table = results(done)
    assert "Run scripts/days.py with the days." in body
    assert "- table.md" in body
    assert "- scripts/days.py" in body
    assert "May: 12" in table
    assert_prefix_stable(done.records)
    assert [tool.name for tool in model.requests[0].tools][-3:] == ["use_skill", "read_skill_file", "run_skill_script"]


@pytest.mark.parametrize("dialect", ["json", "action", "schema"])
def test_a_model_without_native_calls_chooses_too(folder: Path, dialect: str):
    wanted = '{"type": "tool_call", "tool_name": "use_skill", "tool_input": {"name": "rain-report"}}'
    model = ScriptedModel([wanted, "Final Answer: twelve"], abilities={"tool_call": False}, repeat_last=True)
    agent = Agent(model, [echo], skills=[folder], dialect=dialect, max_iterations=2, on_limit="fallback")
    done = run(agent)
    assert "- rain-report: Sums up rain." in str(model.requests[0].messages)
    assert "use_skill" in str(model.requests[0].messages)
    if dialect == "json":
        assert "Run scripts/days.py" in results(done)[0]


def test_a_script_runs_in_the_sandbox(folder: Path):
    need_isolation()
    wanted = {"skill": "rain-report", "script": "scripts/days.py", "args": ["3", "9"], "text": "days"}
    agent = Agent(ScriptedModel([call("run_skill_script", **wanted), "twelve"]), [echo], skills=[folder])
    assert results(run(agent)) == ["12 days\nread-only"]


def test_a_script_of_the_shell_and_one_that_fails(folder: Path):
    need_isolation()
    (folder / "scripts" / "say.sh").write_text('echo "$1"; cat; exit 3')
    wanted = {"skill": "rain-report", "script": "scripts/say.sh", "args": ["one; rm -rf /"], "text": "two"}
    (said,) = results(run(Agent(ScriptedModel([call("run_skill_script", **wanted), "x"]), [echo], skills=[folder])))
    assert said.startswith("one; rm -rf /\ntwo")
    assert "status 3" in said


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (call("use_skill", name="other"), "rain-report"),
        (call("read_skill_file", skill="rain-report", path="../../etc/passwd"), "would leave"),
        (call("run_skill_script", skill="rain-report", script="table.md"), "its scripts are"),
        (call("run_skill_script", skill="rain-report", script="scripts/../../x.py"), "its scripts are"),
        (call("run_skill_script", skill="rain-report", script="scripts/days.py", args=["a\0b"]), "NUL"),
    ],
)
def test_what_is_not_of_the_skill_is_refused(folder: Path, wanted: Any, said: str):
    (result,) = results(run(Agent(ScriptedModel([wanted, "x"]), [echo], skills=[folder])))
    assert said in result


def test_the_gate_stands_before_scripts(folder: Path):
    wanted = call("run_skill_script", skill="rain-report", script="scripts/days.py")
    agent = Agent(ScriptedModel([wanted, "x"]), [echo], skills=[folder], ask=["run_skill_script"])
    assert go(agent.run("q")).stop_reason == "paused"
    (tool,) = [tool for tool in Skills([folder], folder=str(folder)).tools if tool.name == "run_skill_script"]
    assert tool.marked_unsafe
    assert tool.untrusted


def test_a_long_body_is_read_in_parts(folder: Path):
    lines = [f"line {number}" for number in range(400)]
    (folder / "SKILL.md").write_text(SKILL + "\n" + "\n".join(lines))
    plugin = Skills([folder], max_chars=1_000)
    replies = [call("use_skill", name="rain-report")]
    (first,) = results(run(Agent(ScriptedModel([*replies, "x"]), [echo], plugins=[plugin])))
    start = int(first.partition("start_line ")[2].partition("]")[0])
    wanted = call("read_skill_file", skill="rain-report", path="SKILL.md", start_line=start)
    (second,) = results(run(Agent(ScriptedModel([wanted, "x"]), [echo], plugins=[plugin])))
    shown = [line for line in first.splitlines() if line.startswith("line ")]
    assert f"line {len(shown)}\\n" in second
    assert f"line {len(shown) - 1}\\n" not in second


def test_selection_among_many_tools_keeps_the_skills(folder: Path):
    tools = [add.replace(name=f"tool_{number}") for number in range(14)]
    model = ScriptedModel(['{"tools": ["tool_3"]}', "done"])
    run(Agent(model, tools, skills=[folder]))
    offered = [tool.name for tool in model.requests[-1].tools]
    assert offered == ["tool_3", "use_skill", "read_skill_file", "run_skill_script", "more_tools"]


def test_no_skills_are_no_plugin_and_wrong_ones_an_error(tmp_path: Path):
    assert not Agent(ScriptedModel(["x"]), [echo], skills=[]).plugins
    with pytest.raises(ConfigError, match="is no skill"):
        Agent(ScriptedModel(["x"]), skills=[tmp_path / "missing"])
    with pytest.raises(ConfigError, match="there are none"):
        Skills([])


def test_a_step_of_a_plan_is_told_of_the_skills_once(folder: Path):
    model = ScriptedModel(["done"], repeat_last=True)
    agent = DagAgent(model, [echo], skills=[folder])
    plan = Plan((DagStep("s1", "Look at the rain."),))
    go(agent.run("How much rain?", plan=plan))
    steps = [str(request.messages[0]) for request in model.requests if request.component == "loop"]
    assert steps
    assert all(text.count("- rain-report: ") == 1 for text in steps)


@pytest.mark.model
@pytest.mark.long  # about what the model makes of it; what the engine does is tested above
@pytest.mark.timeout(1_200)
def test_a_small_local_model_chooses_the_skill(folder: Path):
    """With 0.5 billion parameters: the choice is a call like any other, and not that of the tool beside it."""
    from treadle._local.model import LocalModel
    from treadle._local.weights import weights
    from treadle._types.errors import ModelError

    try:
        weights.ensure("qwen2.5-coder-0.5b")
    except ModelError as error:
        pytest.skip(f"the model cannot be had: {error}")

    async def main() -> Any:
        model = LocalModel("qwen2.5-coder-0.5b", n_ctx=4096)
        try:
            agent = Agent(model, [add], skills=[folder], max_iterations=3, on_limit="fallback")
            started = agent.start("Read the instructions of the skill rain-report.")
            await started
            return started
        finally:
            await model.aclose()

    done = go(main(), limit=1_100)
    first = done.state.steps[0]
    assert first.tool in ("use_skill", "read_skill_file"), "it reads the skill, by its body or by its file"
    assert "rain-report" in first.args.values()
