"""`runs note`, `tag`, `rate` and `rename`: notes of people about a run, stored in the journal."""

from __future__ import annotations

import argparse

from treadle._cli.display.text import clean
from treadle._cli.runs.lookup import notes_of
from treadle._journal import Journal, RunInfo


async def set_note(args: argparse.Namespace, journal: Journal) -> int:
    return _show(await journal.annotate(args.run, note=args.text))


async def set_tags(args: argparse.Namespace, journal: Journal) -> int:
    before = (await journal.info(args.run)).tags
    others = [tag for tag in before if tag not in args.tags]
    return _show(await journal.annotate(args.run, tags=others if args.remove else [*others, *args.tags]))


async def rate(args: argparse.Namespace, journal: Journal) -> int:
    return _show(await journal.annotate(args.run, thumb="" if args.thumb == "none" else args.thumb))


async def rename(args: argparse.Namespace, journal: Journal) -> int:
    """Set the title of a conversation, which is that of its first run."""
    info = await journal.info(args.run)
    runs = await journal.list(conversation=info.conversation, parent="", limit=100_000) if info.conversation else []
    first = runs[-1].run_id if runs else info.run_id
    return _show(await journal.annotate(first, title=args.title))


def _show(info: RunInfo) -> int:
    print("\n".join([info.run_id, *(f"  {name}: {clean(text)}" for name, text in notes_of(info).items())]))
    return 0
