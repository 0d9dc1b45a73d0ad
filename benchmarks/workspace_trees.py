"""Prove that the files of every step can be had again: on real packages with a bug, through noisy work, after any kill.

    python benchmarks/workspace_trees.py              # source distributions of small packages, from the package index
    python benchmarks/workspace_trees.py --short      # a generated package; no network and no pytest

For each package: a mutation makes a test of its own fail; four agents without a model work on it (one that knows the
answer, and three that first write a wrong edit, delete a folder, discard everything or build many files). Then each
step of each is forked, and what lies in the fork's folder is compared, by other means than the store's, with what lay
there at that step. A run is also killed (SIGKILL) after every one of its records and in the middle of a command, and
resumed: what lies in the folder must be a tree that its log names. Needs a system with fork.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle import Agent, ScriptedModel, ToolContext, fork, tool
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import Record, WorkspaceOpened
from treadle._types.messages import ToolMessage
from treadle._types.request import Request
from treadle._workspace import processes
from treadle._workspace.history import trees_of
from treadle._workspace.objects import Objects
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.workspace import machine_of

PACKAGES = """
    iniconfig inflection xmltodict parse cachetools tabulate pluggy markupsafe semver h11 pathspec webcolors six
    colorama rfc3986 orderly-set unidiff isodate docstring-parser tinydb termcolor ordered-set
"""
TEST = f"{sys.executable} -m pytest -q -x -p no:cacheprovider -o addopts="
SECONDS = 120


class Project(Struct, frozen=True):
    """A folder under git with a bug in it."""

    folder: Path
    file: str
    right: str
    """The content of the file without the bug."""
    test: str
    """The command that fails as long as it is there."""


class Figures(Struct):
    steps: int = 0
    equal: int = 0
    kills: int = 0
    unknown: int = 0
    test_seconds: float = 0.0
    tests: int = 0
    stored: list[float] = []


# ---- the projects


def downloaded(name: str, folder: Path) -> Path | None:
    """The source distribution of a package, unpacked."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", str(folder), name]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # what builds it may come as a wheel
        return None
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "source", filter="data")
    return next((folder / "source").iterdir())


def generated(folder: Path) -> Path:
    root = folder / "generated"
    for number in range(12):
        (root / "lib" / f"part{number}").mkdir(parents=True)
        for index in range(4):
            (root / "lib" / f"part{number}" / f"m{index}.py").write_text(f"x = {index}\n")
    (root / "lib" / "sums.py").write_text("def add(a, b):\n    return a + b\n")
    (root / "test.py").write_text(
        "import sys\nsys.path.insert(0, 'lib')\nfrom sums import add\nassert add(2, 2) == 4\n"
    )
    return root


def passes(root: Path, test: str) -> bool:
    variables = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            test, shell=True, cwd=root, env=variables, capture_output=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def mutations(text: str) -> Iterator[str]:
    """The text with one small mistake each."""
    swaps = {ast.Add: " - ", ast.Eq: " != ", ast.Lt: " >= ", ast.And: " or ", ast.NotEq: " == ", ast.Gt: " <= "}
    signs = {ast.Add: " + ", ast.Eq: " == ", ast.Lt: " < ", ast.And: " and ", ast.NotEq: " != ", ast.Gt: " > "}
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp)):
            kind = type(node.ops[0] if isinstance(node, ast.Compare) else node.op)
            line = lines[node.lineno - 1]
            if kind in swaps and line.count(signs[kind]) == 1:
                changed = line.replace(signs[kind], swaps[kind])
                yield "".join([*lines[: node.lineno - 1], changed, *lines[node.lineno :]])


def with_bug(root: Path, test: str, *, tries: int = 12) -> Project | None:
    """A mutation with which a test of the project fails, put under git."""
    if not passes(root, test):
        return None
    sources = [
        path
        for path in sorted(root.rglob("*.py"))
        if "test" not in str(path.relative_to(root)) and path.name != "setup.py"
    ]
    for path in sorted(sources, key=lambda path: -path.stat().st_size):
        right = path.read_text("utf-8")
        for wrong in mutations(right):
            tries -= 1
            if tries < 0:
                return None
            path.write_text(wrong, "utf-8")
            if not passes(root, test):
                for command in ("git init -q .", "git add -A", "git -c user.name=a -c user.email=a@b commit -qm bug"):
                    subprocess.run(command, shell=True, cwd=root, check=True, capture_output=True)
                return Project(root, path.relative_to(root).as_posix(), right, test)
        path.write_text(right, "utf-8")
    return None


# ---- the work


def trajectories(project: Project) -> dict[str, list[str]]:
    """The commands of one that knows the answer, and of three that do not at first."""
    folder = project.file.rpartition("/")[0] or "."
    fix, test = f'cp "$RIGHT" {project.file}', project.test
    many = "mkdir -p build; for i in $(seq 200); do echo $i > build/o$i.o; done"
    return {
        "oracle": [f"cat {project.file}", test, fix, test],
        "wrong edit": [f"echo 'def broken(:' >> {project.file}", test, fix, test],
        "deletes": [
            f"rm -rf {folder}/* ; ls",
            project.test,
            "git checkout .",
            "chmod 600 " + project.file,
            fix,
            project.test,
        ],
        "builds": [
            many,
            "rm -rf build; git checkout -q -b other",
            fix,
            "git add -A; git stash -q",
            "git stash pop",
            project.test,
        ],
    }


def script(commands: Sequence[str]) -> Any:
    def reply(request: Request) -> Any:
        number = sum(isinstance(message, ToolMessage) for message in request.messages)
        return (
            {"name": "bash", "args": {"command": commands[number]}, "id": f"c{number}"}
            if number < len(commands)
            else "done"
        )

    return reply


def bash(work: Work) -> Any:
    @tool(timeout=None)
    async def bash(context: ToolContext, command: str) -> str:
        """Run a command."""
        machine = machine_of(context.run)
        paths = f"{machine.root / 'src'}{os.pathsep}{machine.root}"
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": paths, "RIGHT": str(work.right), "HOME": "/tmp"}
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *machine.command(["sh", "-c", command], env=variables),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
        if command == work.project.test:
            work.figures.test_seconds += time.perf_counter() - began
            work.figures.tests += 1
        work.seen[context.call_id] = fingerprint(machine.root)
        return f"{process.returncode}: {out.decode(errors='replace')[-500:]}"

    return bash


def fingerprint(root: Path) -> str:
    """What lies in a folder, worked out by other means than the store's; without what its rules skip."""
    digest = sha256()
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(
            name for name in folders if name != "__pycache__" and not (here / name / "CACHEDIR.TAG").exists()
        )
        for path in [here / name for name in sorted([*files, *folders])]:
            link = path.is_symlink()
            mode = 0 if link else path.lstat().st_mode
            content = os.fsencode(os.readlink(path)) if link else path.read_bytes() if path.is_file() else b""
            digest.update(os.fsencode(path.relative_to(root)) + f" {mode:o} {len(content)} ".encode() + content)
    return digest.hexdigest()


def folder_of(records: Sequence[Record]) -> Path:
    events = (record.event for record in reversed(records))
    return Path(next(event.folder for event in events if isinstance(event, WorkspaceOpened)))


class Work(Struct, frozen=True):
    """Commands in a project, and what was seen while they ran."""

    project: Project
    commands: Sequence[str]
    right: Path
    figures: Figures
    seen: dict[str, str] = {}
    """What lay in the folder after each call."""

    def agent(self, journal: SqliteJournal, *, answers: bool = False) -> Agent:
        model = ScriptedModel(["enough"] if answers else script(self.commands))
        return Agent(
            model, [bash(self)], workspace=self.project.folder, preset="strict", max_iterations=30, journal=journal
        )


def work_in(project: Project, commands: Sequence[str], place: Path, figures: Figures) -> Work:
    place.mkdir(exist_ok=True)
    right = place / "right"
    right.write_text(project.right, "utf-8")
    return Work(project, commands, right, figures)


async def forked_steps(work: Work, place: Path) -> None:
    """Run the commands; then fork each step, and compare what lies in the folder of the fork."""
    journal, figures = SqliteJournal(place / "runs.db"), work.figures
    began = fingerprint(work.project.folder)
    result = await work.agent(journal).run("fix it")
    states = [began, *(work.seen[f"c{number}"] for number in range(len(work.commands)))]
    for step, state in enumerate(states, 1):
        copy = await fork(journal, result.run_id, step)
        await work.agent(journal, answers=True).resume(copy)
        folder = folder_of(await journal.load(copy))
        figures.steps += 1
        figures.equal += fingerprint(folder) == state
        shutil.rmtree(folder)
    await journal.aclose()


# ---- kills


class KillingJournal(SqliteJournal):
    """A journal that kills its process right after the n-th append was stored."""

    def __init__(self, path: Path, after: int) -> None:
        super().__init__(path)
        self.remaining = after

    async def append(self, records: Sequence[Record]) -> None:
        await super().append(records)
        self.remaining -= 1
        if self.remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def _awaited(begin: Callable[[], Any]) -> None:
    await begin()


def in_a_process(work: Callable[[], Any]) -> int:
    """Do the work in a process of its own; returns its status."""
    if (pid := os.fork()) == 0:
        status = 1
        try:
            asyncio.run(_awaited(work))
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


def killed_everywhere(work: Work, place: Path, every: int) -> None:
    """Kill the run in the middle of a command, and after each (or each n-th) record; resume it; compare."""
    slow = msgspec.structs.replace(
        work, commands=[f"{work.commands[0]}; for i in $(seq 300); do echo > w$i; done; sleep 60"]
    )
    for number in [0, *range(1, 200, every)]:
        path = place / f"k{number}.db"
        begin = killed_in_command(slow, path) if number == 0 else killed_after(work, path, number)
        if not os.WIFSIGNALED(in_a_process(begin)):
            return  # the run had fewer records
        work.figures.kills += 1
        asyncio.run(processes.kill("run"))
        trees = Path(f"{path}.trees")
        root = trees / "runs" / "run"
        whole = root.is_dir() and not root.with_name("run.unfinished").exists()
        state = fingerprint(root) if whole else ""
        before = asyncio.run(log_of(path))
        lost = in_a_process(lambda path=path: work.agent(SqliteJournal(path)).resume("run")) != 0
        work.figures.unknown += lost
        if not lost and whole and trees_of(before):
            saved = trees_of(asyncio.run(log_of(path)))
            last = len(trees_of(before)) - 1
            new = [one for one in saved[last + 1 :] if one.event.moment in ("interrupted", "between", "start")]
            named = [content_of(trees, one.event.tree, place / "look") for one in (saved[last], *new[:1])]
            work.figures.unknown += state not in named
        shutil.rmtree(trees, ignore_errors=True)


def killed_after(work: Work, path: Path, number: int) -> Callable[[], Any]:
    return lambda: work.agent(KillingJournal(path, number)).start("fix it", run_id="run").task


def killed_in_command(work: Work, path: Path) -> Callable[[], Any]:
    async def run() -> None:
        begun = work.agent(SqliteJournal(path)).start("fix it", run_id="run")
        while not Path(f"{path}.trees/runs/run/w100").exists():  # noqa: ASYNC110, ASYNC240 - another process writes it
            await asyncio.sleep(0.005)
        os.kill(os.getpid(), signal.SIGKILL)
        await begun

    return run


def content_of(trees: Path, tree: str, folder: Path) -> str:
    """The fingerprint of a stored tree."""
    objects = Objects(trees)
    restore(Tracked(folder, objects), bytes.fromhex(tree))
    objects.close()
    found = fingerprint(folder)
    shutil.rmtree(folder)
    return found


async def log_of(path: Path) -> list[Record]:
    journal = SqliteJournal(path)
    try:
        return await journal.load("run")
    finally:
        await journal.aclose()  # a process that is forked must not inherit an open database


# ---- figures


def snapshots(project: Project, figures: Figures, place: Path) -> None:
    """How long it takes to store a tree that did not change, and one with an edit."""
    root = place / "timed"
    shutil.copytree(project.folder, root, symlinks=True)
    objects = Objects(place / "timed.trees")
    tracked = Tracked(root, objects)
    tracked.save()
    time.sleep(0.05)
    tracked.save()
    for _ in range(5):
        began = time.perf_counter()
        tracked.save()
        figures.stored.append(time.perf_counter() - began)
    objects.close()


def prove(project: Project, place: Path, figures: Figures, *, every: int) -> None:
    snapshots(project, figures, place)
    for name, commands in trajectories(project).items():
        asyncio.run(forked_steps(work_in(project, commands, place / name, figures), place / name))
    inner = place / "kills"  # tests change no file: without them a kill takes a second
    commands = [command for command in trajectories(project)["deletes"] if command != project.test]
    killed_everywhere(work_in(project, commands, inner, figures), inner, every)


def projects(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Project]]:
    if options.short:
        made = with_bug(generated(folder), f"{sys.executable} test.py")
        assert made is not None
        yield "generated", made
        return
    proved = 0
    for name in options.packages or PACKAGES.split():
        place = folder / name
        place.mkdir()
        root = downloaded(name, place)
        project = with_bug(root, TEST) if root is not None else None
        if project is None:
            print(f"| {name} | not used: no source, its tests fail here, or no mutation makes one fail |", flush=True)
            continue
        yield name, project
        proved += 1
        if proved == options.number:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    total = Figures()
    print(
        "| project | files | steps forked | equal | kills | unknown trees | a test, s | storing an unchanged tree, ms |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="treadle-prove-") as temporary:
        folder = Path(temporary)
        for name, project in projects(options, folder):
            figures, place = Figures(), folder / f"{name}.work"
            place.mkdir()
            prove(project, place, figures, every=6 if options.short else 1)
            files = sum(path.is_file() for path in project.folder.rglob("*"))
            test = figures.test_seconds / max(1, figures.tests)
            stored = 1000 * sorted(figures.stored)[len(figures.stored) // 2]
            row = (
                name,
                files,
                figures.steps,
                figures.equal,
                figures.kills,
                figures.unknown,
                f"{test:.2f}",
                f"{stored:.1f}",
            )
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            total.steps += figures.steps
            total.equal += figures.equal
            total.kills += figures.kills
            total.unknown += figures.unknown
    print(f"\n{total.equal} of {total.steps} forks equal; {total.kills} kills, {total.unknown} unknown trees")
    return 0 if total.equal == total.steps and not total.unknown else 1


if __name__ == "__main__":
    sys.exit(main())
