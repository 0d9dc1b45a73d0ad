"""`treadle verify`: checks the proof of an answer. Nothing is run, and no network is used."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.display.text import clean, plain_json
from treadle._cli.setup.options import flag


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        description="Check a file of `treadle runs proof`: that nothing in it was changed, that the answer and its "
        "grounds follow from its records, and what they say about each sentence.",
    )
    parser.add_argument("file", metavar="FILE", help="the proof; '-' for stdin")
    parser.add_argument("--head", default="", metavar="HASH", help="the last hash, as it was given to you")
    flag(
        parser,
        "--strict",
        help="a sentence that is neither supported nor receipted is an error, too",
    )
    flag(parser, "--json", help="print the verdict as JSON")


def run(args: argparse.Namespace) -> int:
    import sys
    from pathlib import Path

    from treadle._cli.runs.proof import print_claims, print_ledger
    from treadle._inspect.proof import MAX_BYTES, count_text, verify_proof

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
