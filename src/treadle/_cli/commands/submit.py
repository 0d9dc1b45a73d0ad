"""`treadle submit`: submits a question to the workers."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.commands.worker import shared_journal
from treadle._cli.setup.options import add_journal_option, add_temporal_options, flag


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "submit", description="Submit a question to the workers of a Temporal server, and print the id of its run."
    )
    parser.add_argument("question", help="what to ask")
    add_temporal_options(parser)
    flag(parser, "--wait", help="wait for the answer and print it")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    place = shared_journal(args.journal)  # before anything large is imported
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup import exit_codes
    from treadle._durable.temporal import TemporalSubmitter
    from treadle._journal import open_journal
    from treadle._types.events import RunFinished

    async def submit() -> int:
        journal = open_journal(place)
        try:
            submitter = await TemporalSubmitter.connect(args.temporal, journal, queue=args.queue)
            run_id = await submitter.submit(args.question, agent=args.name)
            print(run_id, flush=True)
            if args.wait:
                await submitter.wait(run_id)
                end = (await journal.load(run_id))[-1].event
                print(end.answer if isinstance(end, RunFinished) else "")
                return exit_codes.OK if isinstance(end, RunFinished) and end.success else exit_codes.FAILED
            return exit_codes.OK
        finally:
            await journal.aclose()

    return run_async(submit())
