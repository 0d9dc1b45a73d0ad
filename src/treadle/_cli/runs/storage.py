"""`runs export`, `import`, `delete` and `gc`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from treadle._cli.display.text import duration, plural
from treadle._cli.runs.lookup import find_run
from treadle._journal import Journal
from treadle._journal.export import export_run, import_run
from treadle._types.errors import ConfigError


async def export_to_file(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await find_run(journal, args.run)
    data = await export_run(journal, run_id, salvage=args.salvage)
    if args.pytest:
        return _write_test(Path(args.output or f"test_run_{run_id[:8]}.py"), run_id, data)
    _write(args.output or "-", data)
    return 0


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
    from treadle._cli.runs.pytest_export import regression_test

    if path.suffix != ".py":
        raise ConfigError(f"--output {path}: a test must be a Python file, such as {path.with_suffix('.py')}")
    log = path.with_suffix(".jsonl")
    log.write_bytes(data)
    path.write_text(regression_test(run_id, log.name), "utf-8")
    print(f"wrote {path} and {log}; run it with: pytest {path}", file=sys.stderr)
    return 0


async def import_files(args: argparse.Namespace, journal: Journal) -> int:
    for name in args.files:
        print(await import_run(journal, _read(name)))
    return 0


async def delete_runs(args: argparse.Namespace, journal: Journal) -> int:
    for typed in args.runs:
        run_id = await find_run(journal, typed)
        await journal.delete(run_id)
        print(f"deleted {run_id}")
    return 0


async def collect_garbage(args: argparse.Namespace, journal: Journal) -> int:
    try:
        older_than = duration(args.older_than)
    except ValueError as error:
        raise ConfigError(f"--older-than: {error}") from None
    deleted = await journal.gc(older_than=older_than, keep=args.keep, statuses=tuple(args.status or ("finished",)))
    print(f"deleted {plural(len(deleted), 'run')}")
    return 0
