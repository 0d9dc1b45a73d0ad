"""Every prompt has a name that is known; a name that nothing reads is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import treadle
from kit import echo, go
from plugins.aids import cast
from plugins.scenes import request_text
from treadle import Agent, ScriptedModel
from treadle._dialects.registry import dialect_for
from treadle._engine.answering.writer import FORCED
from treadle._engine.prompt_names import PROMPTS, check_prompt_names
from treadle._plugins.research.plugin import Research
from treadle._types.errors import ConfigError

SOURCE = Path(treadle.__file__).parent


def test_every_prompt_that_is_read_is_listed_and_the_other_way_round():
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "prompt_names.py")
    read = set(re.findall(r"(?:prompts\.get\(\s*|prompt\(run, )\"([a-z_.]+)\"", text))
    made = {f"loop_{what}" for what in re.findall(r"self\._note\(run, \"(\w+)\"", text)}
    made |= {f"forced_{why}" for why in FORCED} | {"memory_summary"}
    dialects = ("json", "action", "array", "schema", "direct", "brief", "code", "native")
    assert all(dialect_for(name, "done").name == name for name in dialects)
    made |= {f"dialect.{name}{part}" for name in dialects for part in ("", ".reformat")}
    assert (read | made) - set(Research.prompts) == set(PROMPTS), "a plug-in may name its own"


@pytest.mark.parametrize(
    ("name", "message"), [("reflexion", "did you mean 'reflection'"), ("xyz", "expected one of: citations")]
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, message: str):
    with pytest.raises(ConfigError, match=f"unknown prompt '{name}'; {message}"):
        Agent(ScriptedModel([]), [echo], prompts={name: "x"})


def test_a_plug_in_names_its_own():
    class Own:
        name = "own"
        prompts = ("greeting",)

    check_prompt_names(["greeting", "insist"], [Own()])
    with pytest.raises(ConfigError, match="did you mean 'greeting'"):
        check_prompt_names(["greting"], [Own()])


def test_every_prompt_of_the_reflective_description_is_used():
    names = ("task_analysis", "plan_generation", "reflection", "rewrite", "complete")
    model = ScriptedModel(cast("array", 1))
    agent = Agent(model, [echo], preset="reflective", prompts={name: f"MY {name}" for name in names})
    history: list[Any] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 2
    go(agent.run("q", history=history))
    sent = "".join(request_text(request) for request in model.requests)
    assert [name for name in names if f"MY {name}" not in sent] == []
