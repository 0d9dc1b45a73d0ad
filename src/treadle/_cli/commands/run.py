"""`treadle run`: answers one question."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import add_agent_options, add_journal_option, add_output_options

if TYPE_CHECKING:
    from treadle._cli.driving.conductor import Conductor
    from treadle._flows.agent import Agent

EXAMPLES = """examples:
  treadle run "What is 17 * 23 + 4?"
  treadle run "What is in notes.md?" --tools files --model ollama:llama3.2
  echo "Summarise: ..." | treadle run - > summary.txt
  treadle run "..." --tools mytools:search --max-cost 0.05 --json

"""


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        description="Answer a question with tools. Steps are printed to stderr, the answer to stdout.",
        epilog=EXAMPLES + exit_codes.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", help="the question; '-' reads it from stdin")
    add_agent_options(parser)
    add_output_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.driving.conductor import Conductor
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.launch import build_agent, journal_from, launch_from, print_choice

    question = sys.stdin.read() if args.question == "-" else args.question
    journal = journal_from(args)
    launch, choice = launch_from(args)
    conductor = Conductor()
    streaming = sys.stdout.isatty() or args.json
    agent = build_agent(launch, journal=journal, approval=conductor.approval(), yes=args.yes, streaming=streaming)
    print_choice(choice, quiet=args.quiet)
    return run_async(_answer(args, question, agent, conductor))


async def _answer(args: argparse.Namespace, question: str, agent: Agent, conductor: Conductor) -> int:
    from treadle._cli.display.factory import open_display
    from treadle._cli.driving.lifecycle import close, load_model, print_outcome

    journal = agent.journal
    run = agent.prepare(question)
    await load_model(agent)
    try:
        result = await conductor.drive(agent, run, open_display(run.id, json=args.json, quiet=args.quiet))
    finally:
        await close(agent, journal)
    print_outcome(result, journaled=journal is not None)
    return exit_codes.code_of(result)
