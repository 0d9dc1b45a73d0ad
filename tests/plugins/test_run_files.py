"""Files go to a run of code as copies, and come back from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import NO_ADVICE, add, go
from treadle import Agent, ScriptedModel
from treadle._plugins.run_files import RunFiles
from treadle._types.errors import ToolError

SHOUT = """```python
from pathlib import Path
text = Path("/work/data.txt").read_text()
Path("/work/loud.txt").write_text(text.upper())
```"""


def code_agent(model: ScriptedModel) -> Agent:
    pytest.importorskip("pydantic_monty")
    return Agent(model, [add], preset="code", plugins=NO_ADVICE)


def scripted(*script: Any) -> ScriptedModel:
    return ScriptedModel(list(script), abilities={"tool_call": False})


def test_a_run_is_given_files_and_gives_files_back(tmp_path: Path):
    given = tmp_path / "data.txt"
    given.write_text("quiet")
    model = scripted(SHOUT, "done")
    result = go(code_agent(model).run("q", files=(str(given),)))
    assert [(a.name, a.content) for a in result.artifacts] == [("loud.txt", "QUIET")]
    assert given.read_text() == "quiet"
    assert list(tmp_path.iterdir()) == [given]
    assert "[Artifact generated: loud.txt]" in result.steps[0].observation
    assert "in /work: data.txt" in str(model.requests[0].messages)


def test_a_file_that_is_not_there_is_said(tmp_path: Path):
    result = go(code_agent(scripted(SHOUT, "done")).run("q", files=(str(tmp_path / "data.txt"),)))
    assert "the file 'data.txt' that was given to this run is not there" in result.steps[0].observation


def test_only_what_was_written_comes_back_and_names_must_differ(tmp_path: Path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a").write_text("2")
    files = RunFiles([str(tmp_path / "a")])
    assert files.changed() == ()
    (files.path / "b.png").write_bytes(bytes([255, 0]))
    (files.path / "link").symlink_to(tmp_path / "a")
    assert [(a.name, a.content, a.base64) for a in files.changed()] == [("b.png", "/wA=", True)]
    assert files.changed() == ()
    files.close()
    assert not files.path.exists()
    with pytest.raises(ToolError, match="two files with the name 'a'"):
        RunFiles([str(tmp_path / "a"), str(tmp_path / "more" / "a")])
