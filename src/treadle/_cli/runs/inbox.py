"""`runs send` and `cancel`: messages for a run that another process drives, left in its inbox."""

from __future__ import annotations

import argparse

from treadle._cli.runs.lookup import find_run
from treadle._journal import InboxItem, Journal
from treadle._types.errors import ConfigError
from treadle._types.ids import fresh_id
from treadle._types.state import fold


async def send_message(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await _unfinished(journal, args.run)
    item = InboxItem(fresh_id(), run_id, "message", {"text": args.text})
    await journal.put(item)
    if fold(await journal.load(run_id)).finished is not None and await journal.recall(run_id, item.id):
        raise ConfigError(f"run {run_id[:8]} has ended before it could read this: ask in a new run")
    print(f"sent to run {run_id[:8]}, which reads it after its current step")
    return 0


async def cancel_run(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await _unfinished(journal, args.run)
    await journal.put(InboxItem(fresh_id(), run_id, "cancel"))
    print(f"run {run_id[:8]} will stop after its current step")
    return 0


async def _unfinished(journal: Journal, typed: str) -> str:
    run_id = await find_run(journal, typed)
    if (finished := fold(await journal.load(run_id)).finished) is not None:
        raise ConfigError(f"run {run_id[:8]} has ended ({finished.stop_reason}) and reads no more messages")
    return run_id
