"""The stand-ins for guards of a reply policy."""

from __future__ import annotations

import pytest

from kit import add, go
from plugins.scenes import in_dialect
from treadle import Agent, ScriptedModel
from treadle._plugins.guards.approval import PolicyGuard
from treadle._types.profile import Profile

GAVE_UP = '{"action": "final_answer", "final_answer": "I cannot.", "task_successful": false}'
ADD = '{"action": "add", "args": {"a": 1, "b": 2}}'
FINAL = '{"action": "final_answer", "final_answer": "It is 3.", "task_successful": true}'


@pytest.mark.parametrize(("parameters", "answer"), [(1.5, "It is 3."), (70.0, "I cannot.")])
def test_guard_only_with_a_policy(parameters: float, answer: str):
    profile = Profile(grammar=True, json_schema=True, parameters=parameters)
    model = ScriptedModel([ADD, GAVE_UP, FINAL], profile=profile)
    agent = Agent(model, [add], dialect="direct", preset="streaming", plugins=[PolicyGuard("give_up_guard")])
    result = go(agent.run("What is 1 + 2?"))
    assert (result.answer, len(result.steps)) == (answer, 1)


def test_name_without_a_guard():
    model = ScriptedModel([in_dialect("direct", "add", a=1, b=2), FINAL], profile=Profile(grammar=True, parameters=1.5))
    agent = Agent(model, [add], dialect="direct", preset="streaming", plugins=[PolicyGuard("no_such_guard")])
    assert go(agent.run("What is 1 + 2?")).answer == "It is 3."
