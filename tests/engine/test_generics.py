"""The type variables are apart from the run, so that a program which only names an agent does not import runs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from treadle import Agent, OpenAIModel, ScriptedModel, tool
from treadle._engine.generics import NO_DEPS
loaded = [name for name in sys.modules if name.startswith(("treadle._engine.core.execution", "treadle._plugins"))]
agent = Agent(ScriptedModel(["done"]))
assert agent.deps is NO_DEPS
print(loaded, agent.run_sync("go").answer, "treadle._engine.core.execution" in sys.modules)
"""


def test_an_agent_is_named_without_what_only_its_first_run_needs():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "[] done True\n", done.stderr
