"""`treadle config`: check a document that describes agents, import one, or print the schema of such documents."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from treadle._cli.setup import exit_codes


def register(commands: Any) -> None:
    parser = commands.add_parser("config", description="Check a JSON or YAML document that describes agents.")
    parts = parser.add_subparsers(dest="part", required=True)
    check = parts.add_parser("check", help="check a document and list what it describes")
    check.add_argument("file", help="the document")
    parts.add_parser("schema", help="print the JSON Schema of documents")
    reads = parts.add_parser("import", help="read an exported workflow of another system into a document")
    reads.add_argument("file", help="the exported workflow, JSON")
    reads.add_argument("-o", "--output", metavar="FILE", help="the document to write (NAME.agent.json)")
    reads.add_argument("-m", "--model", default="", help="the model of every agent in it")


def run(args: argparse.Namespace) -> int:
    import msgspec

    if args.part == "schema":
        from treadle._config.document import json_schema

        print(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2).decode())
        return exit_codes.OK
    if args.part == "import":
        return _import(args)
    from treadle._config.checking import check_file

    checked = check_file(args.file)
    for line in checked.lines:
        print(line)
    for note in checked.notes:
        print(f"note: {note}", file=sys.stderr)
    for problem in checked.problems:
        print(f"treadle: {problem}", file=sys.stderr)
    return exit_codes.USAGE if checked.problems else exit_codes.OK


def _import(args: argparse.Namespace) -> int:
    """Write the document, the empty bases it names, and the report."""
    from pathlib import Path

    from treadle._config.importing import import_file
    from treadle._types.errors import ConfigError

    source = Path(args.file)
    target = Path(args.output or f"{source.stem}.agent.json")
    if target.exists():
        raise ConfigError(f"{target} exists already: choose another file with --output")
    print(import_file(source, target, model=args.model).report())
    print(f"written: {target}")
    return exit_codes.OK
