"""Reading documents, and errors that say where and what to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from treadle._config.document import json_schema, parse_document, read_document
from treadle._types.errors import ConfigError, MissingExtraError

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "config" / "research.json"


def test_one_agent_and_plain_components_are_whole_documents():
    short = parse_document({"agent": {"llm_id": "local:x"}, "name": "mine"})
    assert (short.name, list(short.components)) == ("mine", ["Agent:Main"])
    assert list(parse_document({"A": {"obj": {"component_name": "Agent"}}}).components) == ["A"]


def test_environment_variables_are_replaced():
    env = {"WHO": "Ada"}
    document = parse_document({"agent": {"sys_prompt": "${WHO} ${HOW:-kindly} ${NONE:-}", "tools": []}}, env=env)
    assert document.components["Agent:Main"].obj.params["sys_prompt"] == "Ada kindly "


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "x: expected a mapping of components at the top level"),
        ({"components": {"a": {"obj": {}}}}, "missing required field `component_name`"),
        ({"components": {"a": {"obj": {"component_name": "Agent"}, "downstraem": []}}}, "did you mean `downstream`"),
        ({"version": 9, "components": {}}, "unsupported version 9; this version of Treadle reads version 1"),
        (
            {"agent": {"tools": ["a", "${NOT_SET_ANYWHERE}"]}},
            r"x: \$\.agent\.tools\[1\] needs the environment variable NOT_SET_ANYWHERE, which is not set; set it or",
        ),
        (
            {"components": {"a": {"obj": {"component_name": "Begin"}, "downstream": ["b"]}}},
            r"x: \$\.components\['a'\]\.downstream names 'b', which does not exist; expected one of: a",
        ),
        (
            {"agent1": {"obj": {"component_name": "Agent"}, "upstream": ["agnet1"]}},
            "upstream names 'agnet1', which does not exist; did you mean 'agent1'",
        ),
    ],
)
def test_errors_say_where_and_what_to_change(data: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        parse_document(data, where="x")


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{"), ("a.yaml", "a: ["), ("missing.json", None), ("b.json", "\x00")]
)
def test_files_that_cannot_be_read(name: str, text: str | None, tmp_path: Path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=name):
        read_document(tmp_path / name)


def test_yaml_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    (tmp_path / "a.yaml").write_text("agent: {}")
    with pytest.raises(MissingExtraError, match=r"treadle\[yaml\]"):
        read_document(tmp_path / "a.yaml")


def test_the_schema_accepts_the_sample():
    validator = jsonschema_rs.validator_for(json_schema())
    validator.validate(json.loads(SAMPLE.read_text()))
    assert not validator.is_valid({"components": {"a": {"obj": {}}}})
