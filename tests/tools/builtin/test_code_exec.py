"""`code_exec`: code in a sandbox as a tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel
from treadle._tools.builtin import builtin
from treadle._types.errors import ConfigError


def test_code_exec_as_a_built_in():
    pytest.importorskip("pydantic_monty")
    model = ScriptedModel(
        [call("code_exec", code="print(6 * 7)"), call("code_exec", code="import os", language="python"), "done"]
    )
    result = go(Agent(model, [builtin("code_exec")]).run("q"))
    assert result.steps[0].observation == "42"
    assert "not allowed here" in result.steps[1].observation
    assert result.answer == "done"
    with pytest.raises(ConfigError, match="languages must be python"):
        builtin("code_exec", languages=["ruby"])


@pytest.mark.parametrize("sandbox", ["monty", "bwrap"])
def test_a_relative_folder_is_the_one_at_the_time_the_tool_was_made(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "data.txt").write_text("7")
    monkeypatch.chdir(tmp_path)
    tool = builtin("code_exec", sandbox=sandbox, folder="work")
    monkeypatch.chdir("/")
    model = ScriptedModel([call("code_exec", code="open('/work/data.txt').read()"), "done"])
    assert go(Agent(model, [tool]).run("q")).steps[0].observation == "7"
