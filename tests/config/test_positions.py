"""Lines of what stands in a document."""

from __future__ import annotations

import json

import pytest

from treadle._config.positions import line_of, lines_of

YAML = """\
components:
  "Agent:A":
    obj:
      component_name: Agent
      params:
        settings:
          tempreature: 1
        tools:
          - component_name: calculator
          - component_name: nothing
"""
_PARAMS = {"settings": {"tempreature": 'a "quoted" [{'}, "tools": [{"x": 1}, {"y": []}], "empty": {}}
JSON = json.dumps({"components": {"Agent:A": {"obj": {"params": _PARAMS}}}}, indent=1)
PARAMS = ("components", "Agent:A", "obj", "params")


@pytest.mark.parametrize(("text", "suffix"), [(YAML, ".yaml"), (JSON, ".json")])
def test_each_key_and_item_has_its_line(text: str, suffix: str):
    lines = lines_of(text, suffix)
    rows = text.splitlines()
    assert "tempreature" in rows[line_of(lines, (*PARAMS, "settings", "tempreature")) - 1]
    first, second = line_of(lines, (*PARAMS, "tools", 0)), line_of(lines, (*PARAMS, "tools", 1))
    assert 0 < first < second
    assert line_of(lines, (*PARAMS, "tools", 1, "params", "no such thing")) == second


def test_short_forms_are_found():
    one = lines_of("name: x\nagent:\n  llm_id: y\n  settings:\n    a: 1\n", ".yml")
    assert line_of(one, (*PARAMS, "settings", "a")) == 5
    plain = lines_of('{"Agent:A":\n {"obj":\n {"params":\n {"llm_id": "x"}}}}', ".json")
    assert line_of(plain, (*PARAMS, "llm_id")) == 4


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "[1 2]", "{a: [", ""])
def test_a_text_that_cannot_be_read_has_no_lines(text: str):
    assert line_of(lines_of(text, ".json"), ("a",)) == 0
