"""`Workspace`: the folder a run works in, as part of its log.

After each call that acts, the tree of the folder is stored and recorded before the result is. A run that is resumed,
forked, or asked again from an earlier record begins with exactly the files of that record, in a folder of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from treadle._engine.acting.execute import for_call
from treadle._engine.context import RunContext, execution_of
from treadle._engine.plugin import Plugin
from treadle._engine.result import RunResult
from treadle._tools.base import ToolOutcome
from treadle._types.errors import ConfigError, ToolError, TreeError
from treadle._types.events import Forked, MessageAdded, TreeSaved, WorkspaceOpened
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.workspace_events import Moment, TreeChanges
from treadle._workspace.backends import NAMED, Backend, Copy, Place, Sandbox
from treadle._workspace.differences import summary
from treadle._workspace.machine import Machine
from treadle._workspace.objects import EMPTY, Objects
from treadle._workspace.overlay import Overlay
from treadle._workspace.places import folder_of, objects_of, remove
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Rules, Snapshot, Tracked

BackendName = Literal["host", "copy", "worktree", "sandbox"]
MAX_SKIPPED = 20
"""What was skipped that a record names."""
T = TypeVar("T")


class Opened:
    """The workspace of one run while it is driven."""

    def __init__(self, backend: Backend, place: Place, objects: Objects, rules: Rules) -> None:
        self.backend, self.place, self.machine = backend, place, backend.open(place)
        self.overlay: Overlay | None = getattr(self.machine, "overlay", None)
        self.tracked = Tracked(self.machine.root, objects, rules, self.overlay)
        """The folder as it was stored last."""
        self.tree = b""
        """The last tree that was recorded."""
        self.skipped: tuple[str, ...] = ()
        self.looked_at = -1
        """The round in which it was last seen what had changed between two calls."""
        self.lock = asyncio.Lock()
        """One tree at a time; a run inside this one shares it."""

    @property
    def there(self) -> bool:
        """Return whether the folder of the run is there, and whole."""
        whole = not _unfinished(self.place.own).exists()
        return whole and (not self.overlay.fresh if self.overlay is not None else self.machine.root.is_dir())

    def store(self, moment: Moment, mapped: set[int]) -> Snapshot:
        """Store the tree. What was changed below the layer of the run is not its own: it gets back what was there."""
        if self.overlay is None or moment == "start":
            return self.tracked.save(mapped)
        own = self.tracked.save(mapped, own=True)
        return own if moment == "after" else restore(self.tracked, own.tree)


class Workspace(Plugin):
    """The folder that the runs of an agent work in: `Agent(..., workspace=Workspace("project"))`.

    `backend`: `copy`, `worktree` (of its git repository), `sandbox` (the folder read-only, under what the run writes;
    no network unless `network`: all, or a list of hosts), `host` (the folder itself), or an object that makes machines.

    `on_interrupt`: after a crash in a call `keep` leaves its files, `restore` brings those from before it back.
    """

    name = "workspace"
    advisory = True  # its `before_tool` lets every call through
    acts_alone = True

    def __init__(
        self,
        folder: str | PathLike[str] = ".",
        *,
        backend: BackendName | Backend = "copy",
        network: bool | Sequence[str] = False,
        on_interrupt: Literal["keep", "restore"] = "keep",
        rules: Rules | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser().absolute()
        if not self.folder.is_dir():
            raise ConfigError(f"workspace: there is no folder {self.folder}")
        if isinstance(network, str):
            raise ConfigError(f"workspace: network is a list of hosts: write network=[{network!r}]")
        self.backend = _backend(backend, network=network)
        self.on_interrupt, self.rules = on_interrupt, rules or Rules()
        self._open: WeakKeyDictionary[RunContext, Opened] = WeakKeyDictionary()

    def machine(self, run: RunContext) -> Machine:
        """The machine of a run that is being driven."""
        return self._opened(run).machine

    def _opened(self, run: RunContext) -> Opened:
        opened = self._open.get(run)
        if opened is None:
            raise ToolError("this run has no workspace yet")
        return opened

    def objects(self, run: RunContext) -> Objects:
        """Where the trees of a run are stored."""
        return objects_of(execution_of(run).log.journal, self)

    # ---- hooks

    async def on_start(self, run: RunContext) -> None:
        if (around := self._around(run)) is not None:
            self._open[run] = around
            await run.emit(self._event(around), TreeSaved(around.tree.hex(), "start"))
            return
        objects = self.objects(run)
        base = await asyncio.to_thread(self._base, run, objects)
        opened = await self._make(run, objects, self.backend)
        if self.backend.own:
            await asyncio.to_thread(self._fill, opened, base)
        self._open[run] = opened
        await run.emit(self._event(opened))
        await self._save(run, opened, "start")

    async def on_resume(self, run: RunContext) -> None:
        recorded = run.state.tree
        if recorded is None or self._around(run) is not None:
            await self.on_start(run)
            return
        forked, before = _was_forked(run), run.state.workspace
        # A copy of a run that works in the person's folder itself must not bring back files there.
        backend = Copy() if forked or (before is not None and before.source) else self.backend
        backend = self.backend if self.backend.own else backend
        opened = await self._make(run, self.objects(run), backend)
        opened.tree = tree = bytes.fromhex(recorded.tree)
        if forked:
            await run.emit(self._event(opened))
        await opened.machine.settle()
        self._open[run] = opened
        if backend.own and (forked or not opened.there):
            if not tree:
                raise TreeError(f"the files of this record were not stored: {recorded.problem}")
            await self._restore(run, opened, tree)
            return
        if opened.overlay is not None and tree:
            await asyncio.to_thread(opened.tracked.assume, tree)
        call_id = _interrupted(run, recorded)
        if await self._save(run, opened, "interrupted" if call_id else "between", call_id) and call_id:
            await self._after_interruption(run, opened, tree, call_id)

    async def _after_interruption(self, run: RunContext, opened: Opened, tree: bytes, call_id: str) -> None:
        changed = run.state.tree.changes if run.state.tree is not None else TreeChanges()
        text = (
            f"The process stopped while the call {call_id} was under way. Until then it had changed: {said(changed)}."
        )
        if self.on_interrupt == "restore" and tree:
            await self._restore(run, opened, tree)
            text += " The files were brought back to what they were before the call."
        await run.emit(MessageAdded(UserMessage(text, kind="note"), self.name))

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        opened = self._open.get(run)
        if opened is not None and opened.looked_at != run.state.iteration and _acts(run, call):
            opened.looked_at = run.state.iteration
            await self._save(run, opened, "between")
        return call

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        opened = self._open.get(run)
        if opened is not None and outcome.executed and _acts(run, call):
            await self._save(run, opened, "after", call.id)
        return outcome

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        opened = self._open.get(run)
        if opened is None or self._around(run) is not None:
            self._open.pop(run, None)
            return
        await opened.machine.settle()
        stopped = result.stop_reason in ("cancelled", "budget", "error")
        await self._save(run, opened, "interrupted" if stopped else "between")
        self._open.pop(run, None)
        opened.machine.close()
        opened.tracked.objects.close()

    # ---- inside

    def _around(self, run: RunContext) -> Opened | None:
        """The workspace of the run around this one, which this one works in."""
        outermost = run.outermost
        return None if outermost is run else self._open.get(outermost)

    async def _make(self, run: RunContext, objects: Objects, backend: Backend) -> Opened:
        own = folder_of(objects, run.id)
        own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return await asyncio.to_thread(Opened, backend, Place(self.folder, own, own.name), objects, self.rules)

    def _base(self, run: RunContext, objects: Objects) -> bytes | None:
        """The tree that a run which begins goes on from: of the run it was copied from, or that it follows."""
        for record in reversed(run.records):
            if isinstance(record.event, Forked):
                return objects.first_of(record.event.origin)
        follows = run.state.started.follows if run.state.started is not None else ""
        if follows and (tree := objects.last_of(follows)) is not None:
            return tree
        return objects.last_in(run.conversation) if run.conversation else None

    def _fill(self, opened: Opened, base: bytes | None) -> None:
        place, objects = opened.place, opened.tracked.objects
        mark = _unfinished(place.own)
        if base is None and opened.overlay is None:
            if mark.exists() and not place.own.is_mount():  # a process was killed here
                remove(place.own)
            if not place.own.exists():
                mark.touch()
                self.backend.prepare(place)
            if not place.own.exists() or not any(place.own.iterdir()):
                base = Tracked(place.source, objects, self.rules).save().tree
        if base is not None:
            _whole(opened, lambda: restore(opened.tracked, base))
        mark.unlink(missing_ok=True)

    def _event(self, opened: Opened) -> WorkspaceOpened:
        source = str(self.folder) if opened.backend.own else ""
        if opened.overlay is not None:
            return WorkspaceOpened(opened.backend.name, str(opened.overlay.upper), source, overlay=True)
        return WorkspaceOpened(opened.backend.name, str(opened.machine.root), source)

    async def _save(self, run: RunContext, opened: Opened, moment: Moment, call_id: str = "") -> bool:
        """Store the tree and record it, if it is another one; returns whether it is."""
        try:
            async with opened.lock, opened.machine.held() as mapped:
                snapshot = await asyncio.to_thread(opened.store, moment, mapped)
        except (TreeError, OSError) as error:
            if moment == "start":
                raise TreeError(str(error)) from error
            opened.tree = b""
            await run.emit(TreeSaved("", moment, call_id, problem=str(error)[:500]))
            return True
        if snapshot.tree == opened.tree and snapshot.skipped == opened.skipped and moment != "start":
            return False
        before, opened.tree, opened.skipped = opened.tree, snapshot.tree, snapshot.skipped
        await self._record(run, opened, before if moment != "start" else snapshot.tree, moment, call_id)
        return before != snapshot.tree

    async def _restore(self, run: RunContext, opened: Opened, tree: bytes) -> None:
        await opened.machine.settle()
        async with opened.lock:
            snapshot = await asyncio.to_thread(_whole, opened, lambda: restore(opened.tracked, tree))
        before, opened.tree, opened.skipped = opened.tree, snapshot.tree, snapshot.skipped
        await self._record(run, opened, before, "restored", "")

    async def _record(self, run: RunContext, opened: Opened, before: bytes, moment: Moment, call_id: str) -> None:
        objects, tree, skipped = opened.tracked.objects, opened.tree, opened.skipped
        changes = await asyncio.to_thread(summary, objects, before or EMPTY, tree)
        objects.note(run.id, tree, moment, run.conversation)
        await run.emit(TreeSaved(tree.hex(), moment, call_id, changes, skipped[:MAX_SKIPPED]))


def workspace_of(run: RunContext) -> Workspace:
    """Return the workspace of a run, or of one around it."""
    for around in execution_of(run).around():
        for plugin in around.blueprint.plugins:
            if isinstance(plugin, Workspace):
                return plugin
    raise ToolError("this agent has no workspace: give it one, Agent(..., workspace='FOLDER')")


def machine_of(run: RunContext) -> Machine:
    """Return the machine of the workspace that a run works in, for tools."""
    return workspace_of(run).machine(run)


def said(changes: TreeChanges, most: int = 10) -> str:
    """The changes in a line."""
    total = changes.added + changes.changed + changes.removed
    shown = ", ".join(changes.paths[:most]) or "nothing"
    return f"{shown} and {total - most} more" if total > most else shown


def _acts(run: RunContext, call: ToolCall) -> bool:
    tool = for_call(execution_of(run), call, run.tool(call.name))  # a shell may be asked to read only
    return tool is not None and tool.effect != "pure"


def _was_forked(run: RunContext) -> bool:
    """Return whether the run was copied from another one since its workspace was opened."""
    events = (record.event for record in reversed(run.records))
    return isinstance(next((event for event in events if isinstance(event, Forked | WorkspaceOpened)), None), Forked)


def _interrupted(run: RunContext, recorded: TreeSaved) -> str:
    """The call that acts and was under way when the process stopped."""
    for open_call in run.state.calls.pending():
        if open_call.started and open_call.effect != "pure" and open_call.call.id != recorded.call_id:
            return open_call.call.id
    return ""


def _unfinished(own: Path) -> Path:
    """A file that is there while a folder is being filled: after a crash it is filled again."""
    return own.with_name(f"{own.name}.unfinished")


def _whole(opened: Opened, fill: Callable[[], T]) -> T:
    mark = _unfinished(opened.place.own)
    mark.touch()
    done = fill()
    mark.unlink()
    return done


def _backend(backend: BackendName | Backend, *, network: bool | Sequence[str]) -> Backend:
    if not isinstance(backend, str):
        return backend
    if backend not in NAMED:
        raise ConfigError(f"workspace: there is no backend {backend!r}; expected one of: {', '.join(NAMED)}")
    return Sandbox(network=network) if backend == Sandbox.name else NAMED[backend]()
