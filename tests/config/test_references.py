"""References in the texts of a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle import ScriptedModel
from treadle._config.checking import reference_problems
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._config.links import sorted_components
from treadle._config.scope import Scope, has_references
from treadle._types.errors import ConfigError


def test_references_are_replaced():
    scope = Scope({"sys.query": "q", "Agent:A": {"content": "one"}, "Agent:J": {"content": '{"n": [1, {"m": 2}]}'}})
    assert scope.render("{{sys.query}} {{ Agent:A@content }} {{Agent:A}} {{Agent:B@content}}.") == "q one one ."
    assert scope.render("{{Agent:J@structured.n.1.m}} {{Agent:J@n}}") == '2 [1,{"m":2}]'
    assert scope.render_all({"a": ["{{Agent:A}}", 1], "b": {"c": "{{sys.query}}"}}) == {
        "a": ["one", 1],
        "b": {"c": "q"},
    }
    assert has_references("{{sys.query}}")
    assert not has_references("{ {sys.query} }")


def agent(**params: Any) -> dict[str, Any]:
    return {"obj": {"component_name": "Agent", "params": {"preset": "default", **params}}}


def problems(data: dict[str, Any]) -> list[str]:
    document = parse_document(data)
    return [str(problem) for problem in reference_problems(document, sorted_components(document, "x"))]


PROMPT = [{"role": "user", "content": "{{sys.query}} {{begin}} {{ Agent:First@content }}"}]


def test_what_runs_before_a_component_may_be_used():
    data = {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:First"]},
        "Agent:First": agent(sys_prompt="for {{sys.user}}"),
        "Agent:Second": {**agent(prompts=PROMPT), "upstream": ["Agent:First"]},
    }
    assert problems(data) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{Agent:Frist@content}}", "refers to 'Agent:Frist', which does not exist; did you mean 'Agent:First'?"),
        ("{{sys.qeury}}", "did you mean 'sys.query'?"),
        ("{{Typo@content}}", "which does not exist; expected one of: sys.query, sys.user,"),
        ("{{env.tone}}", "refers to 'env.tone', which is not in `globals`"),
        ("{{Agent:Last@content}}", "which does not run before 'Agent:Second'"),
        ("{{Agent:Second@content}}", "which does not run before 'Agent:Second'"),
        (
            "{{Agent:First@contnet}}",
            "refers to 'contnet' of 'Agent:First', which is not one of its outputs: write {{Agent:First@content}}",
        ),
    ],
)
@pytest.mark.parametrize("field", ["sys_prompt", "prompts"])
def test_anything_else_is_an_error_at_load(text: str, problem: str, field: str):
    value: Any = text if field == "sys_prompt" else [{"role": "user", "content": text}]
    data = {
        "Agent:First": agent(),
        "Agent:Second": {**agent(**{field: value}), "upstream": ["Agent:First"]},
        "Agent:Last": {**agent(), "upstream": ["Agent:Second"]},
    }
    (found,) = problems(data)
    assert problem in found
    assert found.startswith(f"$.components['Agent:Second'].obj.params.{field}")
    with pytest.raises(ConfigError, match=r"x: .*refers to"):
        GraphAgent(parse_document(data), Path(), model=ScriptedModel([]), where="x")


def test_messages_and_arguments_of_tools_are_looked_at_too():
    data = {
        "Agent:A": agent(),
        "calculator:C": {
            "obj": {"component_name": "calculator", "params": {"arguments": {"expression": "{{Agent:B}}"}}},
            "upstream": ["Agent:A"],
        },
        "Message:M": {"obj": {"component_name": "Message", "params": {"content": ["ok", "{{Agent:C}}"]}}},
    }
    found = problems(data)
    assert any("arguments.expression: {{Agent:B}}" in line for line in found)
    assert any("content[1]: {{Agent:C}}" in line for line in found)
