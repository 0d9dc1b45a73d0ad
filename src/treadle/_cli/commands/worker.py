"""`treadle worker`: drives runs that were submitted to a Temporal server."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.setup.options import add_agent_options, add_journal_option, add_temporal_options, count


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "worker",
        description="Drive runs that were submitted to a Temporal server. All workers share one Postgres journal.",
    )
    add_temporal_options(parser)
    parser.add_argument("--at-once", type=count, default=20, metavar="N", help="the most runs at the same time (20)")
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.launch import unattended_agent
    from treadle._durable.temporal import Client, temporal_worker
    from treadle._journal import open_journal

    agent = unattended_agent(args)
    agent.name = args.name

    async def serve() -> None:
        journal = open_journal(shared_journal(args.journal))
        try:
            client = await Client.connect(args.temporal)
            print(f"worker for {args.name!r} on {args.temporal}, queue {args.queue} (Ctrl-C stops)", flush=True)
            await temporal_worker(client, {args.name: agent}, journal, queue=args.queue, at_once=args.at_once).run()
        finally:
            await journal.aclose()

    run_async(serve())
    return 0


def shared_journal(spec: str | None) -> str:
    """Check that several machines can share the journal: it must be a Postgres one."""
    from treadle._types.errors import ConfigError

    if not spec or not spec.startswith(("postgres://", "postgresql://")):
        raise ConfigError(
            "workers need a journal that several machines can share: give --journal postgres://user@host/database"
        )
    return spec
