"""`runs proof` and `verify`: the answer of a run with its grounds as one file, and the check of such a file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle._cli.display.text import clean, one_line, plain_json
from treadle._cli.setup.options import flag
from treadle._inspect.proof import MAX_BYTES, count_text, prove_answer, verify_proof
from treadle._journal import Journal
from treadle._plugins.evidence.support import Claim
from treadle._types.events import LedgerEntry

_MARKS = {"supported": "+", "receipted": "+", "contradicted": "x", "words": "~", "unsupported": "!", "empty": " "}


async def prove_run(args: argparse.Namespace, journal: Journal) -> int:
    data = await prove_answer(journal, args.run)
    verdict = verify_proof(data)
    if args.output == "-":
        sys.stdout.buffer.write(data)
        return 0
    path = args.output or f"proof-{args.run[:8]}.jsonl"
    _write(path, data)
    print_claims(verdict.claims)
    print_ledger(verdict.ledger)
    print(f"\nwrote {clean(path)}: {verdict.records} records\nlast hash: {verdict.head}")
    print(f"to check it: treadle verify {clean(path)} --head {verdict.head[:12]}...")
    return 0


def print_ledger(entries: Sequence[LedgerEntry]) -> None:
    """Print a line for each call that acts, with the record of its outcome."""
    for entry in entries:
        print(clean(one_line(f"{entry.line}   (record {entry.seq})", 200)))


def _write(path: str, data: bytes) -> None:
    """Write a file that only its owner can read: the log may be private."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def print_claims(claims: Sequence[Claim]) -> None:
    """Print a line for each sentence: supported or receipted (+), contradicted (x), words match (~), neither (!)."""
    for claim in claims:
        records = sorted({(ground.run, ground.seq) for ground in claim.grounds})
        numbers = [f"{n.text} = {n.worked_out}" for n in claim.numbers if n.worked_out]
        notes = [f"record {', '.join(str(seq) for _, seq in records)}" if records and not claim.why else "", claim.why]
        grounds = one_line("; ".join(part for part in (*notes, *numbers) if part), 120)
        print(f"{_MARKS[claim.status]} {one_line(claim.text, 100)}" + (f"   ({grounds})" if grounds else ""))


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        description="Check a file of `treadle runs proof`, and say what its records say about each sentence.",
    )
    parser.add_argument("file", metavar="FILE", help="the proof; '-' for stdin")
    parser.add_argument("--head", default="", metavar="HASH", help="the last hash, as it was given to you")
    flag(parser, "--strict", help="a sentence that is neither supported nor receipted is an error, too")
    flag(parser, "--json", help="print the verdict as JSON")


def run(args: argparse.Namespace) -> int:
    if args.file == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        with Path(args.file).expanduser().open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    verdict = verify_proof(data, head=args.head.strip().lower())
    failed = not verdict.intact or bool(args.strict and verdict.not_supported)
    if args.json:
        print(plain_json(verdict))
        return int(failed)
    for problem in verdict.problems:
        print(clean(f"NOT INTACT: {problem}"))
    print(clean(f"run {verdict.run}, {verdict.records} records, last hash {verdict.head}\n"))
    print_claims(verdict.claims)
    print_ledger(verdict.ledger)
    print(f"\n{'intact' if verdict.intact else 'NOT intact'}: {count_text(verdict.claims)}")
    return int(failed)
