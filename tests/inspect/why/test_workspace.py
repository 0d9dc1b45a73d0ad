"""Runs in a workspace: experiments make other edits and run commands in overlays, and nothing else is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.kit import call

from treadle import Agent, ScriptedModel, Workspace, find_causes, open_journal
from treadle._inspect.why.experiments import Experiment
from treadle._types.messages import SystemMessage, ToolMessage, text_of
from treadle._types.request import Request
from treadle._types.state import fold
from treadle._workspace.backends import can_isolate

pytestmark = pytest.mark.skipif(not can_isolate(), reason="bubblewrap cannot be used here")
BAD = "The owner wants blue."


def painter(request: Request) -> Any:
    """Reads what is wanted, writes it, and says what a program makes of it."""
    seen = [text_of(m.content) for m in request.messages if isinstance(m, ToolMessage)]
    said = "\n".join([*seen, *(m.text for m in request.messages if isinstance(m, SystemMessage))])
    colour = "blue" if BAD in said else "green" if "green" in said else "grey"
    calls = [
        call("bash", command="cat wish.txt; ls"),
        call("edit", path="colour", old="none", new=colour),
        call("bash", command="touch ../outside; cat colour; sort colour > sorted; grep -q green sorted && echo right"),
        call("read", path="sorted"),
    ]
    return calls[len(seen)] if len(seen) < len(calls) else f"It was {'right' if 'right' in seen[2] else 'not'}."


@pytest.mark.parametrize("in_prompt", [True, False])
async def test_other_edits_are_tried_in_overlays(tmp_path: Path, in_prompt: bool):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "wish.txt").write_text("Paint it green.\n" + ("" if in_prompt else f"{BAD}\n"))
    (folder / "colour").write_text("none\n")
    seen: list[Experiment] = []
    journal = open_journal(tmp_path / "runs.db")
    agent = Agent(
        ScriptedModel(painter), preset="coding", workspace=Workspace(folder, backend="sandbox"), journal=journal,
        system=f"You paint.\n{BAD if in_prompt else 'You are quick.'}\nYou are neat.",
    )  # fmt: skip
    run = await agent.run("Paint it.")
    assert "not" in run.answer
    found = await find_causes(agent, run.run_id, answer="It was right.", on_experiment=seen.append)
    assert found.causes, str(found)
    change = found.causes[0].change
    assert change.kind == ("prompt" if in_prompt else "passage")
    assert BAD in change.before
    steps = fold(await journal.load(found.causes[0].experiment.runs[0])).steps
    assert [step.observation.split()[-1] for step in steps] == ["wish.txt", "+green", "right", "green"]
    assert not any(one.unknown for one in seen), "each call had a result"
    assert sorted(path.name for path in folder.iterdir()) == ["colour", "wish.txt"]
    assert (folder / "colour").read_text() == "none\n"
    assert not (tmp_path / "outside").exists()
