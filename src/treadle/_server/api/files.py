"""Operations about the files of a run that has a workspace: its trees, what each has changed, and one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import Literal, TypeVar

from msgspec import Struct
from starlette.responses import Response

from treadle._server.api.inspection import file_response
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import ApiError, conflict, not_found
from treadle._server.live.branches import OwnedRun
from treadle._types.errors import TreeError
from treadle._types.events import TreeChanges
from treadle._workspace.differences import MAX_PATHS, changes_between, file_at, file_difference, printable
from treadle._workspace.history import Merged, TreeStep, begun_with, merge, source_of_run, trees_of
from treadle._workspace.objects import EMPTY, Objects
from treadle._workspace.places import stored
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.workspace import Workspace

routes = Routes("inspector")

T = TypeVar("T")
MAX_FILES = 5000
"""Files of a tree that are listed."""
MAX_DIFFERENCE = 40_000
"""Characters of the difference of one file."""


class TreeBody(Struct, frozen=True):
    """A tree that was stored."""

    seq: int
    """The record that says so."""
    step: int
    moment: str
    call_id: str
    tree: str
    changes: TreeChanges
    skipped: tuple[str, ...]
    problem: str


class TreesBody(Struct, frozen=True):
    run_id: str
    trees: list[TreeBody]
    folder: str = ""
    """The person's folder that changes can be brought into; empty where whoever asks may not."""


class FilesBody(Struct, frozen=True):
    seq: int
    files: list[str]
    complete: bool
    """False when there are more."""


class FileChange(Struct, frozen=True):
    path: str
    kind: Literal["A", "M", "D"]
    difference: str
    """As a unified difference; empty for a folder."""


class DifferenceBody(Struct, frozen=True):
    seq: int
    before: int
    """The record of the tree it is compared with; -1 for an empty folder."""
    changes: list[FileChange]
    complete: bool
    """False when more files differ."""


class DifferenceQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    before: int | None = None
    """The record of another tree of the run; the one before it if none is given."""


class BringBody(Struct, frozen=True):
    """What would change in the person's folder, or what did."""

    folder: str
    now: str
    """The tree of the folder: what is done is refused when it is another one by then."""
    changes: list[FileChange]
    complete: bool
    conflicts: tuple[str, ...]
    """Files of which the run and somebody else have changed the same lines: nothing can be done."""


class BringQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    exact: bool = False
    """Whether the folder becomes what the tree is; else what the run has changed until then is added to it."""


class Bring(BringQuery, frozen=True, kw_only=True):
    now: str


class FileQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    download: bool = False


@routes("GET", "/api/runs/{run_id}/trees", TreesBody, errors=(404,))
async def run_trees(call: Call) -> Response:
    """List the trees of a run's workspace: how its files changed, step by step."""
    run_id = await call.owned_run()
    trees = trees_of(await call.hub.records(run_id))
    workspace = await _workspace(call, run_id)
    return answer(TreesBody(run_id, [_body(one) for one in trees], str(workspace.folder) if workspace else ""))


@routes("GET", "/api/runs/{run_id}/trees/{seq}", DifferenceBody, query=DifferenceQuery, errors=(404, 409))
async def run_tree(call: Call) -> Response:
    """Show what differs between a tree and the one before it, or another one of the run."""
    query: DifferenceQuery = call.query
    steps, objects = await _open(call)
    step = _chosen(steps, call.seq)
    if query.before is None:
        earlier = [one for one in steps if one.seq < step.seq and one.event.tree]
        before = earlier[-1] if earlier else None
    else:
        before = _chosen(steps, query.before)
    old = EMPTY if before is None else bytes.fromhex(before.event.tree)
    changes, complete = await _computed(call, objects, lambda: _changes(objects, old, bytes.fromhex(step.event.tree)))
    return answer(DifferenceBody(step.seq, -1 if before is None else before.seq, changes, complete))


@routes("GET", "/api/runs/{run_id}/trees/{seq}/files", FilesBody, errors=(404, 409))
async def run_tree_files(call: Call) -> Response:
    """List the files of a tree."""
    steps, objects = await _open(call)
    step = _chosen(steps, call.seq)

    def listed() -> list[str]:
        every = changes_between(objects, EMPTY, bytes.fromhex(step.event.tree))
        paths = (change.path for change in every if change.new is not None and change.new.kind != "d")
        return [printable(path) for path in islice(paths, MAX_FILES + 1)]

    files = await _computed(call, objects, listed)
    return answer(FilesBody(step.seq, files[:MAX_FILES], len(files) <= MAX_FILES))


@routes("GET", "/api/runs/{run_id}/trees/{seq}/bring", BringBody, query=BringQuery, errors=(403, 404, 409))
async def show_bring(call: Call) -> Response:
    """Show what bringing a tree would change in the person's folder."""
    return await _bring(call, exact=call.query.exact)


@routes("POST", "/api/runs/{run_id}/trees/{seq}/bring", BringBody, body=Bring, errors=(403, 404, 409))
async def bring(call: Call) -> Response:
    """Change the person's folder as it was shown. For the operator, in the folder that the agent is served with."""
    return await _bring(call, exact=call.body.exact, agreed=call.body.now)


async def _bring(call: Call, *, exact: bool, agreed: str | None = None) -> Response:
    run_id = await call.owned_run()
    workspace = await _workspace(call, run_id)
    if workspace is None:
        words = "the files of this run can be brought into a folder only by the operator, and into that of its agent"
        raise ApiError(403, "forbidden", words)
    if run_id in call.hub.runs:
        raise conflict("the run is under way: wait until it has ended, or stop it")
    steps, objects = await _open(call)
    step = _chosen(steps, call.seq)
    first, last = (bytes.fromhex(one.event.tree) for one in (steps[0], step))
    records = await call.hub.records(run_id)

    def brought() -> BringBody:
        folder = Tracked(workspace.folder, objects, workspace.rules)
        now = folder.save().tree
        both = Merged(last, ()) if exact else merge(objects, begun_with(objects, records, first), now, last)
        changes, complete = _changes(objects, now, both.tree)
        body = BringBody(str(workspace.folder), now.hex(), changes, complete, both.conflicts)
        if agreed is None:
            return body
        if agreed != now.hex():
            raise TreeError(f"{workspace.folder} has changed since this was shown: look again")
        if both.conflicts:
            raise TreeError("nothing was changed: the run and somebody else have changed the same lines")
        restore(folder, both.tree)
        return body

    return answer(await _computed(call, objects, brought))


async def _workspace(call: Call, run_id: OwnedRun) -> Workspace | None:
    """The workspace of the run's agent, where it is that of the run and whoever asks may change its folder. What a log
    says is not believed: it may be imported."""
    agent = call.hub.agents.get((await call.hub.facts(run_id)).agent)
    workspace = next((one for one in agent.plugins if isinstance(one, Workspace)), None) if agent else None
    own = workspace is not None and str(workspace.folder) == source_of_run(await call.hub.records(run_id))
    return workspace if own and call.context.authenticator.is_operator(call.principal) else None


@routes("GET", "/api/runs/{run_id}/trees/{seq}/file", "*/*", query=FileQuery, errors=(404, 409))
async def run_tree_file(call: Call) -> Response:
    """Return a file of a tree."""
    query: FileQuery = call.query
    steps, objects = await _open(call)
    step = _chosen(steps, call.seq)
    content = await _computed(call, objects, lambda: file_at(objects, bytes.fromhex(step.event.tree), query.path))
    if content is None:
        raise not_found(f"the file {query.path[:200]!r} in the tree of record {step.seq}")
    mime = "text/plain" if b"\0" not in content[:8000] else "application/octet-stream"
    return file_response(content, mime, query.path, download=query.download)


def _body(step: TreeStep) -> TreeBody:
    event = step.event
    return TreeBody(
        step.seq, step.step, event.moment, event.call_id, event.tree, event.changes, event.skipped, event.problem
    )


async def _open(call: Call) -> tuple[list[TreeStep], Objects]:
    """The trees of the run that are its own: an imported log may name those of others."""
    run_id = await call.owned_run()
    journal, _ = call.runs.log_of(run_id)
    steps, objects = trees_of(await call.hub.records(run_id)), stored(journal)
    if not steps:
        raise not_found("files of this run: it has no workspace")
    if objects is None:
        raise conflict("the files of this run are not on this machine")
    own = await asyncio.to_thread(objects.trees_of, run_id)
    return [one for one in steps if one.event.tree in own], objects


def _chosen(steps: list[TreeStep], seq: int) -> TreeStep:
    step = next((one for one in steps if one.seq == seq), None)
    if step is None:
        raise not_found(f"a tree in record {seq}")
    return step


async def _computed(call: Call, objects: Objects, compute: Callable[[], T]) -> T:
    context = call.context
    with context.differences.held(call.principal.key):
        try:
            async with context.computing:
                return await asyncio.to_thread(compute)
        except TreeError as error:
            raise conflict(str(error)) from None
        finally:
            objects.close()


def _changes(objects: Objects, old: bytes, new: bytes) -> tuple[list[FileChange], bool]:
    changes: list[FileChange] = []
    for change in changes_between(objects, old, new):
        text = file_difference(objects, change)
        if not text and (change.new or change.old) is not None:
            continue  # a folder: what is in it follows
        if len(changes) == MAX_PATHS:
            return changes, False
        changes.append(FileChange(printable(change.path), change.kind, text[:MAX_DIFFERENCE]))
    return changes, True
