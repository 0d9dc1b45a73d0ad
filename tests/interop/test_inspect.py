"""An agent as a solver of Inspect, with the real package: its model, its tools, its limits, its transcript."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
PROGRAM = '''
from inspect_ai import Task, eval as evaluate
from inspect_ai.approval import ApprovalPolicy, auto_approver
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import use_tools
from inspect_ai.tool import bash
from treadle import Agent, tool
from treadle.interop.inspect import solver

@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number

def output(tool, arguments):
    made = ModelOutput.for_tool_call("m", tool, arguments) if tool else ModelOutput.from_content("m", arguments)
    made.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    return made

def run(*steps, **options):
    model = get_model("mockllm/model", custom_outputs=[output(*step) for step in steps])
    solvers = [use_tools(bash()), solver(lambda model, tools: Agent(model, [*tools, double]))]
    task = Task(dataset=[Sample("Two lamps?", target="80")], solver=solvers, scorer=includes(), sandbox="local")
    (log,) = evaluate(task, model=model, display="none", log_dir="logs", **options)
    sample = log.samples[0]
    tools = [(e.function, str(e.result).strip(), bool(e.error)) for e in sample.events if e.event == "tool"]
    roles = [message.role for message in sample.messages]
    score, limit = sample.scores["includes"].value, sample.limit and sample.limit.type
    print(log.status, score, tools, roles, limit)
    return sample

BASH, DOUBLE = ("bash", {"command": "echo 40 > price; cat price"}), ("double", {"number": 40})
sample = run(BASH, DOUBLE, ("", "80 dollars"))
print(sample.model_usage["mockllm/model"].total_tokens)
run(BASH, BASH, DOUBLE, ("", "80 dollars"), token_limit=20)
run(BASH, ("", "none"), approval=[ApprovalPolicy(auto_approver("reject"), "*")])
'''
EXPECTED = """
success C [('bash', '40', False), ('double', '80', False)] \
['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'] None
36
success I [('bash', '40', False)] ['user', 'assistant', 'tool'] token
success I [('bash', '', True)] ['user', 'assistant', 'tool', 'assistant'] None
""".strip()


@pytest.mark.skipif(not PEERS.exists(), reason="python3 tasks.py peers installs inspect-ai")
def test_an_agent_in_inspect_where_it_is_installed(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    command = [str(PEERS), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == EXPECTED, done.stderr[-3000:]
