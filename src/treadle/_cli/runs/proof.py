"""`runs proof`: the answer of a run with its grounds, as one file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from treadle._cli.display.text import clean, one_line
from treadle._cli.runs.lookup import find_run
from treadle._inspect.proof import prove_answer, verify_proof
from treadle._journal import Journal
from treadle._plugins.evidence.support import Claim
from treadle._types.events import LedgerEntry

_MARKS = {"supported": "+", "receipted": "+", "contradicted": "x", "words": "~", "unsupported": "!", "empty": " "}


async def prove_run(args: argparse.Namespace, journal: Journal) -> int:
    run_id = await find_run(journal, args.run)
    data = await prove_answer(journal, run_id)
    verdict = verify_proof(data)
    if args.output == "-":
        sys.stdout.buffer.write(data)
        return 0
    path = args.output or f"proof-{run_id[:8]}.jsonl"
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
