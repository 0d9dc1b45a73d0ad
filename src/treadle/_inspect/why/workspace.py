"""The files of a run in its experiments: as long as one does what the run did, the log has the results. From the first
call that is another one, its calls are made in a sandbox over the files that the run had at that point: nothing is
written to them or to the person's folder, and there is no network.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from treadle._engine.acting.call_context import CallContext
from treadle._engine.context import RunContext, execution_of
from treadle._inspect.why.effects import key_of
from treadle._journal.base import Journal
from treadle._tools.base import ToolOutcome
from treadle._tools.runner import run_call
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import TreeError
from treadle._types.events import Record, ToolStarted, TreeSaved
from treadle._types.messages import ToolCall
from treadle._types.state import fold
from treadle._workspace.backends import Place, Sandbox, SandboxMachine, can_isolate
from treadle._workspace.objects import Objects
from treadle._workspace.places import remove, stored
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.tools.toolset import WorkTools
from treadle._workspace.workspace import Workspace


class InWorkspace:
    """Makes the calls of experiments that the files depend on."""

    name = "workspace"

    def __init__(self, records: Sequence[Record], objects: Objects) -> None:
        self._objects, self._opened = objects, fold(records).workspace
        self._work = WorkTools(lambda run: self._machines[run])
        self._tools = {one.name: one for one in self._work.tools}
        self._toolkit = Toolkit(self._work.tools)
        self._made, self._trees = self._calls(records)
        self._machines: WeakKeyDictionary[RunContext, SandboxMachine] = WeakKeyDictionary()
        self._folder = Path(tempfile.mkdtemp(prefix="treadle-why-"))
        self._lock = asyncio.Lock()

    def _acts(self, name: str) -> bool:
        return name in self._tools and self._tools[name].effect != "pure"

    def _calls(self, records: Sequence[Record]) -> tuple[list[bytes], list[bytes]]:
        """The calls of the run that may have changed its files, and the files before each and at the end."""
        made, trees, tree = list[bytes](), list[bytes](), b""
        for record in records:
            event = record.event
            if isinstance(event, TreeSaved):
                tree = bytes.fromhex(event.tree)
            elif isinstance(event, ToolStarted) and self._acts(event.call.name):
                made.append(key_of(event.call.name, event.call.args))
                trees.append(tree)
        return made, [*trees, tree]

    async def instead(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call in place of the recorded one, where the files are no longer those of the run."""
        keys = [key_of(step.tool, step.args) for step in run.state.steps if self._acts(step.tool)]
        if self._acts(call.name):
            keys.append(key_of(call.name, call.args))
        as_recorded = run not in self._machines and keys == self._made[: len(keys)]
        return None if as_recorded else await self.answer(run, call)

    async def answer(self, run: RunContext, call: ToolCall) -> ToolOutcome | None:
        if call.name not in self._tools:
            return None
        async with self._lock:  # one shell, one call at a time
            if run not in self._machines:
                steps = [step for step in run.state.steps if self._acts(step.tool)]
                done = [ToolCall(step.call_id, step.tool, step.args) for step in steps]
                pairs = enumerate(zip([key_of(one.name, one.args) for one in done], self._made, strict=False))
                same = next((at for at, (ours, its) in pairs if ours != its), min(len(done), len(self._made)))
                self._machines[run] = await asyncio.to_thread(self._machine, run.id, self._trees[same])
                for earlier in done[same:]:  # of a search that was stopped
                    await self._call(run, earlier)
            return await self._call(run, call)

    async def _call(self, run: RunContext, call: ToolCall) -> ToolOutcome:
        execution, tool = execution_of(run), self._tools[call.name]
        if tool.for_call is not None:
            tool = tool.for_call(run, {**tool.defaults, **call.args})
        context = CallContext(execution, call.id, call.name)
        return await run_call(tool, call, limits=execution.limits, toolkit=self._toolkit, extras={}, context=context)

    def _machine(self, run_id: str, tree: bytes) -> SandboxMachine:
        """A sandbox over the files of a tree, which are written out once."""
        lower = self._folder / (tree.hex() or "none")
        if not lower.is_dir():
            if not tree:
                raise TreeError("the files before this call were not stored")
            restore(Tracked(lower, self._objects), tree)
        own = self._folder / "runs" / run_id
        own.parent.mkdir(exist_ok=True)
        machine: Any = Sandbox().open(Place(lower, own, f"why-{run_id}"))
        if machine.overlay is None:
            restore(Tracked(own, self._objects), tree)
        elif self._opened is not None and self._opened.overlay:
            machine.shown = Path(self._opened.source)
        return machine

    async def close(self) -> None:
        for run, machine in list(self._machines.items()):
            await self._work.bench(run).shell.close()
            await machine.settle()
            machine.close()
        self._objects.close()
        await asyncio.to_thread(remove, self._folder)


def workspace_stand_in(plugins: Sequence[Any], records: Sequence[Record], journal: Journal) -> InWorkspace | None:
    """What stands for the workspace of a run in experiments; None where that cannot be had."""
    works = any(isinstance(one, Workspace) for one in plugins) and any(isinstance(one, WorkTools) for one in plugins)
    if not works or not can_isolate() or (objects := stored(journal)) is None:
        return None
    return InWorkspace(records, objects)
