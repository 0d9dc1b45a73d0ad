"""The trees of a recorded run by its steps, and how the changes of a run are brought into another folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeGuard

from msgspec import Struct

from treadle._python_process import SAFE_FOLDER
from treadle._types.errors import ConfigError, TreeError
from treadle._types.events import Record, RunStarted, ThinkStarted, TreeSaved, WorkspaceOpened
from treadle._types.state import CONVERSATION
from treadle._workspace.objects import EMPTY, Entry, Objects, encoded


class TreeSpan(Struct, frozen=True):
    """Two trees of a run: before and after some of its steps."""

    old: bytes
    new: bytes


class TreeStep(Struct, frozen=True):
    """A tree that was stored, and the step of the run in which it was."""

    seq: int
    step: int
    event: TreeSaved


def trees_of(records: Sequence[Record]) -> list[TreeStep]:
    """The trees of a run in order; those before its first model call belong to step 0."""
    step, trees = 0, list[TreeStep]()
    for record in records:
        event = record.event
        if isinstance(event, ThinkStarted) and event.component in CONVERSATION:
            step = event.iteration
        elif isinstance(event, TreeSaved):
            trees.append(TreeStep(record.seq, step, event))
    return trees


def span_of(records: Sequence[Record], first: int | None = None, last: int | None = None) -> TreeSpan:
    """The trees before step `first` and after step `last`: of the whole run, or of one step."""
    trees = trees_of(records)
    if not trees:
        raise ConfigError(f"the run {records[0].run} has no workspace: there are no files of it")
    if first is None:
        return TreeSpan(_id(trees[0]), _id(trees[-1]))
    before = [one for one in trees if one.step < first] or trees[:1]
    until = [one for one in trees if one.step <= (first if last is None else last)] or trees[:1]
    return TreeSpan(_id(before[-1]), _id(until[-1]))


def begun_with(objects: Objects, records: Sequence[Record], first: bytes) -> bytes:
    """The tree that the conversation of a run began with, and so what the run goes on from: its `first` one, where it
    is no later turn."""
    started = records[0].event
    conversation = started.conversation if isinstance(started, RunStarted) else ""
    later = conversation and conversation != records[0].run
    return (objects.first_in(conversation) if later else None) or first


def _id(step: TreeStep) -> bytes:
    if not step.event.tree:
        raise TreeError(f"the files of record {step.seq} were not stored: {step.event.problem}")
    try:
        tree = bytes.fromhex(step.event.tree)
    except ValueError:
        tree = b""
    if len(tree) != len(EMPTY):
        raise TreeError(f"record {step.seq} names no tree")
    return tree


def source_of_run(records: Sequence[Record]) -> str:
    """The person's folder that a run was made from, or worked in."""
    opened = next((record.event for record in records if isinstance(record.event, WorkspaceOpened)), None)
    return "" if opened is None else opened.source or opened.folder


class Merged(Struct, frozen=True):
    tree: bytes
    conflicts: tuple[str, ...]
    """Paths that both sides have changed, each in another way."""


def merge(objects: Objects, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """Our tree with what changed between `base` and `theirs`. Texts that both have changed are merged by git, if that
    is there. A repository's own files stay ours: with its settings and hooks, whoever wrote theirs would run programs
    on this side."""
    conflicts: list[str] = []
    return Merged(_merge(objects, base, ours, theirs, "", conflicts), tuple(conflicts))


def _merge(objects: Objects, base: bytes, ours: bytes, theirs: bytes, where: str, conflicts: list[str]) -> bytes:
    if base == theirs or ours == theirs:
        return ours
    sides = [{entry.name: entry for entry in objects.entries(tree)} for tree in (base, ours, theirs)]
    merged: list[Entry] = []
    for name in sorted(set[bytes]().union(*sides)):
        before, mine, other = (side.get(name) for side in sides)
        path = where + os.fsdecode(name)
        entry = mine
        if before != other and mine != other and name.lower() != b".git":
            alone = before == mine
            if _is_folder(other) and (_is_folder(mine) or (alone and mine is None)):
                root, here = (one.ref if _is_folder(one) else EMPTY for one in (before, mine))
                inside = _merge(objects, root, here, other.ref, f"{path}/", conflicts)
                entry = Entry(name, "d", other.mode if alone or mine is None else mine.mode, inside)
            elif alone:
                entry = other
            else:
                entry = _merged_file(objects, before, mine, other)
                if entry is None:
                    conflicts.append(path)
                    entry = mine
        if entry is not None:
            merged.append(entry)
    tree, data = encoded(merged)
    objects.put({tree: data})
    return tree


def _is_folder(entry: Entry | None) -> TypeGuard[Entry]:
    return entry is not None and entry.kind == "d"


def _merged_file(objects: Objects, before: Entry | None, mine: Entry | None, other: Entry | None) -> Entry | None:
    if before is None or mine is None or other is None or {before.kind, mine.kind, other.kind} != {"f"}:
        return None
    with TemporaryDirectory(prefix="treadle-merge-") as folder:
        paths = [Path(folder) / name for name in ("mine", "before", "other")]
        for path, entry in zip(paths, (mine, before, other), strict=True):
            path.write_bytes(objects.get(entry.ref))
        command = ["git", "merge-file", "-p", "-q", *map(str, paths)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=SAFE_FOLDER)
        except (OSError, subprocess.TimeoutExpired):
            return None
    if done.returncode:
        return None
    digest = objects.put_file(done.stdout)
    return Entry(mine.name, "f", mine.mode, digest)
