"""Scripts as models: texts, calls, failures, delays; a wrong script is refused before anything runs."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from treadle import Agent, tool
from treadle._models.catalog.default import model_named
from treadle._types.errors import ConfigError


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_script_has_texts_calls_and_failures(tmp_path: Path):
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps(
            [
                {"error": "busy", "status": 503},
                [{"name": "add", "args": {"a": 1, "b": 2}}, {"name": "add", "args": {"a": 3, "b": 4}}],
                {
                    "text": "once more",
                    "reasoning": "hm",
                    "calls": [{"name": "add", "args": {"a": 5, "b": 6}}],
                    "delay": 0.01,
                },
                "eleven",
            ]
        )
    )
    result = asyncio.run(Agent(model_named(f"scripted:{path}"), [add], retry={"base": 0.0, "attempts": 2}).run("q"))
    assert result.answer == "eleven"
    assert [step.observation for step in result.steps] == ["3", "7", "11"]
    assert result.steps[2].thought == "once more"
    assert result.metadata["attempts_failed"] == 1
    rest = asyncio.run(Agent(model_named(f"scripted:{path}", skip=3), [add]).run("q"))
    assert rest.answer == "eleven"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("nonsense", "JSON list"),
        ("[1]", "reply 1"),
        ('["a", {"txet": "b"}]', "'txet'"),
        ('[[{"args": {}}]]', "without a name"),
        ('{"script": [], "speed": 1}', "speed"),
        ('{"script": [], "abilities": {"flying": true}}', "flying"),
    ],
)
def test_a_wrong_script_is_refused_at_once(tmp_path: Path, content: str, says: str):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=says):
        model_named(f"scripted:{path}")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a file that cannot be read")
def test_an_unreadable_script(tmp_path: Path):
    path = tmp_path / "s.json"
    path.write_text("[]")
    path.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read"):
        model_named(f"scripted:{path}")
