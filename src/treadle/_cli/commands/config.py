"""`treadle config`: check a document that describes agents, or print the schema of such documents."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def register(commands: Any) -> None:
    parser = commands.add_parser("config", description="Check a JSON or YAML document that describes agents.")
    parts = parser.add_subparsers(dest="part", required=True)
    check = parts.add_parser("check", help="check a document and list what it describes")
    check.add_argument("file")
    parts.add_parser("schema", help="print the JSON Schema of documents")


def run(args: argparse.Namespace) -> int:
    import msgspec

    from treadle._config.document import json_schema, read_document
    from treadle._config.graph import check

    if args.part == "schema":
        print(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode())
        return 0
    for line in check(read_document(args.file), Path(args.file).resolve().parent, args.file):
        print(line)
    return 0
