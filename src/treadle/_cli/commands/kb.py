"""`treadle kb`: a knowledge base for the retrieval tool."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from treadle._cli.setup.options import count


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "kb",
        description="Build and search a knowledge base, one SQLite file.",
    )
    parts = parser.add_subparsers(dest="part", required=True)
    for name, line in (
        ("add", "add files or folders"),
        ("list", "list the documents"),
        ("search", "search for a text"),
        ("remove", "remove a document"),
    ):
        part = parts.add_parser(name, help=line)
        part.add_argument("--kb", default="knowledge.db", metavar="FILE", help="the knowledge base (knowledge.db)")
        if name == "add":
            part.add_argument("path", nargs="+", help="files and folders to read")
        elif name == "search":
            part.add_argument("query", help="what to look for")
            part.add_argument("-k", type=count, default=5, help="the number of chunks (5)")
        elif name == "remove":
            part.add_argument("name", help="the document, as `kb list` shows it")


def run(args: argparse.Namespace) -> int:
    from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
    from treadle._types.errors import ConfigError

    if args.part != "add" and not Path(args.kb).exists():
        raise ConfigError(
            f"there is no knowledge base {args.kb}: make it with treadle kb add PATH, or name it with --kb"
        )
    base = KnowledgeBase(Path(args.kb))
    if args.part == "add":
        for path in args.path:
            for document in base.add(Path(path)):
                print(f"added {document.name}: {document.chunks} chunks")
    elif args.part == "list":
        for document in base.documents():
            print(f"{document.name}: {document.chunks} chunks")
    elif args.part == "search":
        chunks = base.search(args.query, args.k)
        for chunk in chunks:
            print(f"[{chunk.id}] {chunk.document} #{chunk.position}: {chunk.text[:200]}")
        if not chunks:
            print(f"{args.kb} has nothing about {args.query!r}", file=sys.stderr)
            return 1
    else:
        base.remove(args.name)
    return 0
