"""Runs as trajectories in ATIF, and trajectories as runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import add, call, fail, go
from record.imports.test_files import states
from treadle import Agent, ScriptedModel, tool
from treadle._journal.export import descendants
from treadle._journal.memory import MemoryJournal
from treadle._record.trajectory import trajectory_of

ROOT = Path(__file__).resolve().parents[2]
HARBOR = ROOT / ".venv" / "harbor" / "bin" / "python"
CHECK = """
import json, sys
from harbor.models.trajectories.trajectory import Trajectory
for document in json.load(sys.stdin):
    again = Trajectory.model_validate(document).to_json_dict()
    assert again == document, (again, document)
    print(len(again["steps"]))
"""


@tool(approval="ask")
def send(text: str) -> str:
    """Send it."""
    return f"sent {text}"


def trajectory(*script: Any, **options: Any) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        journal = MemoryJournal()
        helper = Agent(ScriptedModel([call("add", a=1, b=1), "It is 2."]), [add], name="helper").as_tool()
        agent = Agent(ScriptedModel(script), [add, fail, send, helper], system="Be brief.", journal=journal)
        result = await agent.run("What is 2 + 3?", on_error="result", **options)
        ids = [result.run_id, *(info.run_id for info in await descendants(journal, result.run_id))]
        return trajectory_of([await journal.load(run) for run in ids])

    return json.loads(json.dumps(go(work())))


ANSWERED = [[call("add", a=2, b=3), call("fail")], "It is 5."]
ASKED = [call("helper", user_prompt="Add.", reasoning="r", context="c"), "It is 2."]
WAITING = [call("send", text="x")]
FAILED = [call("add", a=2, b=3), ValueError("boom")]
EARLIER = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]


def test_a_run_as_a_trajectory():
    written = trajectory(*ANSWERED, history=EARLIER)
    sources = [(step["source"], step["message"]) for step in written["steps"]]
    assert sources == [
        ("system", "Be brief."),
        ("user", "Hello."),
        ("agent", "Hello!"),
        ("user", "What is 2 + 3?"),
        ("agent", ""),
        ("agent", "It is 5."),
    ]
    assert [step.get("is_copied_context") for step in written["steps"]][2:5] == [True, None, None]
    asked = written["steps"][4]
    assert [one["arguments"] for one in asked["tool_calls"]] == [{"a": 2, "b": 3}, {}]
    results = asked["observation"]["results"]
    assert [one["source_call_id"] for one in results] == [one["tool_call_id"] for one in asked["tool_calls"]]
    assert (results[0]["content"], results[1]["extra"]) == ("5", {"error": "exception"})
    assert written["final_metrics"]["total_steps"] == 6
    assert written["extra"]["stop_reason"] == "answer"


def test_an_agent_inside_is_a_trajectory_of_its_own():
    written = trajectory(*ASKED)
    (inside,) = written["subagent_trajectories"]
    (reference,) = written["steps"][2]["observation"]["results"][0]["subagent_trajectory_ref"]
    assert reference["trajectory_id"] == inside["trajectory_id"]
    assert inside["steps"][-1]["message"] == "It is 2."


def test_a_trajectory_becomes_a_run_again():
    (state,) = go(states(trajectory(*ANSWERED), "trajectory.json"))
    assert (state.question, state.started.system, state.started.origin) == ("What is 2 + 3?", "Be brief.", "imported")
    assert [(step.tool, step.args, step.observation[:1]) for step in state.steps] == [
        ("add", {"a": 2, "b": 3}, "5"),
        ("fail", {}, state.steps[1].observation[:1]),
    ]
    assert (state.finished.answer, {tool.name for tool in state.tools}) == (
        "It is 5.",
        {"add", "fail", "send", "helper"},
    )


def test_trajectories_that_have_not_ended():
    for script in (WAITING, FAILED):
        written = trajectory(*script)
        assert written["extra"]["stop_reason"] == ("paused" if script is WAITING else "error")
        assert len(go(states(written, "trajectory.json"))) == 1


def test_steps_and_metrics_of_others():
    metrics = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 90, "cost_usd": 0.5}
    result = {"results": [{"content": "The lamp is 40 dollars."}]}
    steps = [
        {"step_id": 1, "source": "user", "message": "Price?", "timestamp": "2026-01-01T00:00:00Z"},
        {"step_id": 2, "source": "agent", "message": "ls", "metrics": metrics, "observation": result, "timestamp": "?"},
        {"step_id": 3, "source": "agent", "message": [{"type": "text", "text": "40."}], "llm_call_count": 0},
    ]
    document = {
        "schema_version": "ATIF-v1.2",
        "agent": {"name": "a", "version": "1", "model_name": "m"},
        "steps": steps,
    }
    (state,) = go(states(document))
    assert (state.usage.input_tokens, state.usage.cached_tokens, state.usage.cost) == (100, 90, 0.5)
    assert state.usage.requests == 1
    assert state.finished.answer == "40."


@pytest.mark.parametrize("odd", [None, 5, "x", [5], {"results": 5}, [[]]])
def test_hostile_trajectories(odd: Any):
    fields = ("message", "tool_calls", "observation", "metrics", "timestamp", "llm_call_count", "reasoning_content")
    step = {"source": "agent", **dict.fromkeys(fields, odd)}
    document = {"schema_version": "ATIF-v1.8", "agent": odd, "steps": [odd, step], "subagent_trajectories": odd}
    assert len(go(states(document))) == 1


@pytest.mark.skipif(not HARBOR.exists(), reason="python3 tasks.py peers installs harbor")
def test_their_own_reader_where_it_is_installed(tmp_path: Path):
    documents = [trajectory(*script) for script in (ANSWERED, ASKED, WAITING, FAILED)]
    documents += [trajectory(*ANSWERED, history=EARLIER)]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    command, text = [str(HARBOR), "-c", CHECK], json.dumps(documents)
    done = subprocess.run(command, cwd=tmp_path, env=env, input=text, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["4", "4", "3", "4", "6"], done.stderr
