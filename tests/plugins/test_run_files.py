"""Files go to a run of code as copies, and come back from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import NO_ADVICE, add, go
from treadle import Agent, ScriptedModel
from treadle._plugins.run_files import RunFiles, given_files
from treadle._tools.media.attach import attach
from treadle._types.errors import ConfigError
from treadle._types.messages import SystemMessage, TextPart, text_of

DONE = "<__final_answer__>done</__final_answer__>"

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
    model = scripted(SHOUT, DONE)
    result = go(code_agent(model).run("q", files=(str(given),)))
    assert [(a.name, a.content) for a in result.artifacts] == [("loud.txt", "QUIET")]
    assert given.read_text() == "quiet"
    assert list(tmp_path.iterdir()) == [given]
    assert "[Artifact generated: loud.txt]" in result.steps[0].observation
    assert "in /work:\n- data.txt (5 bytes)" in noted(model)


def test_a_file_that_is_not_there_is_refused_before_the_first_request(tmp_path: Path):
    model = scripted(SHOUT, DONE)
    with pytest.raises(ConfigError, match="there is no file"):
        go(code_agent(model).run("q", files=(str(tmp_path / "data.txt"),)))
    assert model.requests == []


def test_files_of_one_name_get_names_of_their_own(tmp_path: Path):
    for number, folder in enumerate(("a", "b"), 1):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.csv").write_text(f"x,y\n{number},2\n")
    model = scripted("```python\nopen('/work/data.csv').read() + open('/work/data-2.csv').read()\n```", DONE)
    paths = tuple(str(tmp_path / folder / "data.csv") for folder in ("a", "b"))
    result = go(code_agent(model).run("q", files=paths))
    assert result.steps[0].observation == "x,y\n1,2\nx,y\n2,2\n"
    assert "- data.csv (8 bytes), begins with:\n    x,y\n    1,2\n- data-2.csv" in noted(model)


def noted(model: ScriptedModel) -> str:
    """The first request as text."""
    return "\n".join(text_of(message.content) for message in model.requests[0].messages if not is_system(message))


def is_system(message: Any) -> bool:
    return isinstance(message, SystemMessage)


def test_a_file_of_the_question_lies_where_the_code_looks_and_is_not_sent():
    data = "\n".join(["quiet", "second", "third", "secret fourth line"])
    model = scripted(SHOUT, DONE)
    question = (TextPart("Shout."), attach(data.encode(), name="data.txt"))
    result = go(code_agent(model).run(question))
    assert [a.name for a in result.artifacts] == ["loud.txt"]
    assert "secret" not in noted(model)
    assert "- data.txt (37 bytes), begins with:\n    quiet" in noted(model)


def test_who_plans_is_told_of_the_files(tmp_path: Path):
    (tmp_path / "data.txt").write_text("quiet")

    def reply(request: Any) -> str:
        return '{"steps": [{"text": "shout", "done": true}]}' if request.component == "planner" else DONE

    pytest.importorskip("pydantic_monty")
    model = ScriptedModel(reply, abilities={"tool_call": False})
    result = go(Agent(model, [add], preset="code").run("q", files=(str(tmp_path / "data.txt"),)))
    assert model.requests[0].component == "planner"
    assert "- data.txt (5 bytes)" in str(model.requests[0].messages)
    assert [step.text for step in result.plan] == ["shout"]


def test_elsewhere_files_go_with_the_question(tmp_path: Path):
    (tmp_path / "data.txt").write_text("quiet")
    model = ScriptedModel(["done"])
    agent = Agent(model, [add])
    go(agent.run("q", files=(str(tmp_path / "data.txt"),)))
    assert "quiet" in str(model.requests[0].messages)
    with pytest.raises(ConfigError, match="there is no file"):
        agent.prepare("q", files=(str(tmp_path / "none.txt"),))


def test_only_what_was_written_comes_back(tmp_path: Path):
    (tmp_path / "a").write_text("1")
    files = RunFiles(given_files("q", [str(tmp_path / "a")]))
    assert files.changed() == ()
    (files.path / "b.png").write_bytes(bytes([255, 0]))
    (files.path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    (files.path / "link").symlink_to(tmp_path / "a")
    written = {a.name: a for a in files.changed()}
    assert (written["b.png"].content, written["b.png"].base64, written["b.png"].mime) == ("/wA=", True, "image/png")
    assert written["t.csv"].summary == "A file of 12 bytes. 2 rows below: x,y"
    assert files.changed() == ()
    files.close()
    assert not files.path.exists()
