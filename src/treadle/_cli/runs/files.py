"""`runs diff`, `restore` and `apply`: the files of a run that had a workspace."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from treadle._cli.display.text import plural
from treadle._cli.setup import exit_codes
from treadle._journal import Journal
from treadle._types.errors import ConfigError
from treadle._types.events import Record
from treadle._workspace.differences import summary, unified
from treadle._workspace.history import begun_with, merge, source_of_run, span_of
from treadle._workspace.objects import Objects
from treadle._workspace.places import stored
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked
from treadle._workspace.workspace import said

_SHOWN = 100_000
"""Characters of a difference that are shown before a question."""


async def show_difference(args: argparse.Namespace, journal: Journal) -> int:
    records, objects = await _open(args, journal)
    span = span_of(records, args.first, args.last)
    text = await asyncio.to_thread(unified, objects, span.old, span.new, most=10_000_000)
    sys.stdout.write(text or "nothing changed\n")
    return 0


async def restore_files(args: argparse.Namespace, journal: Journal) -> int:
    """Make a folder equal to the files after a step."""
    records, objects = await _open(args, journal)
    span = span_of(records, args.step)
    name = Path(source_of_run(records)).name or "run"
    target = Path(args.to or f"{name}-{records[0].run[:8]}")
    return await asyncio.to_thread(_write, args, objects, target, lambda now: span.new)


async def apply_changes(args: argparse.Namespace, journal: Journal) -> int:
    """Bring what a run and the turns before it have changed into the person's folder, beside what has changed there
    meanwhile."""
    records, objects = await _open(args, journal)
    span = span_of(records)
    old = begun_with(objects, records, span.old)
    return await asyncio.to_thread(merged_into, args, objects, Path(args.to or source_of_run(records)), old, span.new)


def merged_into(args: argparse.Namespace, objects: Objects, target: Path, old: bytes, new: bytes) -> int:
    """Bring what changed between two trees into a folder, after showing it; nothing where both sides changed it."""

    def merged(now: bytes) -> bytes:
        both = merge(objects, old, now, new)
        if both.conflicts:
            listed = ", ".join(both.conflicts[:20])
            raise ConfigError(f"nothing was changed: the run and somebody else have changed the same lines of {listed}")
        return both.tree

    return _write(args, objects, target, merged, there=True)


async def _open(args: argparse.Namespace, journal: Journal) -> tuple[list[Record], Objects]:
    records = await journal.load(args.run)
    span_of(records)
    objects = stored(journal)
    if objects is None:
        raise ConfigError("the files of this run are not on this machine: they are kept beside the journal")
    return records, objects


def _write(
    args: argparse.Namespace, objects: Objects, target: Path, goal: Callable[[bytes], bytes], *, there: bool = False
) -> int:
    """Show what would change in a folder, ask, and change it."""
    if there and not target.is_dir():
        raise ConfigError(f"there is no folder {target}: name one with --to")
    target.mkdir(parents=True, exist_ok=True)
    tracked = Tracked(target, objects)
    now = tracked.save().tree
    wanted = goal(now)
    changes = summary(objects, now, wanted)
    if now == wanted:
        print(f"{target} has these files already")
        return 0
    if any(target.iterdir()) and not args.yes:
        print(unified(objects, now, wanted, most=_SHOWN))
        print(f"in {target}: {said(changes)}")
        if not sys.stdin.isatty():
            print("nothing was changed: say --yes to change it", file=sys.stderr)
            return exit_codes.USAGE
        if input("change these files? [y/N] ").strip().lower() not in ("y", "yes"):
            print("nothing was changed")
            return exit_codes.FAILED
    after = restore(tracked, wanted)
    if after.tree != wanted:
        print(f"not all of it: {', '.join(after.skipped[:10])} is in the way", file=sys.stderr)
    print(f"{plural(changes.added + changes.changed + changes.removed, 'file')} changed in {target}")
    return 0 if after.tree == wanted else exit_codes.FAILED
