"""The tools of a workspace, as one plug-in: they work on the machine of their run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from msgspec import Meta, Struct

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.result import RunResult
from treadle._plugins.guards.tool_selection import offer_also
from treadle._tools.base import UNMARKED, Tool, ToolContext, ToolResponse
from treadle._tools.function import tool
from treadle._types.errors import ToolError
from treadle._types.events import PlanChanged, PlanStep
from treadle._workspace.machine import Machine
from treadle._workspace.reading import allowed_by, only_reads
from treadle._workspace.tools import bash, files, search
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.text_file import Replacement


class TodoItem(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=300)]
    state: Literal["open", "active", "done"] = "open"


TodoItems = Annotated[list[TodoItem], Meta(max_length=50, description="The whole list, in order")]
_MARKS = {"open": " ", "active": ">", "done": "x"}
_OUTPUT = "the output of a command"
_FILES = "a file of the workspace"


class WorkTools(Plugin):
    """A shell, file tools, search and a list of what is to do, in the folder of the run.

    `machine` returns the machine of a run; `allow` names commands that need no question, like "git status|pytest *".
    """

    name = "work_tools"
    brings_tools = True

    def __init__(self, machine: Callable[[RunContext], Machine], *, allow: str = "") -> None:
        self._machine = machine
        self._benches: WeakKeyDictionary[RunContext, Bench] = WeakKeyDictionary()
        changes: dict[str, Any] = {"acts": False, "concurrent": False}
        reads: dict[str, Any] = {"effect": "pure", "timeout": 60}
        shell = tool(
            self.bash, timeout=None, concurrent=False, untrusted=_OUTPUT, effect="unsafe", acts=True, approval="ask",
            fails_when=bash.FAILED,
        ).replace(for_call=self._command)  # fmt: skip
        write, edit, apply_patch = (
            one.replace(for_call=partial(self._change, one))
            for one in (tool(self.write, **changes), tool(self.edit, **changes), tool(self.apply_patch, **changes))
        )
        self._shell, self._allow = shell, allow
        self.tools = (
            shell,
            tool(self.bash_output, timeout=None, concurrent=False, untrusted=_OUTPUT, acts=False, polling=True),
            tool(self.read, untrusted="{path}", **reads),
            write,
            edit,
            apply_patch,
            tool(self.glob, untrusted=_FILES, **reads),
            tool(self.grep, untrusted=_FILES, **reads),
            tool(self.todo, effect="idempotent", acts=False, concurrent=False),
        )

    def bench(self, run: RunContext) -> Bench:
        """Return what the tools of a run share."""
        if run not in self._benches:
            self._benches[run] = Bench(self._machine(run))
        return self._benches[run]

    def _command(self, run: RunContext, args: Mapping[str, Any]) -> Tool:
        """The shell with the policy for one command. One that only reads runs where nothing can be written; one that
        can reach nothing but a folder that is not the person's is not asked about."""
        command, machine = str(args["command"]), self.bench(run).machine
        inside: dict[str, Any] = {"effect": UNMARKED, "acts": False, "approval": "allow", "fails_when": None}
        if not args.get("background") and only_reads(command) and _can_be_read_only(machine):
            return self._shell.replace(**{**inside, "effect": "pure"}, execute=self._bash_reading)
        alone = not machine.asks_for_writes and not machine.reaches_out
        if alone or allowed_by(self._allow, command):
            return self._shell.replace(**inside)
        return self._shell.replace(scope=f"bash: {command}")

    def _change(self, base: Tool, run: RunContext, args: Mapping[str, Any]) -> Tool:
        return base.replace(approval="ask") if self.bench(run).machine.asks_for_writes else base

    async def on_start(self, run: RunContext) -> None:
        await offer_also(run, (one.name for one in self.tools), "the run works in a folder")

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        if (bench := self._benches.pop(run, None)) is not None:
            await bench.shell.close()

    async def bash(
        self,
        context: ToolContext,
        command: bash.CommandText,
        timeout: bash.Timeout = 120,
        background: bash.Background = False,
    ) -> str | ToolResponse:
        """Run a command in the workspace. The shell stays open: its directory and variables are kept. It has no
        terminal, so nothing can be typed."""
        bench = self.bench(context.run)
        if background:
            return await bash.start_job(bench, command)
        return await bash.run_command(bench, command, timeout, context.output)

    async def _bash_reading(
        self, context: ToolContext, command: str, timeout: int = 120, background: bool = False
    ) -> ToolResponse:
        return await bash.run_reading(self.bench(context.run), command, timeout, context.output)

    async def bash_output(
        self, context: ToolContext, job: bash.JobName, wait: bash.Wait = 0, stop: bash.Stop = False
    ) -> str:
        """Show what a background job has printed since it was last asked for."""
        return await bash.job_output(self.bench(context.run), job, wait, stop)

    async def read(
        self, context: ToolContext, path: files.PathText, start_line: files.Line = 1, lines: files.Lines = 1_000
    ) -> Any:
        """Read a file of the workspace: text with line numbers, notebooks as cells, images as images."""
        return await asyncio.to_thread(files.read, self.bench(context.run), path, start_line, lines)

    async def write(self, context: ToolContext, path: files.PathText, content: files.Content) -> str:
        """Write a new file, or all of one that was read before."""
        return await asyncio.to_thread(files.write, self.bench(context.run), path, content)

    async def edit(
        self,
        context: ToolContext,
        path: files.PathText,
        old: files.Old = "",
        new: files.New = "",
        all: files.All = False,
        edits: files.Edits = [],  # noqa: B006 - it is not changed, and the schema shows it
    ) -> str:
        """Replace text in a file; old must stand there exactly once, unless all is true."""
        if bool(old) == bool(edits):
            raise ToolError("give either old and new, or edits")
        changes = list(edits) or [Replacement(old, new, all)]
        return await asyncio.to_thread(files.edit, self.bench(context.run), path, changes)

    async def apply_patch(self, context: ToolContext, patch: files.PatchText) -> str:
        """Change several places or files at once, add and remove files."""
        return await asyncio.to_thread(files.apply_patch, self.bench(context.run), patch)

    async def glob(self, context: ToolContext, pattern: search.GlobPattern, path: search.Folder = "") -> str:
        """Find files by their path."""
        return await asyncio.to_thread(search.glob, self.bench(context.run), pattern, path)

    async def grep(
        self,
        context: ToolContext,
        pattern: search.Pattern,
        path: search.Folder = "",
        files: search.FileFilter = "",
        show: search.Shows = "lines",
        around: search.Around = 0,
        any_case: search.AnyCase = False,
    ) -> str:
        """Find lines of files by a regular expression."""
        return await search.grep(self.bench(context.run), pattern, path, files, show, around, any_case)

    async def todo(self, context: ToolContext, items: TodoItems) -> str:
        """Keep the list of what is to do: write it before longer work, and again whenever something is done."""
        # The plan of the run: the same steps that a planner keeps, so that every surface shows them.
        steps = tuple(PlanStep(item.text, item.state == "done") for item in items)
        await context.run.emit(PlanChanged(steps, context.run.state.turn.iteration))
        return "\n".join(f"[{_MARKS[item.state]}] {item.text}" for item in items) or "the list is empty"


def _can_be_read_only(machine: Machine) -> bool:
    try:
        machine.command(["true"], read_only=True)
    except ToolError:
        return False
    return True
