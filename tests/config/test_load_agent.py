"""`load_agent`: from a file to an agent that answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import go
from treadle import ScriptedModel
from treadle._config import load_agent
from treadle._config.graph import GraphAgent
from treadle._types.errors import ConfigError
from treadle._types.messages import SystemMessage

AGENT = {"obj": {"component_name": "Agent"}}


def write(folder: Path, data: object) -> Path:
    path = folder / "agent.json"
    path.write_text(json.dumps(data))
    return path


def test_yaml_with_one_agent_and_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_PROMPT", "You are kind.")
    path = tmp_path / "agent.yaml"
    path.write_text(
        "agent:\n  llm_id: local:none\n  sys_prompt: ${MY_PROMPT} ${MISSING:-Always.}\n"
        "  tools:\n    - component_name: calculator\n  max_rounds: 3\n"
    )
    model = ScriptedModel(["hello"])
    agent = load_agent(path, model=model)
    assert not isinstance(agent, GraphAgent)
    assert agent.settings.max_iterations == 4
    assert go(agent.run("hi")).answer == "hello"
    system = model.requests[0].messages[0]
    assert isinstance(system, SystemMessage)
    assert "You are kind. Always." in system.text


def test_several_components_or_another_prompt_make_a_graph(tmp_path: Path):
    model = ScriptedModel(["hello"])
    assert isinstance(
        load_agent(write(tmp_path, {"A": AGENT, "begin": {"obj": {"component_name": "Begin"}}}), model=model),
        GraphAgent,
    )
    prompts = [{"role": "user", "content": "Translate: {{sys.query}}"}]
    assert isinstance(load_agent(write(tmp_path, {"agent": {"prompts": prompts}}), model=model), GraphAgent)


def test_the_file_is_named_in_errors(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"agent\.json: .*Agent:Main.*there is no llm_id"):
        load_agent(write(tmp_path, {"agent": {}}))
