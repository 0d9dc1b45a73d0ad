"""The tools of a workspace in a run: what the model gets, what is recorded, and background jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ConfigError, ScriptedModel, builtin
from treadle._types.events import ToolOutput
from treadle._workspace.tools.toolset import WorkTools
from workspace.machines import FolderMachine


def work(root: Path, *calls: Any, **settings: Any) -> Any:
    """A run that makes these calls one after the other."""
    model = ScriptedModel([*calls, "done"])
    plugin = WorkTools(lambda run: FolderMachine(root), **settings.pop("tools", {}))
    return go(Agent(model, plugins=[plugin], preset="strict", max_iterations=40, **settings).run("work"))


def test_a_run_reads_changes_and_tests(tmp_path: Path):
    (tmp_path / "a.py").write_text("def one():\n    return 2\n")
    result = work(
        tmp_path,
        call("todo", items=[{"text": "find it"}, {"text": "change it", "state": "active"}]),
        call("grep", pattern="return"),
        call("read", path="a.py"),
        call("edit", path="a.py", old="return 2", new="return 1"),
        call("bash", command="cd / && test $(basename $OLDPWD) && python3 -c 'raise SystemExit(3)'"),
        call("bash", command="pwd"),
        call("bash", command="vim a.py"),
        call("bash", command="sleep 30", timeout=1),
        call("edit", path="a.py", old="return 7", new="return 1"),
        call("glob", pattern="*.py"),
    )
    seen = [(step.error, step.observation) for step in result.steps]
    assert result.answer.startswith("done")
    assert seen[0] == ("", "[ ] find it\n[>] change it")
    assert seen[1] == ("", "a.py:2:    return 2")
    assert seen[3][1].endswith("-    return 2\n+    return 1")
    assert seen[4] == ("", "[exit code 3]")
    assert seen[5] == ("", "/")
    assert seen[6][0] == "exception"
    assert "vim needs a terminal, and there is none here: change files with edit" in seen[6][1]
    assert seen[7][0] == "exception"
    assert "[stopped after 1 s; give a longer timeout" in seen[7][1]
    assert "old does not stand in the file; line 2 is the most like it" in seen[8][1]
    assert seen[9][1] == "a.py"
    assert (tmp_path / "a.py").read_text() == "def one():\n    return 1\n"


async def test_output_is_shown_while_it_comes(tmp_path: Path):
    pieces: list[str] = []
    model = ScriptedModel([call("bash", command="echo one; sleep 0.2; echo two"), "done"])
    agent = Agent(model, plugins=[WorkTools(lambda run: FolderMachine(tmp_path))])
    run = agent.prepare("q")
    run.subscribe(lambda record: isinstance(e := record.event, ToolOutput) and pieces.append(e.text))
    await agent.launch(run)
    assert "".join(pieces) == "one\ntwo\n"
    assert len(pieces) >= 2


def test_a_background_job_works_on_while_others_run(tmp_path: Path):
    (tmp_path / "wait.sh").write_text("echo begun; while [ ! -e go ]; do sleep 0.05; done; echo gone; exit 4")
    result = work(
        tmp_path,
        call("bash", command="sh wait.sh", background=True),
        call("bash", command="sleep 1000", background=True),
        call("bash_output", job="job1"),
        call("bash", command="touch go"),
        call("bash_output", job="job1", wait=60),
        call("bash_output", job="job2", stop=True),
        call("bash_output", job="job9"),
    )
    seen = [step.observation for step in result.steps]
    assert seen[0].startswith("job1 has started")
    assert "[job1: it is working]" in seen[2]
    assert (seen[2] + seen[4]).count("begun") == 1
    assert seen[4].endswith("gone\n[job1: it has ended with exit code 4]")
    assert "[job2: it was stopped]" in seen[5] or "exit code 143" in seen[5]
    assert "there are: job1, job2" in seen[6]


@pytest.mark.parametrize("name", ["shell", "bash", "edit_file", "write_file"])
def test_who_looks_for_a_shell_among_the_built_ins_is_told_where_it_is(name: str):
    with pytest.raises(ConfigError, match="workspace"):
        builtin(name)
