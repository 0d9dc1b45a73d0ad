"""`treadle run`: one question, its steps, its answer."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import exit_codes as exits
from treadle._cli.setup.options import add_agent_options, add_journal_option, add_output_options

if TYPE_CHECKING:
    from treadle._engine.result import RunResult
    from treadle._engine.run import Run
    from treadle._flows.agent import Agent
    from treadle._journal import Journal

EXAMPLES = """examples:
  treadle run "What is 17 * 23 + 4?"
  treadle run "What is in notes.md?" --tools files --model ollama:llama3.2
  echo "Summarise: ..." | treadle run - > summary.txt
  treadle run "..." --tools mytools:search --max-cost 0.05 --json

"""


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        description="Answer a question with tools. Steps go to the terminal (or stderr), the answer to stdout.",
        epilog=EXAMPLES + exits.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", help="the question; '-' reads it from stdin")
    add_agent_options(parser)
    add_output_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    question = sys.stdin.read() if args.question == "-" else args.question
    return asyncio.run(_answer(args, question))


async def _answer(args: argparse.Namespace, question: str) -> int:
    from treadle._cli.display.sinks import open_display
    from treadle._cli.setup.driving import Conductor
    from treadle._cli.setup.launch import build_agent, journal_from, launch_from, say_choice

    journal = journal_from(args)
    launch, choice = launch_from(args)
    conductor = Conductor()
    streaming = sys.stdout.isatty() or args.json
    agent = build_agent(launch, journal=journal, approval=conductor.approval(), yes=args.yes, streaming=streaming)
    say_choice(choice, quiet=args.quiet)
    run = agent.prepare(question)
    await make_ready(agent)
    try:
        result = await conductor.drive(agent, run, open_display(run.id, json=args.json, quiet=args.quiet))
    finally:
        await close(agent, journal)
    tell_end(result, run, journaled=journal is not None, file=args.file)
    return exits.code_of(result)


async def make_ready(agent: Agent) -> None:
    """What takes long and has a progress bar of its own happens before the display begins."""
    if (load := getattr(agent.model, "load", None)) is not None:
        await load()


async def close(agent: Agent, journal: Journal | None) -> None:
    for model in agent.models:
        await model.aclose()
    if journal is not None:
        await journal.aclose()


def tell_end(result: RunResult, run: Run, *, journaled: bool = True, file: str | None = None) -> None:
    """On stderr, what a person can do about a run that did not end with an answer."""
    from treadle._cli.display.text import clean, one_line, plain_json

    short = result.run_id[:8]
    match result.stop_reason:
        case "paused":
            for call in run.state.paused.calls if run.state.paused else ():
                print(
                    f"waiting for approval: {clean(call.name)} {one_line(plain_json(call.args), 300)}", file=sys.stderr
                )
            again = f"treadle runs resume {short}{f' -f {file}' if file else ''}"
            print(
                f"go on: {again} --yes   (or --deny)" if journaled else "it was not recorded (--journal none)",
                file=sys.stderr,
            )
        case "error" | "limit" | "budget" | "stuck" if result.error is not None:
            print(f"treadle: {clean(str(result.error))}", file=sys.stderr)
        case _:
            pass
