"""The files that a conversation has changed: shown, and brought into the person's folder."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from treadle._cli.chat.conversation import Chat
from treadle._cli.runs.files import merged_into
from treadle._workspace.differences import unified
from treadle._workspace.history import merge, span_of
from treadle._workspace.places import stored


async def show_changes(chat: Chat, step: int | None = None) -> None:
    """Print what was changed in the conversation so far, or in one step of its last run."""
    objects = stored(chat.journal)
    if not chat.last_run or objects is None or not chat.launch.workspace:
        print("no files were changed")
        return
    last = span_of(await chat.journal.load(chat.last_run), step)
    old = last.old if step is not None else await _first_tree(chat)
    new = merge(objects, old, old, last.new).tree  # what /apply would bring
    print(await asyncio.to_thread(unified, objects, old, new, most=200_000) or "no files were changed")


async def _first_tree(chat: Chat) -> bytes:
    """Return the files of the beginning: before the first run that this conversation goes on from."""
    records = await chat.journal.load(chat.last_run)
    for _ in range(1_000):
        started = records[0].event
        follows = getattr(started, "follows", "")
        if not follows:
            break
        records = await chat.journal.load(follows)
    return span_of(records).old


async def apply_changes(chat: Chat) -> None:
    """Bring what was changed into the person's folder, beside what has changed there meanwhile."""
    objects = stored(chat.journal)
    if not chat.last_run or objects is None or not chat.launch.workspace or chat.launch.workspace == "host":
        print("there is nothing to bring into your folder")
        return
    new = span_of(await chat.journal.load(chat.last_run)).new
    old = await _first_tree(chat)
    args = argparse.Namespace(yes=chat.yes)
    sys.stdout.flush()
    await asyncio.to_thread(merged_into, args, objects, Path(chat.launch.folder), old, new)
