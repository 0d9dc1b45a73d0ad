"""Tasks in the manner of SWE-bench: a folder with a repository, an issue, and a command that fails until it is solved.

task/repository/   the files as the agent gets them
task/issue.md      what it is asked
task/test.sh       run in the repository with `sh`; it succeeds when the issue is solved
task/tests/        files that are laid over what the agent left before that, whatever it did to them; may be missing
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._engine.core.decisions import Answer
from treadle._engine.result import RunResult
from treadle._journal import open_journal
from treadle._models.base import Model
from treadle._plugins.guards.approval import Approval
from treadle._types.errors import ConfigError
from treadle._workspace.backends import Copy, Place, Sandbox, can_isolate
from treadle._workspace.differences import unified
from treadle._workspace.history import merge, span_of
from treadle._workspace.places import stored
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.tools.shell import run_program
from treadle._workspace.workspace import Workspace

SECONDS = 600


class RepositoryResult(Struct, frozen=True):
    """How a task ended."""

    solved: bool
    solved_before: bool
    """The test succeeded on the files as they were given: it says nothing about the agent."""
    patch: str
    """What the agent has changed."""
    output: str
    """What the test printed at the end."""
    result: RunResult[Any]


async def run_repository(
    model: Model | str, task: str | PathLike[str], *, seconds: float = SECONDS, **settings: Any
) -> RepositoryResult:
    """Let the preset `coding` work on a task, and run its test on the files that it left."""
    folder = Path(task)
    if missing := [name for name in ("repository", "issue.md", "test.sh") if not (folder / name).exists()]:
        raise ConfigError(f"{folder} is no task: there is no {missing[0]} in it")
    with TemporaryDirectory(prefix="treadle-task-") as place:
        return await _run(model, folder, Path(place), seconds, settings)


async def _run(
    model: Model | str, task: Path, place: Path, seconds: float, settings: dict[str, Any]
) -> RepositoryResult:
    source, left = task / "repository", place / "left"
    shutil.copytree(source, left, symlinks=True)
    before, _ = await _tested(task, left, seconds)
    async with AsyncExitStack() as closing:
        journal = open_journal(place / "runs.db")
        closing.push_async_callback(journal.aclose)
        workspace = Workspace(source, backend="sandbox" if can_isolate() else "copy")
        options: Any = {"preset": "coding", "on_error": "result", **settings}
        plugins: Sequence[Any] = (Approval(_yes), *options.pop("plugins", ()))
        result = await Agent(model, plugins=plugins, workspace=workspace, journal=journal, **options).run(
            (task / "issue.md").read_text("utf-8")
        )
        objects = stored(journal)
        assert objects is not None
        closing.callback(objects.close)
        span = span_of(await journal.load(result.run_id))
        patch = unified(objects, span.old, merge(objects, span.old, span.old, span.new).tree)
        shutil.rmtree(left)
        restore(Tracked(left, objects), span.new)
    solved, output = await _tested(task, left, seconds)
    return RepositoryResult(solved, before, patch, output, result)


async def _tested(task: Path, folder: Path, seconds: float) -> tuple[bool, str]:
    """Run the test in a folder, isolated if that can be had: whether it succeeds, and what it prints."""
    if (task / "tests").is_dir():
        shutil.copytree(task / "tests", folder, symlinks=True, dirs_exist_ok=True)
    backend = Sandbox() if can_isolate() else Copy()
    machine = backend.open(Place(folder, folder, f"{folder.parent.name}-test"))
    try:
        script = (task / "test.sh").read_text("utf-8")
        ended = await run_program(machine, ["sh", "-c", script], seconds, read_only=False)
        await machine.settle()
    finally:
        machine.close()
    return ended.status == 0 and not ended.timed_out, ended.output


async def _yes(*_: object) -> Answer:
    return True
