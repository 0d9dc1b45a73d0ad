"""Operations about the files of a run that has a workspace: its trees, what each has changed, and one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeVar

from msgspec import Struct
from starlette.responses import Response

from treadle._server.api.inspection import file_response
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import bad_request, conflict, not_found
from treadle._types.errors import TreeError
from treadle._types.events import TreeChanges
from treadle._workspace.differences import MAX_PATHS, changes_between, file_at, file_difference, printable
from treadle._workspace.history import TreeStep, trees_of
from treadle._workspace.objects import EMPTY, Objects
from treadle._workspace.places import stored

routes = Routes("inspector")

T = TypeVar("T")
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


class FileQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    download: bool = False


@routes("GET", "/api/runs/{run_id}/trees", TreesBody, errors=(404,))
async def run_trees(call: Call) -> Response:
    """List the trees of a run's workspace: how its files changed, step by step."""
    run_id = await call.owned_run()
    trees = trees_of(await call.hub.records(run_id))
    return answer(TreesBody(run_id, [_body(one) for one in trees]))


@routes("GET", "/api/runs/{run_id}/trees/{seq}", DifferenceBody, query=DifferenceQuery, errors=(404, 409))
async def run_tree(call: Call) -> Response:
    """Show what differs between a tree and the one before it, or another one of the run."""
    query: DifferenceQuery = call.query
    steps, objects = await _open(call)
    step = _chosen(steps, _number(call.path("seq")))
    if query.before is None:
        earlier = [one for one in steps if one.seq < step.seq and one.event.tree]
        before = earlier[-1] if earlier else None
    else:
        before = _chosen(steps, query.before)
    old = EMPTY if before is None else bytes.fromhex(before.event.tree)
    changes, complete = await _computed(call, objects, lambda: _changes(objects, old, bytes.fromhex(step.event.tree)))
    return answer(DifferenceBody(step.seq, -1 if before is None else before.seq, changes, complete))


@routes("GET", "/api/runs/{run_id}/trees/{seq}/file", "*/*", query=FileQuery, errors=(404, 409))
async def run_tree_file(call: Call) -> Response:
    """Return a file of a tree, to be shown in a sandbox without scripts, network or an origin."""
    query: FileQuery = call.query
    steps, objects = await _open(call)
    step = _chosen(steps, _number(call.path("seq")))
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


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise bad_request("the number of a record must be a non-negative integer")
    return int(text)


def _chosen(steps: list[TreeStep], seq: int) -> TreeStep:
    step = next((one for one in steps if one.seq == seq), None)
    if step is None:
        raise not_found(f"a tree in record {seq}")
    return step


async def _computed(call: Call, objects: Objects, compute: Callable[[], T]) -> T:
    with call.context.computations.held(call.principal.key):
        try:
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
