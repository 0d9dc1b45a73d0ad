"""`treadle run`: answers one question."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import add_agent_options, add_command, add_journal_option, add_output_options

if TYPE_CHECKING:
    from treadle._agent.agent import Agent
    from treadle._cli.driving.conductor import Conductor
    from treadle._types.messages import Content

EXAMPLES = """examples:
  treadle run "What is 17 * 23 + 4?"
  treadle run "What is in notes.md?" --tools files --model ollama:llama3.2
  treadle run "What do these have in common?" --file notes.txt photo.png
  cat notes.txt | treadle run "Summarise this" > summary.txt
  treadle run "..." --tools mytools:search --max-cost 0.05 --json

"""


def register(commands: Any) -> None:
    parser = add_command(
        commands, "run", "Answer a question with tools. Steps are printed to stderr, the answer to stdout.", EXAMPLES
    )
    line = "the question; what is piped in goes with it, or is the question ('-')"
    parser.add_argument("question", nargs="?", help=line)
    add_agent_options(parser, attach=True)
    add_output_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._agent.presets import takes_files
    from treadle._cli.driving.conductor import Conductor
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.attachments import question_of
    from treadle._cli.setup.launch import build_agent, journal_from, launch_from, print_choice
    from treadle._cli.workspace.consent import settle

    settle(args)
    attached = _sort_files(args)
    journal = journal_from(args)
    launch, choice = launch_from(args)
    conductor = Conductor()
    streaming = sys.stdout.isatty() or args.json
    agent = build_agent(launch, journal=journal, approval=conductor.approval(), yes=args.yes, streaming=streaming)
    question = question_of(args.question, attached, quiet=args.quiet, as_files=takes_files(agent))
    print_choice(choice, launch, quiet=args.quiet)
    return run_async(_answer(args, question, agent, conductor))


def _sort_files(args: argparse.Namespace) -> list[str]:
    """Return the files that go with the question; the document among them becomes `args.file`."""
    from treadle._types.errors import ConfigError

    if args.question is None and len(args.files) > 1 and not Path(args.files[-1]).exists():
        args.question = args.files.pop()  # the option takes all that follows it, also what was meant as the question
    documents = [name for name in args.files if Path(name).suffix.lower() in (".json", ".yaml", ".yml")]
    if len(documents) > 1:
        raise ConfigError(
            f"--file {' '.join(documents)}: one document describes the agent; "
            "give files that go with the question with --attach"
        )
    args.file = documents[0] if documents else None
    if args.file:
        _check_describes_agent(args.file)
    return [*(name for name in args.files if name not in documents), *args.attach]


def _check_describes_agent(name: str) -> None:
    """Refuse data under `--file` with the option for it, not with what a document lacks."""
    from treadle._config.document import read_document
    from treadle._types.errors import ConfigError

    try:
        read_document(Path(name).expanduser())
    except ConfigError as error:
        raise ConfigError(
            f"{error} (--file reads it as the description of an agent; to send it with the question: --attach {name})"
        ) from None


async def _answer(args: argparse.Namespace, question: Content, agent: Agent, conductor: Conductor) -> int:
    from treadle._agent.presets import local_user
    from treadle._cli.display.factory import open_display
    from treadle._cli.display.made import show_files
    from treadle._cli.driving.forms import drive
    from treadle._cli.driving.lifecycle import close, load_model, print_outcome

    journal = agent.journal
    run = agent.prepare(question, user=local_user(agent))
    await load_model(agent, quiet=args.quiet)
    try:
        result = await drive(conductor, agent, run, lambda run: open_display(run.id, json=args.json, quiet=args.quiet))
    finally:
        await close(agent, journal)
    print_outcome(result, journaled=journal is not None)
    if not (args.quiet or args.json):
        show_files(result)
    return exit_codes.code_of(result)
