"""`runs export`, `import`, `delete` and `gc`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path

from treadle._cli.display.text import clean, duration, plural
from treadle._cli.runs.lookup import find_run
from treadle._journal import Journal
from treadle._journal.export import FOREIGN, descendants, export_run, written
from treadle._journal.sqlite import SqliteJournal
from treadle._journal.sqlite_store import salvaged
from treadle._types.errors import ConfigError, CorruptLogError, JournalError
from treadle._types.events import Record

_TEST = '''"""A recorded run as a test: every request is rendered again from the log beside this file and compared,
byte for byte, with what was sent. It fails when a change to prompts, dialects, tools or the folding of
records would have changed a request. No model and no tool is called.

Written by `treadle runs export --pytest` from run {run_id}.
"""

from pathlib import Path

from treadle.testing import assert_export_replays

LOG = Path(__file__).with_name({log!r})


def test_every_request_is_rendered_as_it_was_sent():
    assert_export_replays(LOG)
'''
"""The test that `runs export --pytest` writes."""


async def export_to_file(args: argparse.Namespace, journal: Journal) -> int:
    if args.training:
        return await _write_pairs(args, journal)
    run_id = args.run
    if args.html or (args.output or "").lower().endswith((".html", ".htm")):
        return await _write_page(args, journal, run_id)
    if args.atif:
        return await _write_trajectory(args, journal, run_id)
    data = await export_run(journal, run_id, salvage=args.salvage)
    if args.pytest:
        return _write_test(Path(args.output or f"test_run_{run_id[:8]}.py"), run_id, data)
    _write(args.output or "-", data)
    return 0


async def _write_page(args: argparse.Namespace, journal: Journal, run_id: str) -> int:
    """Write a page of the run, then of those of its sub-agents."""
    from treadle._server.exported import html_of

    children = [info.run_id for info in await journal.list(parent=run_id, limit=1000)]
    runs = [await journal.load(each, salvage=args.salvage) for each in (run_id, *reversed(children))]
    _write(args.output or "-", html_of(runs).encode())
    return 0


async def _write_trajectory(args: argparse.Namespace, journal: Journal, run_id: str) -> int:
    """Write a run, and those inside it, as a trajectory in ATIF."""
    import msgspec

    from treadle._record.trajectory import trajectory_of

    ids = [run_id, *(info.run_id for info in await descendants(journal, run_id))]
    runs = [await journal.load(each, salvage=args.salvage) for each in ids]
    _write(args.output or "-", msgspec.json.format(msgspec.json.encode(trajectory_of(runs)), indent=2) + b"\n")
    return 0


async def _write_pairs(args: argparse.Namespace, journal: Journal) -> int:
    """Write pairs to learn from, a line each: of one run, or of all that ended well."""
    import msgspec

    from treadle._local.training_pairs import is_good, training_pairs

    everything = args.run == "all"
    runs = await _learnable(args, journal) if everything else [await find_run(journal, args.run)]
    lines: list[bytes] = []
    used = 0
    for run_id in runs:
        records = await journal.load(run_id)
        if not is_good(records):
            continue
        used += 1
        lines += [msgspec.json.encode(pair) for pair in training_pairs(records)]
    if not everything and not used:
        raise ConfigError(f"run {runs[0]} did not end with an answer: there is nothing to learn from it")
    _write(args.output or "-", b"".join(line + b"\n" for line in lines))
    print(f"{plural(len(lines), 'pair')} from {plural(used, 'run')} of {len(runs)}", file=sys.stderr)
    return 0


async def _learnable(args: argparse.Namespace, journal: Journal) -> list[str]:
    """The finished runs of one user, made here, with those inside them (which record no user)."""
    finished = await journal.list(status="finished", parent="", user=args.user, limit=1_000_000)
    if not args.imported:
        finished = [info for info in finished if not FOREIGN & {*info.tags}]
    if len(users := sorted({info.user for info in finished})) > 1:
        raise ConfigError(f"these are runs of several users ({', '.join(users)[:200]}): say whose with --user NAME")
    inside = [info for one in finished for info in await descendants(journal, one.run_id)]
    return [info.run_id for info in (*finished, *inside)]


def _write(name: str, data: bytes) -> None:
    if name == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        Path(name).write_bytes(data)
        print(f"wrote {name} ({len(data)} bytes)", file=sys.stderr)


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _write_test(path: Path, run_id: str, data: bytes) -> int:
    if path.suffix != ".py":
        raise ConfigError(f"--output {path}: a test must be a Python file, such as {path.with_suffix('.py')}")
    log = path.with_suffix(".jsonl")
    log.write_bytes(data)
    # An imported id can contain anything; in the generated file it must stay within its comment.
    safe_id = "".join(char if char.isalnum() or char in "._-" else "_" for char in run_id)
    path.write_text(_TEST.format(run_id=safe_id, log=log.name), "utf-8")
    print(f"wrote {path} and {log}; run it with: pytest {path}", file=sys.stderr)
    return 0


async def import_files(args: argparse.Namespace, journal: Journal) -> int:
    from treadle._record.imports.files import import_file

    for name in args.files:
        imported = await import_file(journal, _read(name), "stdin" if name == "-" else name)
        print(*imported.runs, sep="\n")
        if imported.without_contents:
            calls = plural(imported.without_contents, "call")
            print(f"{name}: {calls} of models without contents left out", file=sys.stderr)
    return 0


async def check_runs(args: argparse.Namespace, journal: Journal) -> int:
    """Say of every run whether its log is whole, and save what is intact of those that are not."""
    whole = damaged = 0
    if args.save:
        os.makedirs(args.save, exist_ok=True)
    async for run_id, why, intact in _checked(journal):
        whole, damaged = whole + (not why), damaged + bool(why)
        if why:
            print(f"{clean(run_id)}: {clean(why)}")
            if args.save:
                await _save(run_id, intact, Path(args.save))
    print(f"{plural(whole, 'run')} whole, {damaged} damaged")
    return 1 if damaged else 0


async def _checked(journal: Journal) -> AsyncGenerator[tuple[str, str, Callable[[], Awaitable[bytes]]]]:
    """Give each run, what is wrong with it, and a function that exports what is intact."""
    try:
        infos = await journal.list(limit=1_000_000)
    except CorruptLogError as error:
        if not isinstance(journal, SqliteJournal):
            raise
        print(f"{clean(str(error))}\nEach run is read by itself:")
        for run_id, records, why in salvaged(journal.path):

            async def export(run_id: str = run_id, records: list[Record] = records) -> bytes:
                if not records:
                    raise CorruptLogError("its first record is lost")
                return written(run_id, records)

            yield run_id, why, export
        return
    for info in infos:
        why = ""
        try:
            await journal.load(info.run_id)
        except JournalError as error:
            why = str(error)
        yield info.run_id, why, partial(export_run, journal, info.run_id, salvage=True)


async def _save(run_id: str, intact: Callable[[], Awaitable[bytes]], folder: Path) -> None:
    """Write what is intact of a run, as `runs import` reads it."""
    name = "".join(char if char.isalnum() or char in "_-" else "_" for char in run_id)[:100]
    try:
        _write(str(folder / f"{name}.jsonl"), await intact())
    except JournalError as error:
        print(f"{clean(run_id)}: nothing of it can be read: {clean(str(error))}")


async def delete_runs(args: argparse.Namespace, journal: Journal) -> int:
    for typed in args.runs:
        run_id = await find_run(journal, typed)
        await journal.delete(run_id)
        print(f"deleted {run_id}")
    await _collect_trees(journal)
    return 0


async def collect_garbage(args: argparse.Namespace, journal: Journal) -> int:
    try:
        older_than = duration(args.older_than)
    except ValueError as error:
        raise ConfigError(f"--older-than: {error}") from None
    deleted = await journal.gc(older_than=older_than, keep=args.keep, statuses=tuple(args.status or ("finished",)))
    print(f"deleted {plural(len(deleted), 'run')}")
    await _collect_trees(journal)
    return 0


async def _collect_trees(journal: Journal) -> None:
    """Delete the files of workspaces that no run needs any more."""
    from treadle._workspace.places import collect  # few journals have any

    await collect(journal)
