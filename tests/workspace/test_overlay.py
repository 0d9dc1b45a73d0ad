"""A sandbox over an overlay: the log has the tree of each step, whatever the person changes below meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.kit import call, go

from treadle import Agent, ScriptedModel, ToolContext, Workspace, fork, open_journal, tool
from treadle._types.events import Record, TreeSaved, WorkspaceOpened
from treadle._workspace.backends import can_isolate
from treadle._workspace.objects import Objects
from treadle._workspace.overlay import Overlay, OverlayRefusedError
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.workspace import machine_of

pytestmark = pytest.mark.skipif(not can_isolate(), reason="bubblewrap cannot be used here")


@tool
async def bash(context: ToolContext, command: str) -> str:
    """Run a command; what is after `mine:` the person does in the folder below."""
    machine = machine_of(context.run)
    command, _, mine = command.partition("mine:")
    if mine:
        await asyncio.to_thread(subprocess.run, mine, shell=True, cwd=machine.shown, check=True)
    line = machine.command(["sh", "-c", command])
    return (await asyncio.to_thread(subprocess.run, line, capture_output=True, text=True, check=False)).stdout


def agent(folder: Path, *commands: str, **options: Any) -> Agent:
    model = ScriptedModel([*(call("bash", command=one) for one in commands), "done"])
    workspace = Workspace(folder, backend="sandbox")
    return Agent(model, [bash], workspace=workspace, preset="strict", max_iterations=20, **options)


def files_of(folder: Path, objects: Objects, tree: str) -> dict[str, str]:
    restore(Tracked(folder, objects), bytes.fromhex(tree))
    found = {str(p.relative_to(folder)): p.read_text() if p.is_file() else "" for p in sorted(folder.rglob("*"))}
    shutil.rmtree(folder)
    return found


def saved(records: list[Record]) -> list[TreeSaved]:
    return [record.event for record in records if isinstance(record.event, TreeSaved)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project, with: odd signs"
    for name in ("sub/deep/a", "sub/b", "other/c", ".venv/pyvenv.cfg", "top"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


async def test_each_step_has_exactly_its_files_and_what_the_person_does_meanwhile_is_not_in_them(
    project: Path, tmp_path: Path
):
    steps = (
        "rm -rf sub; mkdir -p sub/deep; echo new > sub/deep/n mine: echo theirs > top; echo x > other/theirs",
        "ls .venv; echo changed >> other/c; cat top",
        "chmod 700 other; mv other elsewhere; ln -s top link mine: rm -r sub; mkdir new; echo y > new/y",
    )
    journal = open_journal(tmp_path / "runs.db")
    result = await agent(project, *steps, journal=journal).run("go")
    records = await journal.load(result.run_id)
    opened = next(record.event for record in records if isinstance(record.event, WorkspaceOpened))
    assert (opened.backend, opened.overlay, opened.source) == ("sandbox", True, str(project))
    assert result.steps[1].observation == "pyvenv.cfg\ntop", "what is not stored shows through; top as it was"
    objects = Objects(Path(f"{tmp_path / 'runs.db'}.trees"))
    first, second, third = (
        files_of(tmp_path / "look", objects, event.tree) for event in saved(records) if event.moment == "after"
    )
    start = {"other": "", "other/c": "other/c", "top": "top"}
    assert first == {**start, "sub": "", "sub/deep": "", "sub/deep/n": "new\n"}
    assert second == {**first, "other/c": "other/cchanged\n"}
    assert third == {
        "elsewhere": "", "elsewhere/c": "other/cchanged\n", "link": "top", "sub": "", "sub/deep": "",
        "sub/deep/n": "new\n", "top": "top",
    }  # fmt: skip
    for step, tree in enumerate([event.tree for event in saved(records)], 1):
        forked = await fork(journal, result.run_id, step)
        await agent(project, journal=journal).resume(forked)
        assert saved(await journal.load(forked))[-1].tree == tree
    assert (project / "top").read_text() == "theirs\n"
    assert not (project / "elsewhere").exists()


def test_random_work_is_seen_in_the_upper_layer_alone(project: Path, tmp_path: Path):
    chance = random.Random(4)
    objects = Objects(tmp_path / "trees")
    layers = Overlay(project, tmp_path / "layers")
    tracked, whole = Tracked(layers.root, objects, layers=layers), Tracked(layers.root, objects)
    tracked.save()
    names = ["top", "sub", "sub/b", "sub/deep", "sub/deep/a", "other", "n", "n/m", "other/c"]
    acts = (
        "rm -rf {a}",
        "mkdir -p {a}",
        "echo {n} > {a}",
        "mv {a} {b}",
        "ln -sf {a} {b}",
        "chmod 70{k} {a}",
        "cp -r {a} {b}",
    )
    for number in range(150):
        a, b = chance.sample(names, 2)
        act = chance.choice(acts).format(a=a, b=b, n=number, k=chance.randrange(8))
        subprocess.run(act, shell=True, cwd=layers.root, check=False, capture_output=True)
        assert tracked.save(own=True).tree == whole.save().tree, act
    layers.close()


def test_an_overlay_that_cannot_be_is_refused(project: Path, tmp_path: Path):
    with pytest.raises(OverlayRefusedError, match="mounted at /dev/"):
        Overlay(Path("/dev"), tmp_path / "layers")
    with pytest.raises(OverlayRefusedError, match="holds the journal"):
        Overlay(project, project / "layers")


def test_a_run_that_was_killed_goes_on_over_its_layer(project: Path, tmp_path: Path):
    """Its process ends while a command works: nothing of it lives on, and the difference is the command's alone."""
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio, sys
sys.path[:0] = {[str(Path(__file__).parents[2])]!r}
from pathlib import Path
from tests.workspace.test_overlay import agent
from treadle import open_journal
command = "echo half > sub/b; echo > begun; sleep 100; echo whole > sub/b"

async def main():
    journal = open_journal({str(tmp_path / "runs.db")!r})
    await agent(Path({str(project)!r}), "echo 1 > top", command, journal=journal).start("go", run_id="run")
asyncio.run(main())
"""
    )
    process = subprocess.Popen([sys.executable, str(program)], env={**os.environ, "PYTHONPATH": "src"})
    upper = tmp_path / "runs.db.trees/runs/run.layers/upper"
    until = time.monotonic() + 60
    while not (upper / "begun").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    (project / "other" / "c").write_text("changed by the person before it goes on")

    async def main() -> None:
        journal = open_journal(tmp_path / "runs.db")
        await agent(project, journal=journal).resume("run")
        trees = saved(await journal.load("run"))
        assert [event.moment for event in trees] == ["start", "after", "interrupted"]
        assert trees[-1].changes.paths == ("A begun", "M sub/b")
        found = files_of(tmp_path / "look", Objects(Path(f"{tmp_path / 'runs.db'}.trees")), trees[-1].tree)
        assert (found["other/c"], found["top"], found["sub/b"]) == ("other/c", "1\n", "half\n")

    go(main())
