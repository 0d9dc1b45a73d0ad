"""`treadle report`: where the tokens, money and time of recorded runs went."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup.options import add_journal_option, count, flag

if TYPE_CHECKING:
    from treadle._journal import Journal


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        description="Report over recorded runs: tokens, money, time, broken prefixes, failing tools, loops.",
    )
    parser.add_argument("--tag", default="", metavar="TAG", help="only runs with this tag, such as recorded")
    parser.add_argument("--agent", default="", metavar="NAME", help="only runs of this program")
    line = "sum the runs of each agent, user, tenant or day"
    parser.add_argument("--by", default="program", choices=("program", "user", "tenant", "day"), help=line)
    parser.add_argument("-n", "--limit", type=count, default=1000, metavar="N", help="the newest N runs (1000)")
    line = "a file; a page if it ends in .html, else markdown"
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help=line)
    flag(parser, "--html", help="as a page")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.launch import existing_journal

    journal = existing_journal(args)
    text = run_async(_report(args, journal))
    if args.output == "-":
        sys.stdout.write(text)
    else:
        Path(args.output).write_text(text, "utf-8")
        print(f"wrote {args.output}", file=sys.stderr)
    return 0


async def _report(args: argparse.Namespace, journal: Journal) -> str:
    from treadle._record.report.gather import gather
    from treadle._record.report.write import as_markdown, as_page, sections

    try:
        infos = await journal.list(limit=args.limit + 1, tag=args.tag, agent=args.agent)
        if len(infos) > args.limit:
            print(f"(of the newest {args.limit} runs; -n N takes more)", file=sys.stderr)
        parts = sections(await gather(journal, infos[: args.limit], args.by), args.by)
    finally:
        await journal.aclose()
    title = "What was recorded" + (f": {args.agent}" if args.agent else "")
    page = args.html or args.output.lower().endswith((".html", ".htm"))
    return as_page(title, parts) if page else as_markdown(title, parts)
