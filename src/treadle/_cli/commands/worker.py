"""`treadle worker`: drive runs that were handed to Temporal."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.setup.options import add_agent_options, add_journal_option


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "worker", description="Drive runs for a Temporal server. All workers share one Postgres journal."
    )
    parser.add_argument(
        "--temporal", default="127.0.0.1:7233", metavar="HOST:PORT", help="where the Temporal server is"
    )
    parser.add_argument("--queue", default="treadle", help="the task queue the runs are handed over in (treadle)")
    parser.add_argument("--name", default="agent", help="the name the agent is submitted to under (agent)")
    parser.add_argument("--at-once", type=int, default=20, metavar="N", help="how many runs at the same time (20)")
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from temporalio.client import Client

    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.launch import build_agent, launch_from, say_choice
    from treadle._durable.temporal import temporal_worker
    from treadle._journal import open_journal
    from treadle._plugins.guards.approval import Approval

    launch, choice = launch_from(args)
    agent = build_agent(launch, journal=None, approval=Approval(), yes=args.yes, note=False)
    agent.name = args.name
    say_choice(choice)

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
    """A journal several machines can share: only a Postgres one."""
    from treadle._types.errors import ConfigError

    if not spec or not spec.startswith(("postgres://", "postgresql://")):
        raise ConfigError(
            "workers on several machines need a journal they can share: --journal postgres://user@host/database"
        )
    return spec
