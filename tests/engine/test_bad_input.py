"""Bad input gets a clear typed error that names the fix."""

from __future__ import annotations

import pytest

from kit import add, echo, go
from treadle import Agent, ScriptedModel, Tool, Toolkit, tool
from treadle._types.errors import ConfigError, DuplicateToolError, MissingKeyError, SchemaError, UnknownModelError

MODEL = ScriptedModel(["ok"], repeat_last=True)


def test_no_tools():
    empty: list[Tool] = []
    for agent in (Agent(MODEL), Agent(MODEL, None), Agent(MODEL, empty), Agent(MODEL, Toolkit(empty))):
        assert go(agent.run("hi")).answer == "ok"


def test_duplicate_tools():
    with pytest.raises(DuplicateToolError, match="add"):
        Agent(MODEL, [add, add])


def test_a_thing_that_is_no_tool():
    with pytest.raises(TypeError, match="function"):
        Agent(MODEL, [42])


def test_a_schema_that_is_not_one():
    async def run() -> str:
        return ""

    with pytest.raises(SchemaError, match="bad"):
        Agent(MODEL, [Tool("bad", "d", {"type": "object", "properties": {"a": {"type": "no-such-type"}}}, run)])
    with pytest.raises(SchemaError):
        Agent(MODEL, [Tool("bad", "d", "not a schema", run)])


@pytest.mark.parametrize("prompt", [None, 42, b"bytes", {}, [], "", "   ", [{"type": "video"}], [3]])
def test_a_prompt_that_is_none(prompt: object):
    with pytest.raises(ConfigError, match=r"prompt|content part"):
        go(Agent(MODEL, [add]).run(prompt))


def test_a_history_that_is_none():
    with pytest.raises(ConfigError, match="role"):
        go(Agent(MODEL, [add]).run("q", history=["just text"]))
    with pytest.raises(ConfigError, match="robot"):
        go(Agent(MODEL, [add]).run("q", history=[{"role": "robot", "content": "x"}]))


def test_a_model_that_does_not_exist():
    with pytest.raises(UnknownModelError, match="provider"):
        Agent("no-such-provider:model", [add])
    with pytest.raises(ConfigError):
        Agent(42, [add])


def test_a_key_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        Agent("openai:gpt-5", [add])


def test_settings_that_cannot_be():
    with pytest.raises(ConfigError, match="max_iterations"):
        Agent(MODEL, [add], max_itertions=3)
    with pytest.raises(ConfigError, match="wrong value"):
        Agent(MODEL, [add], max_iterations="many")
    with pytest.raises(ConfigError, match="at least 1"):
        Agent(MODEL, [add], max_iterations=0)
    with pytest.raises(ConfigError, match="dialect"):
        go(Agent(MODEL, [add], dialect="klingon").run("q"))


def test_an_output_type_that_cannot_be_described():
    with pytest.raises(SchemaError):
        Agent(MODEL, [add], output_type=type("Odd", (), {}))


def test_a_tool_with_a_bad_name_or_signature():
    with pytest.raises(ConfigError, match="name="):
        Agent(MODEL, [echo.replace(name="has spaces!")])
    with pytest.raises(ConfigError, match="Odd"):

        @tool
        def odd(x: type("Odd", (), {})) -> str:
            """Odd."""
            return ""
