"""A run's folder is part of its log: every step can be forked, resumed and asked again with exactly its files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kit import call, go

from treadle import (
    Agent,
    ConfigError,
    Conversation,
    ScriptedModel,
    Tool,
    ToolContext,
    Workspace,
    fork,
    open_journal,
    tool,
)
from treadle._journal.base import Journal
from treadle._types.events import Forked, Record, ToolDone, TreeSaved, WorkspaceOpened
from treadle._workspace.machine import Machine
from treadle._workspace.places import collect, objects_of
from treadle._workspace.snapshot import Tracked
from treadle._workspace.workspace import machine_of


@tool
async def bash(context: ToolContext, command: str) -> str:
    """Run a command."""
    machine: Machine = machine_of(context.run)
    process = await asyncio.create_subprocess_exec(
        *machine.command(["sh", "-c", command]), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return out.decode()


def script(*commands: str) -> ScriptedModel:
    return ScriptedModel([*(call("bash", command=one) for one in commands), "done"])


def agent(
    folder: Path, *commands: str, backend: Any = "copy", tools: list[Tool] | None = None, **options: Any
) -> Agent:
    workspace = Workspace(folder, backend=backend)
    return Agent(script(*commands), tools or [bash], workspace=workspace, preset="strict", max_iterations=20, **options)


def saved(records: list[Record]) -> list[TreeSaved]:
    return [record.event for record in records if isinstance(record.event, TreeSaved)]


def tree_of(folder: Path | str, journal: Journal) -> str:
    return Tracked(Path(folder), objects_of(journal, journal)).save().tree.hex()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_text("two")
    return folder


@pytest.fixture(params=["sqlite", "memory"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    return open_journal(tmp_path / "runs.db" if request.param == "sqlite" else "memory:")


STEPS = ("echo 2 > a.txt", "rm -rf sub; mkdir -p new/deep", "chmod 700 new; ln -s a.txt link", "true", "git init -q .")


async def test_each_step_is_forked_with_exactly_its_files(project: Path, journal: Journal):
    first = agent(project, *STEPS, journal=journal)
    result = await first.run("go")
    records = await journal.load(result.run_id)
    moments = [(event.moment, event.changes.paths) for event in saved(records)]
    assert moments[:3] == [("start", ()), ("after", ("M a.txt",)), ("after", ("A new/deep/", "D sub/b.txt"))]
    assert len(moments) == 5, "a call that changes nothing adds no record"
    after = [index for index, record in enumerate(records) if getattr(record.event, "moment", "") == "after"]
    assert all(isinstance(records[index + 1].event, ToolDone) for index in after), "the tree comes before its result"
    assert (project / "a.txt").read_text() == "one"
    trees = [event.tree for event in saved(records)]
    for step, expected in enumerate([*trees[:4], trees[3], trees[4]], 1):
        forked = await fork(journal, result.run_id, step)
        other = agent(project, journal=journal)
        await other.resume(forked)
        its = await journal.load(forked)
        opened = [record.event for record in its if isinstance(record.event, WorkspaceOpened)]
        assert saved(its)[-1].tree == expected == tree_of(opened[-1].folder, journal)
        assert opened[-1].folder != opened[0].folder


async def test_regenerating_begins_with_the_files_that_the_run_began_with(project: Path, journal: Journal):
    first = agent(project, "echo changed > a.txt", journal=journal)
    result = await first.run("go")
    records = await journal.load(result.run_id)
    (project / "a.txt").write_text("edited by the person meanwhile")
    again = [Record("again", 0, 1.0, records[0].event), Record("again", 1, 1.0, Forked(result.run_id, 1))]
    await journal.append(again)
    await agent(project, "cat a.txt", journal=journal).resume("again")
    done = [record.event for record in await journal.load("again") if isinstance(record.event, ToolDone)]
    assert done[0].content == "one"


async def test_a_conversation_goes_on_with_its_files(project: Path):
    first = Agent(script("echo 2 > a.txt"), [bash], workspace=Workspace(project), preset="strict")
    talk = Conversation(first)
    await talk.ask("one")
    first.models = (script("cat a.txt"),)
    result = await talk.ask("two")
    assert result.steps[0].observation == "2\n"


def test_calls_that_act_run_one_at_a_time(project: Path):
    under_way: list[int] = []

    @tool
    async def write(name: str) -> str:
        """Write a file."""
        under_way.append(1)
        assert len(under_way) == 1
        await asyncio.sleep(0)
        under_way.pop()
        return name

    model = ScriptedModel([[call("write", name=name) for name in "abc"], "done"])
    result = go(Agent(model, [write], workspace=project).run("go"))
    assert [step.error for step in result.steps] == ["", "", ""]


async def test_what_something_else_changes_is_told_apart(project: Path, journal: Journal):

    def edit(request: Any) -> Any:
        (project / "a.txt").write_text("the person's")
        return call("bash", command="echo z > z")

    model = ScriptedModel([call("bash", command="echo x > x"), call("bash", command="echo y > y"), edit, "done"])
    result = await Agent(model, [bash], workspace=Workspace(project, backend="host"), journal=journal).run("go")
    found = [(event.moment, event.changes.paths) for event in saved(await journal.load(result.run_id))]
    assert found == [
        ("start", ()),
        ("after", ("A x",)),
        ("after", ("A y",)),
        ("between", ("M a.txt",)),
        ("after", ("A z",)),
    ]
    assert (project / "z").exists()


async def test_a_fork_of_a_run_in_the_persons_folder_gets_a_copy(project: Path, journal: Journal):
    result = await agent(project, "echo 2 > a.txt", backend="host", journal=journal).run("go")
    forked = await fork(journal, result.run_id, 1)
    await agent(project, "cat a.txt; echo 3 > a.txt", backend="host", journal=journal).resume(forked)
    done = [record.event for record in await journal.load(forked) if isinstance(record.event, ToolDone)]
    assert done[-1].content == "one"
    assert (project / "a.txt").read_text() == "2\n"


async def test_background_processes_are_held_and_end_with_the_run(project: Path, journal: Journal):
    """Beside them the folder is stored at one instant; when the run has ended nothing writes any more."""
    started: list[Any] = []

    @tool
    async def start(context: ToolContext) -> str:
        """Start a program that goes on."""
        busy = "while :; do echo x >> log; cat log > copy; done"
        started.append(await asyncio.create_subprocess_exec(*machine_of(context.run).command(["sh", "-c", busy])))
        return "started"

    model = ScriptedModel([call("start"), *[call("bash", command="sleep 0.05")] * 3, "done"])
    result = await Agent(model, [start, bash], workspace=project, journal=journal, preset="strict").run("go")
    records = await journal.load(result.run_id)
    folder = next(record.event.folder for record in records if isinstance(record.event, WorkspaceOpened))
    trees = saved(records)
    assert len(trees) >= 4
    await started[0].wait()
    assert trees[-1].tree == tree_of(folder, journal)


async def test_trees_and_folders_go_with_their_runs(project: Path, tmp_path: Path):
    journal = open_journal(tmp_path / "runs.db")
    result = await agent(project, "echo 2 > a.txt", journal=journal).run("go")
    forked = await fork(journal, result.run_id, 2)
    await journal.delete(result.run_id)
    await collect(journal)
    await agent(project, "cat a.txt", journal=journal).resume(forked)
    done = [record.event for record in await journal.load(forked) if isinstance(record.event, ToolDone)]
    assert done[-1].content == "2\n"
    await journal.delete(forked)
    assert await collect(journal) > 0
    assert not list((tmp_path / "runs.db.trees" / "runs").iterdir())


async def test_what_cannot_be_stored_is_said(project: Path, journal: Journal):
    from treadle._workspace.snapshot import Rules

    workspace = Workspace(project, rules=Rules(max_files=10))
    many = Agent(
        script("for i in 1 2 3 4 5 6 7 8 9 a b; do echo > $i; done", "rm ?"),
        [bash],
        workspace=workspace,
        journal=journal,
    )
    result = await many.run("go")
    events = saved(await journal.load(result.run_id))
    assert [bool(event.problem) for event in events] == [False, True, True, False]
    forked = await fork(journal, result.run_id, 2)
    again = await Agent(script(), [bash], workspace=workspace, journal=journal, on_error="result").resume(forked)
    assert "were not stored" in str(again.error)


def test_bad_workspaces_are_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder"):
        Workspace(tmp_path / "absent")
    with pytest.raises(ConfigError, match="no backend 'vm'"):
        Workspace(tmp_path, backend="vm")  # pyright: ignore[reportArgumentType]


def test_an_agent_without_a_workspace_imports_nothing_of_it():
    program = (
        "import asyncio, sys\nfrom treadle import Agent, ScriptedModel\n"
        "asyncio.run(Agent(ScriptedModel(['hi'])).run('hi'))\n"
        "print([name for name in sys.modules if name.startswith('treadle._workspace')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_folder_that_was_being_filled_when_the_process_was_killed_is_filled_again(
    project: Path, tmp_path: Path
):
    journal = open_journal(tmp_path / "runs.db")
    own = tmp_path / "runs.db.trees" / "runs" / "half"
    own.mkdir(parents=True)
    (own / "a.txt").write_text("on")
    own.with_name("half.unfinished").touch()
    started = (await journal.load((await agent(project, journal=journal).run("go")).run_id))[0].event
    await journal.append([Record("half", 0, 1.0, started)])
    result = await agent(project, "cat a.txt sub/b.txt", journal=journal).resume("half")
    assert result.steps[0].observation == "onetwo"
    assert not own.with_name("half.unfinished").exists()
